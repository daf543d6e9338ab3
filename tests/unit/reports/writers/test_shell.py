"""What every page shares."""

from __future__ import annotations

import hashlib
import json

import pytest
from jinja2 import UndefinedError

from reports.writers import shell


def test_the_vendored_script_is_the_one_that_its_record_names() -> None:
    folder = shell.ASSETS / "plotly"
    record = json.loads((folder / "vendor.json").read_text())
    assert hashlib.sha256((folder / record["file"]).read_bytes()).hexdigest() == record["sha256"]
    assert (folder / "LICENSE").read_text().startswith("MIT License")


def test_the_vendored_script_is_of_the_version_that_the_library_writes_for() -> None:
    from plotly.offline import get_plotlyjs_version

    record = json.loads((shell.ASSETS / "plotly" / "vendor.json").read_text())
    assert record["version"] == get_plotlyjs_version()


@pytest.mark.parametrize("name", ["plotly/plotly-cartesian.min.js", "report.js", "home.js"])
def test_no_script_ends_its_own_element(name: str) -> None:
    assert "</script" not in (shell.ASSETS / name).read_text().lower()


@pytest.mark.parametrize("name", ["report.css", "home.css", "breach.css"])
def test_colours_stand_in_the_tokens_alone(name: str) -> None:
    import re

    css = (shell.ASSETS / name).read_text()
    assert re.findall(r"#[0-9a-fA-F]{3,8}\b|rgba?\(|hsla?\(", css) == []


def test_every_token_that_a_page_uses_is_defined() -> None:
    import re

    tokens = set(re.findall(r"(--[\w-]+):", (shell.ASSETS / "tokens.css").read_text()))
    used = set()
    for path in [*shell.ASSETS.glob("*.css"), *(shell.ROOM / "templates").glob("*.jinja")]:
        used |= set(re.findall(r"var\((--[\w-]+)[,)]", path.read_text()))
    assert used - tokens - {"--c", "--w"} == set()


def test_a_name_that_a_page_does_not_have_fails() -> None:
    with pytest.raises(UndefinedError):
        shell.page("request.html.jinja", lang="en", charts=False, scripts=())


def test_a_policy_without_scripts_allows_none() -> None:
    assert shell.policy((), connect=False).startswith("default-src 'none'; script-src 'none'; ")
    assert "connect-src" not in shell.policy((), connect=False)
    assert "connect-src 'self'" in shell.policy(("home.js",), connect=True)
