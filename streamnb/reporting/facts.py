"""The facts on a page as plain data, from which the template and the pictures are made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

LONGEST = 120  # letters of a name; the rest is cut
SHORT = 1e-3, 1e9  # numbers outside are written with powers of ten


def shown(name: Any) -> str:
    """A label or the name of a column as text of one line, cut if it is very long."""
    text = " ".join("".join(one if one.isprintable() or one == " " else " " for one in str(name)).split())
    return (text if len(text) <= LONGEST else text[: LONGEST - 1] + "…") or "(empty)"


def column_name(name: Any) -> str:
    """The name of a column, or its number, as text."""
    return f"column {name}" if isinstance(name, int) else shown(name)


class Share(float):
    """A share of rows, which the page writes as a percentage."""


def share(value: float | None) -> str:
    """A share as a percentage."""
    return "–" if value is None or value != value else f"{100.0 * value:.1f} %"


def number(value: Any) -> str:
    """A number as text: whole numbers with commas, others to four digits, shares as percentages."""
    if isinstance(value, str):
        return value
    if value is None or value != value or isinstance(value, Share):
        return share(value)
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}".replace("-", "−")
    if 1000.0 <= abs(value) < SHORT[1]:
        return f"{value:,.0f}".replace("-", "−")
    return f"{value:.4g}".replace("-", "−")


@dataclass(frozen=True)
class FactTable:
    """A table: its heading, the names of its columns, and its cells as text or numbers."""

    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class Metric:
    """A metric: its value, its interval if any, and the value of guesses that know only the shares of classes."""

    key: str
    name: str
    meaning: str
    value: float
    low: float | None = None
    high: float | None = None
    guess: float | None = None
    other: float | None = None  # of the second set


@dataclass(frozen=True)
class SliceRow:
    """A slice of the rows: the value of each metric, and the ends of its interval."""

    column: str
    value: str
    n_rows: int
    numbers: tuple[tuple[float, float, float], ...]


@dataclass(frozen=True)
class SlicedMetrics:
    """Metrics of slices of the rows, the worst first, and of all rows."""

    metrics: tuple[str, ...]
    whole: tuple[float, ...]
    rows: tuple[SliceRow, ...]


@dataclass(frozen=True)
class CutOff:
    """What happens if rows from this score on are taken for the class; shares are of all rows."""

    score: float | None  # None: the model's own decision, where no score divides it
    probability: float | None
    kept: float
    precision: float
    recall: float
    false_alarms: float
    misses: float
    is_own: bool = False  # the model's own decision


@dataclass(frozen=True)
class CutOffs:
    """The thresholds of one class, from the highest on; `own` is the number of the model's own decision."""

    label: str
    points: tuple[CutOff, ...]
    own: int


@dataclass(frozen=True)
class ClassCurves:
    """The curves of a class against the others, from the highest score on.

    `found` and `others` are shares of the rows of the class, and of the others; `own` and `rest` their distributions
    over scores, or probabilities, between `ends`.
    """

    label: str
    roc_auc: float
    average_precision: float
    share: float  # of all rows, that are of the class
    found: Any
    others: Any
    ends: Any
    own: Any
    rest: Any
    of_probabilities: bool


@dataclass(frozen=True)
class Performance:
    """How good a model is on labelled rows."""

    n_rows: int
    weight: float
    interval: float | None
    metrics: tuple[Metric, ...]
    classes: FactTable | None = None  # those with the lowest F score first
    confusion: tuple[tuple[float, ...], ...] | None = None  # rows as `labels`, of few classes
    labels: tuple[str, ...] = ()
    mistakes: FactTable | None = None
    thresholds: tuple[CutOffs, ...] = ()
    curves: tuple[ClassCurves, ...] = ()
    areas: dict[str, float] = field(default_factory=dict)
    reliability: tuple[Any, Any, Any] | None = None
    calibration_error: float | None = None
    fingerprint: str = ""
    slices: SlicedMetrics | None = None
    independent: bool = False  # of rows, whose intervals pictures show
    intervals_of: str = ""  # in words
    n_unknown: int = 0  # rows with labels that the model does not know, which are left out
    guess: str = "guesses"  # what metrics are compared with
    about_guesses: str = "“Guesses” know only the class frequencies."
    numbers: Any = None  # the evaluation of predicted numbers, which pictures draw
    deciles: FactTable | None = None  # of these
    coverage: FactTable | None = None


@dataclass(frozen=True)
class Described:
    """What a model is: what it was learned from, what it looks at, and how it was made."""

    question: str
    title: str
    made: tuple[tuple[str, str], ...]
    kind: str = ""
    about: tuple[tuple[str, Any], ...] = ()
    classes: tuple[tuple[str, float], ...] = ()  # shares of the training rows
    missing: FactTable | None = None  # shares of the training rows
    features: FactTable | None = None
    choice: FactTable | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    load: str = ""
    weights: tuple[tuple[Any, tuple[str, ...], Any], ...] = ()
    unit: str = "weight"  # of these weights


@dataclass(frozen=True)
class Facts:
    """All facts on a page."""

    described: Described
    judged: Performance | None
    drift: tuple[FactTable, ...] = ()
