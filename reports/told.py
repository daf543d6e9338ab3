"""What an analysis tells in sentences, in the language of a page.

Input: texts of a result, which are English and have their figures inside; the file of sentences, whose places take
figures and names: "{n} of {of} replicas of {pool} were down ({names})". Output: the sentence in the language, figures
and names as they were; a text that no sentence fits, such as words of a user, stays as it is.
"""

from __future__ import annotations

import json
import re
from dataclasses import fields, is_dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from analysis.result import AnalysisResult

WORDS = Path(__file__).parent / "assets" / "words"
PARTS = (
    "findings",
    "data_quality",
    "definitions",
    "notes",
    "follow_up",
    "load",
    "compatible",
)  # that tell in sentences
TELLING = frozenset(  # fields of their records
    [
        "title",
        "says",
        "why",
        "figure",
        "risk",
        "verify",
        "precondition",
        "not_predicted",
        "ignores",
        "notes",
        "actions",
        "source",
    ]
)
END = re.compile(r"(?<=[.;:]) ")
PLACE = r"(?P<\1>(?:(?![.;:] ).)+?)"  # what stands in it ends within its sentence


def spoken(result: AnalysisResult, lang: str) -> AnalysisResult:
    """The result with its sentences in a language, for a page; never for what programs read."""
    if lang == "en":
        return result
    parts = {name: _in_words(getattr(result, name), lang, telling=name == "notes") for name in PARTS}
    costs = replace(result.costs, notes=[told(note, lang) for note in result.costs.notes])  # its rows are many
    return replace(result, costs=costs, **parts)


@lru_cache(maxsize=4096)
def told(text: str, lang: str) -> str:
    """A text of one or several sentences in a language."""
    if lang == "en" or not text:
        return text
    if (whole := _whole(text, lang)) is not None:
        return whole
    parts = END.split(text)
    for size in range(len(parts) - 1, 0, -1):
        if (first := _whole(" ".join(parts[:size]), lang)) is not None:
            return _joined(first, told(" ".join(parts[size:]), lang))
    return text if len(parts) == 1 else _joined(parts[0], told(" ".join(parts[1:]), lang))


def _in_words(value: Any, lang: str, *, telling: bool = False) -> Any:
    if isinstance(value, str):
        return told(value, lang) if telling else value
    if isinstance(value, list | tuple):
        return type(value)(_in_words(item, lang, telling=telling) for item in value)
    if isinstance(value, dict):
        return {key: _in_words(item, lang, telling=telling) for key, item in value.items()}
    return _record(value, lang) if is_dataclass(value) else value


def _record(value: Any, lang: str) -> Any:
    now = {field.name: getattr(value, field.name) for field in fields(value)}
    changed = {name: _in_words(item, lang, telling=name in TELLING) for name, item in now.items()}
    return replace(value, **{name: item for name, item in changed.items() if item is not now[name]})


def _joined(first: str, rest: str) -> str:
    return first + rest if first.endswith(("。", "；", "：")) else f"{first} {rest}"


def _whole(text: str, lang: str) -> str | None:
    """One sentence of the file that is the whole text; its first letter may be a capital, its stop may be left out."""
    sentences, templates, _ = _sentences(lang)
    lower = text[:1].lower() + text[1:]
    bare = ((text.rstrip(".;:"), _stop(text)), (lower.rstrip(".;:"), _stop(text)))
    for form, end in ((text, ""), (lower, ""), *bare):
        if form in sentences:
            return sentences[form] + end
    for form, end in (*bare, (text, ""), (lower, "")):  # bare first, or a place at the end would take the stop
        for pattern, words in templates:
            if (found := pattern.fullmatch(form)) is not None:
                return words.format(**{name: _place(value, lang) for name, value in found.groupdict().items()}) + end
    return None


def _stop(text: str) -> str:
    return {".": "。", ";": "；", ":": "："}.get(text[-1], "")


def _place(value: str, lang: str) -> str:
    """What stands in a place: a sentence or a name of the file, or names of the user with our words between them."""
    if (known := _whole(value, lang)) is not None:
        return known
    for word, words in _sentences(lang)[2]:
        value = word.sub(words, value)
    return value


@cache
def _sentences(
    lang: str,
) -> tuple[dict[str, str], list[tuple[re.Pattern[str], str]], list[tuple[re.Pattern[str], str]]]:
    """Sentences without places; those with places, the longest first; words between names."""
    said: dict[str, dict[str, str]] = json.loads((WORDS / f"{lang}-told.json").read_text(encoding="utf-8"))
    names = json.loads((WORDS / f"{lang}.json").read_text(encoding="utf-8"))
    plain = {english: words for english, words in said["sentences"].items() if "{" not in english}
    stages = {english: names[english] for english in said["names"] if english in names}
    templates = [
        (re.compile(re.sub(r"\\\{(\w+)\\\}", PLACE, re.escape(english))), words)
        for english, words in sorted(said["sentences"].items(), key=lambda pair: (-len(pair[0]), pair[0]))
        if "{" in english
    ]
    between = [(re.compile(english), words) for english, words in said["between"].items()]
    lower = {english[:1].lower() + english[1:]: words for english, words in plain.items()}
    return lower | stages | plain, templates, between
