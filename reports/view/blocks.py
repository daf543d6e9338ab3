"""What a page is made of: blocks with all words chosen and nothing left to compute.

Input: none. Output: plain frozen records; templates choose a macro by `kind`, charts by the type of their data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from reports.charts.data import ChartData


@dataclass(frozen=True)
class Piece:
    """A run of text in a sentence; `style` is "", strong, code, request (an id that a served page links), sub, hint or note."""

    text: str
    style: str = ""
    href: str | None = None


Rich = tuple[Piece, ...]


def plain(text: str) -> Rich:
    """A sentence of one run."""
    return (Piece(text),)


@dataclass(frozen=True)
class Bar:
    """One bar of a strip, in the strip's own units."""

    x: str
    y: str
    height: str
    bad: bool


@dataclass(frozen=True)
class Strip:
    """Small bars in a table cell: one per window, a dashed line at 1x."""

    width: int
    height: int
    bar_width: str
    line_y: str
    bars: tuple[Bar, ...]
    says: str


@dataclass(frozen=True)
class Meter:
    """A share as a bar, always beside its figure."""

    width: str  # CSS percentage
    over: bool


@dataclass(frozen=True)
class Badge:
    """A verdict: shape, word, colour."""

    verdict: str  # breached, endangered, met, too_few, unknown
    word: str


@dataclass(frozen=True)
class Cell:
    """One table cell: lines of text under a badge, meter or strip."""

    lines: tuple[Rich, ...] = ()
    number: bool = False
    badge: Badge | None = None
    meter: Meter | None = None
    strip: Strip | None = None
    heat: str | None = None
    swatch: Swatch | None = None
    indent: int = 0


@dataclass(frozen=True)
class Column:
    label: str
    number: bool = False


@dataclass(frozen=True)
class Row:
    head: Cell
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """A table; `cards` folds each row into a card on a phone, `grid` is the two-way table of lengths."""

    kind: ClassVar[str] = "table"
    name: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    caption: str | None = None
    foot: tuple[Row, ...] = ()
    cards: bool = False
    grid: bool = False
    note: str | None = None


@dataclass(frozen=True)
class Swatch:
    """One entry of a legend; `style` is box, hatched, line or dash."""

    token: str
    label: str = ""
    style: str = "box"


@dataclass(frozen=True)
class Chart:
    """A chart's data and what it shows, in words."""

    name: str
    data: ChartData
    height: int


@dataclass(frozen=True)
class Figure:
    """A chart with its title, finding, legend and table."""

    kind: ClassVar[str] = "figure"
    title: str
    says: str
    charts: tuple[Chart, ...]
    legend: tuple[Swatch, ...] = ()
    table: Table | None = None
    labels: tuple[str, ...] = ()  # a small title over each of several charts
    table_open: bool = False


@dataclass(frozen=True)
class Fact:
    label: str
    lines: tuple[Rich, ...]
    code: bool = False  # the label is an id


@dataclass(frozen=True)
class Facts:
    kind: ClassVar[str] = "facts"
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class Head:
    """A headline figure: label, figure with unit, one line of counts."""

    label: str
    value: str
    unit: str = ""
    lines: tuple[Rich, ...] = ()
    badge: Badge | None = None


@dataclass(frozen=True)
class Heads:
    kind: ClassVar[str] = "heads"
    heads: tuple[Head, ...]


@dataclass(frozen=True)
class Message:
    """A note in its own box; `tone` is note, warn or bad."""

    kind: ClassVar[str] = "message"
    sentences: Rich
    tone: str = "note"


@dataclass(frozen=True)
class Code:
    kind: ClassVar[str] = "code"
    text: str


@dataclass(frozen=True)
class Panel:
    """A framed group of blocks with a title."""

    kind: ClassVar[str] = "panel"
    title: str
    blocks: tuple[Block, ...]
    anchor: str | None = None


@dataclass(frozen=True)
class Fold:
    """A panel behind a summary; one with an anchor is opened on paper, others are left out there."""

    kind: ClassVar[str] = "fold"
    summary: str
    blocks: tuple[Block, ...]
    anchor: str | None = None


@dataclass(frozen=True)
class Columns:
    """Blocks side by side on a wide screen."""

    kind: ClassVar[str] = "columns"
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Tab:
    label: str
    block: Table


@dataclass(frozen=True)
class Tabs:
    kind: ClassVar[str] = "tabs"
    name: str
    tabs: tuple[Tab, ...]
    note: str | None = None


Block = Table | Figure | Facts | Heads | Message | Code | Panel | Fold | Columns | Tabs


@dataclass(frozen=True)
class Part:
    """One of the numbered parts of the report."""

    anchor: str
    title: str  # with its number
    rail: str  # short form for the list of parts
    lead: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class VerdictLine:
    badge: Badge
    sentence: Rich
    figure: str


@dataclass(frozen=True)
class Action:
    """A card of "What to do"."""

    title: str
    says: str
    lift: str
    id: str
    confidence: str
    anchor: str


@dataclass(frozen=True)
class Page:
    """The whole report, in one language."""

    lang: str
    title: str
    under_title: str
    lead: Rich
    simulated: bool
    verdict_head: str
    verdict_aside: str
    verdicts: tuple[VerdictLine, ...]
    heads: Heads
    actions: tuple[Action, ...]
    no_action: str | None
    action_blocks: tuple[Block, ...]
    parts: tuple[Part, ...]
    footer: str


def text_cell(text: str, *, style: str = "", href: str | None = None) -> Cell:
    """A cell of words."""
    return Cell(((Piece(text, style, href),),))


def number_cell(text: str, under: str | None = None, *, style: str = "") -> Cell:
    """A cell of figures, right aligned, with a smaller line beneath where there is one."""
    lines: tuple[Rich, ...] = ((Piece(text, style),),)
    if under is not None:
        lines = (*lines, (Piece(under, "hint"),))
    return Cell(lines, number=True)


def row(head: str | Cell, *cells: Cell) -> Row:
    """A row whose head is words or a cell of its own."""
    return Row(text_cell(head) if isinstance(head, str) else head, cells)
