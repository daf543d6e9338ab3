"""The routes as a page, drawn from the OpenAPI document without a script and without the network.

Input: the app. Output: HTML; the document itself is at /openapi.json.
"""

from __future__ import annotations

from html import escape
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

router = APIRouter()

STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}"
    "code{font-family:ui-monospace,monospace}h2{margin-top:2rem}section{border-top:1px solid #8884;padding:.6rem 0}"
    "table{border-collapse:collapse}td,th{text-align:left;padding:.15rem 1rem .15rem 0;vertical-align:top}"
)
POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"


@router.get("/docs", include_in_schema=False)
def docs(request: Request) -> HTMLResponse:
    document = request.app.openapi()
    groups: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            tag = (operation.get("tags") or ["pages"])[0]
            groups.setdefault(tag, []).append(_operation(method, path, operation))
    body = "".join(f"<h2>{escape(tag)}</h2>{''.join(items)}" for tag, items in groups.items())
    page = (
        "<!doctype html><html lang=en><head><meta charset=utf-8><title>tailwise: routes</title>"
        f'<meta name=viewport content="width=device-width"><style>{STYLE}</style></head><body><h1>tailwise: routes</h1>'
        f"<p>{escape(document['info']['description'])} Errors are RFC 9457 problems with a stable <code>code</code>. "
        f'The document for programs: <a href="/openapi.json">/openapi.json</a>.</p>{body}</body></html>'
    )
    return HTMLResponse(page, headers={"content-security-policy": POLICY})


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    rows = "".join(
        f"<tr><th scope=row><code>{escape(p['name'])}</code></th><td>{escape(p['in'])}</td>"
        f"<td>{escape(p.get('description', ''))}</td></tr>"
        for p in operation.get("parameters", ())
    )
    return (
        f"<section><p><code><strong>{escape(method.upper())}</strong> {escape(path)}</code><br>"
        f"{escape(operation.get('summary', ''))}</p>{f'<table>{rows}</table>' if rows else ''}</section>"
    )
