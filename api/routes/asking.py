"""Parameters that many routes share, and answers in the project's own JSON.

Input: query parameters. Output: Questions; JSON with sorted keys, so the same answer has the same bytes.
"""

from __future__ import annotations

import base64
import binascii
import difflib
import json
from typing import Annotated, Any

import msgspec
from fastapi import Depends, Query, Request
from fastapi.responses import Response

from analysis.result import AnalysisResult
from api.house import House, house_of
from api.problems import Refused
from api.question import Question, is_text, parse_where

MOST_NUMBER = 2**63 - 1  # of the store's whole numbers
LONGEST_TOLD = 100  # characters of a key that a message repeats

Inside = Annotated[House, Depends(house_of)]
Limit = Annotated[int, Query(ge=1, le=1000, description="rows of a page")]
After = Annotated[str | None, Query(description="`next` of the page before")]


def question_of(
    week: Annotated[str | None, Query(description="ISO week, such as 2026-W48")] = None,
    start: Annotated[str | None, Query(alias="from", description="ISO 8601, this instant included")] = None,
    end: Annotated[str | None, Query(alias="to", description="ISO 8601, this instant not included")] = None,
    timezone: Annotated[str | None, Query(description="IANA name; default that of the objectives")] = None,
    where: Annotated[list[str] | None, Query(description="dimension=value, may be given several times")] = None,
) -> Question:
    """The question of a route's parameters; without any it is about everything loaded."""
    return Question(week or None, start or None, end or None, timezone or None, parse_where(where or ()))


Asked = Annotated[Question, Depends(question_of)]


def known_parameters(request: Request) -> None:
    """Refuses parameters that the route does not have: a filter with a slip of the pen would be an answer about all.

    Raises:
        Refused: a parameter is none of the route's.
    """
    path = request.scope["route"].path_format
    if not path.startswith("/api/v1/"):
        return  # browsers and exporters may add parameters of their own
    route = request.app.openapi()["paths"][path][request.method.lower()]
    told = route.get("parameters", ())
    known = sorted(parameter["name"] for parameter in told if parameter["in"] == "query")
    for name in request.query_params:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise Refused(
                f'"{ascii(name[:LONGEST_TOLD])[1:-1]}" is no parameter of {request.url.path}; {has}',
                status=422,
                code="unknown_parameter",
                hint=f'Did you mean "{near[0]}"?' if near else None,
            )


def answer(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """JSON of records, dicts and lists."""
    return Response(msgspec.json.encode(value, order="sorted"), status, headers, "application/json")


def parts(result: AnalysisResult, *names: str, **more: Any) -> Response:
    """Some parts of a result, with the selection they are about."""
    return answer({"selection": result.selection} | {name: getattr(result, name) for name in names} | more)


def page_key(*values: Any) -> str:
    """The key of a page's last row, opaque to whoever asks for the next page."""
    return base64.urlsafe_b64encode(json.dumps(values, separators=(",", ":")).encode()).decode().rstrip("=")


def read_key(text: str | None) -> tuple[Any, str] | None:
    """(number or null, id) of a page key.

    Raises:
        Refused: no key of ours.
    """
    if text is None:
        return None
    try:
        number, name = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, TypeError, RecursionError, binascii.Error) as error:
        raise _no_key(text) from error
    if not isinstance(name, str) or not is_text(name):
        raise _no_key(text)
    if number is not None and (type(number) is not int or not -MOST_NUMBER <= number <= MOST_NUMBER):
        raise _no_key(text)
    return number, name


def _no_key(text: str) -> Refused:
    return Refused(
        f'"{ascii(text[:LONGEST_TOLD])[1:-1]}" is not the key of a page',
        status=422,
        code="invalid_key",
        hint="take `next` of the page before",
    )


def names_of(text: str) -> list[str]:
    """Names of a list with commas, each once."""
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
