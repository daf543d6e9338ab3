"""explain: objectives in sentences and as OpenSLO."""

from __future__ import annotations

import pytest

from analysis.objectives import default_objectives, read_objectives
from api.commands.catalogs import explain


def test_the_prompt_explains_an_objective_and_writes_it_as_openslo(capsys: pytest.CaptureFixture[str]) -> None:
    explain("default.good", None, openslo=False)
    assert capsys.readouterr().out.startswith("default.good: First token within 2 s and each further token")
    explain("all", None, openslo=True)
    assert [item.id for item in read_objectives(capsys.readouterr().out).items] == [
        item.id for item in default_objectives().items
    ]
