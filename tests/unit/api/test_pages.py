"""The content policy of a page lists exactly the scripts that run."""

from __future__ import annotations

from api.pages import page_policy


def test_scripts_are_allowed_by_hash_and_data_is_no_script() -> None:
    page = b"""<script>alert(1)</script><script type="application/json">{"a": 1}</script><style>a{}</style>"""
    assert page_policy(page) == (
        "default-src 'none'; script-src 'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='; "
        "style-src 'unsafe-inline'; img-src 'self' data: blob:; font-src data:; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    )


def test_a_page_without_scripts_runs_none() -> None:
    assert "script-src 'none';" in page_policy(b"<p>text</p>")
