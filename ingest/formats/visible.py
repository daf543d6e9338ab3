"""Which values of a refused row are shown as they stand, and what is told of all others.

Input: a value as text, and the name it stands under. Output: the value, or its shape ("text of 22 characters").
A figure, a time, an id or a short word is what a column may hold by mistake; prose and what looks like a credential, a
telephone or account number, a mail or a network address is nobody's business in a message.
Source: format page, section 6 (personal data); prefixes of keys as their issuers print them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

HIDDEN = "…"
MAX_VALUE = 24  # characters of a value that a detail repeats
MAX_NAME = 200  # characters of a name
MAX_WORDS = 4  # of a name ("Session elapsed time ms"); more of them are prose
MAX_RUN = 16  # letters mixed with digits; a longer run of them is a key, if it is no id

_PREFIXES = (
    r"(?:(?:sk|pk|rk)[-_]|gh[opsur]_|github_pat_|glpat-|xox[a-z]?-|hf_|gsk_|npm_|pypi-|nvapi-|dop_v1_|ya29\.)[\w.-]{6,}"
    r"|AIza[\w-]{8,}|(?:AKIA|ASIA)[0-9A-Z]{8,}|eyJ[\w-]{8,}(?:\.[\w-]+)*"
)
_WITHIN_NAMES = (  # the same after an underscore, where words of a name stand too: no plain "user_pk_region"
    r"(?:sk|pk|rk)(?:-|_(?:live|test|proj)_)[\w.-]{6,}|(?:gh[opsur]_|hf_|gsk_|npm_)[A-Za-z0-9]{16,}"
    r"|(?:github_pat_|glpat-|xox[a-z]-|pypi-|nvapi-|dop_v1_|ya29\.)[\w.-]{6,}"
    r"|AIza[\w-]{8,}|(?:AKIA|ASIA)[0-9A-Z]{8,}|eyJ[\w-]{8,}(?:\.[\w-]+)*"
)
_NUMBERS = (  # telephone, account, card and insurance numbers; a plain number is a figure
    r"(?<![\w:])\+\d[\d ()/-]{5,}\d|(?<![\w.])0[1-9]\d{7,}(?![\w.])|\b[A-Z]{2}\d{2}[A-Z0-9]{11,30}\b"
    r"|(?<![\w.-])(?:\(?\d{3}\)?[-.]\d{3}[-.]\d{4}|\d{3}-\d{2}-\d{4}|\d{4}(?:-\d{4}){3})(?![\w.-])"
)
_MAIL = (  # from the start of a word; from within one, where a key was taken before, 64 characters: each start looks no farther
    r"(?:(?<![^@\s\"<>,;])[^@\s\"<>,;]++|[^@\s\"<>,;]{1,64})@[^@\s\"<>,;]+\.[A-Za-z]{2,}"
)
_CREDENTIAL = re.compile(
    rf"\b(?:{_PREFIXES})|(?<=_)(?:{_WITHIN_NAMES})|(?<=//)[^/?#\s\"<>]+(?=@)|\bBearer\s+[^\s\"]{{4,}}"
    r"|(?<=key=)[^&\s\"]+|(?<=token=)[^&\s\"]+|(?<=secret=)[^&\s\"]+|(?<=password=)[^&\s\"]+"
    rf"|{_MAIL}|\b(?:\d{{1,3}}\.){{3}}\d{{1,3}}\b|{_NUMBERS}"
)
_SHAPE = re.compile(rf"text of \d+ characters|{HIDDEN}")
_TIME = re.compile(
    r"(?:\d{4}|\d{1,2})[-/.](?:\d{1,2}|[A-Z][a-z]{2})[-/.]\d{1,4}"
    r"(?:[T :]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?: ?(?:Z|UTC|[+-]\d{2}(?::?\d{2})?))?)?"
)
_MEASURE = re.compile(r"[+-]?[\d.,]{1,20} ?[A-Za-zµμ%$€]{1,4}")
_ID_NAME = re.compile(r"(?:^|[^a-zA-Z])(?:id|uuid|traceid|spanid)$|(?:I[dD])$")
_ID = re.compile(r"[0-9a-fA-F-]{1,64}|[a-z]{2,12}[-_][\w-]{1,64}")
_RUN = re.compile(rf"[A-Za-z0-9]{{{MAX_RUN + 1},}}")
_IDEOGRAPHS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]{5,}")  # prose without blanks
_WORDS = re.compile(r"(?<![\w/])[^\W\d_]+[.!?:'’)]*\s+\(?[^\W\d_]+")
_PIECE = re.compile(r"[^,;\t|\"\r\n]+")
_MARKED = re.compile("\x1e([^\x1e]*)\x1d(\\d+)\x1e")


def visible(value: str, name: str = "", *, most: int = MAX_VALUE, length: int | None = None) -> str:
    """The value, or its shape where it may be prose or a credential, or has more than `most` characters.

    Args:
        name: what it stands under; ids may be longer, and letters mixed with digits.
        length: its characters, where only its beginning is given.
    """
    told = value.strip()
    is_id = bool(_ID_NAME.search(name)) and bool(_ID.fullmatch(told))
    if _SHAPE.fullmatch(told) or _TIME.fullmatch(told):
        return value
    is_long = (length or len(value)) > most and not is_id
    if is_long or _CREDENTIAL.search(told) or not (is_id or _is_plain(told)):
        return f"text of {length or len(value)} characters"
    return value


def quoted(value: str, name: str = "", *, length: int | None = None) -> str:
    """What a detail shows of a value: a figure as it stands, other text in quotes, or the shape."""
    told = visible(value, name, length=length)
    return told if told != value or _is_figure(value) else f'"{value}"'


def shown_name(name: str) -> str:
    """A name of a column, key or attribute as a message shows it: by its shape where a row may have been taken for names."""
    is_name = len(name) <= MAX_NAME and len(name.split()) <= MAX_WORDS and not _CREDENTIAL.search(name)
    return name if is_name else f"text of {len(name)} characters"


def is_header(names: Sequence[str]) -> bool:
    """Whether names stand in the first line of a table, and not values: no figure, no time, nothing of a person."""
    return not any(_is_figure(n) or _TIME.fullmatch(n.strip()) or shown_name(n) != n for n in names)


def marked_sql(value: str) -> str:
    """SQL of a text of which `unmarked` makes what may be shown of it; null where it is null."""
    return f"chr(30) || translate(left({value}, 400), chr(30), ' ') || chr(29) || length({value}) || chr(30)"


def unmarked(detail: str, name: str = "") -> str:
    """The detail with its marked values as they may be shown."""
    return _MARKED.sub(lambda found: quoted(found[1], name, length=int(found[2])), detail)


def without_credentials(text: str) -> str:
    """The text with what looks like a key, a number of a person, a mail or a network address replaced."""
    return _CREDENTIAL.sub(HIDDEN, text)


def plain_text(text: str) -> str:
    """Text whose values have no names: pieces of prose by their shape, keys replaced."""
    text = without_credentials(text)
    return _PIECE.sub(lambda found: _piece(found[0]), text)


def _piece(text: str) -> str:
    if not _SHAPE.fullmatch(text.strip()) and (_WORDS.search(text) or _IDEOGRAPHS.search(text)):
        return f"text of {len(text)} characters"
    return _RUN.sub(lambda found: HIDDEN if _is_mixed(found[0]) else found[0], text)


def _is_plain(text: str) -> bool:
    """Whether the text is one word or figure and none of it looks like a key."""
    if _MEASURE.fullmatch(text):
        return True
    return len(text.split()) < 2 and not _IDEOGRAPHS.search(text) and not any(map(_is_mixed, _RUN.findall(text)))


def _is_mixed(run: str) -> bool:
    return not run.isdigit() and not run.isalpha()


def _is_figure(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
