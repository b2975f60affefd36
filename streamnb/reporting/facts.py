"""The facts on a page, as plain data: what templates and pictures are made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

LONGEST = 120  # letters of a name; the rest is cut
SHARES = "accuracy", "balanced_accuracy", "precision", "recall", "f_score"


def shown(name: Any) -> str:
    """A label or the name of a column as text of one line, cut if it is very long."""
    text = " ".join("".join(one if one.isprintable() or one == " " else " " for one in str(name)).split())
    return (text if len(text) <= LONGEST else text[: LONGEST - 1] + "…") or "(empty)"


def column_name(name: Any) -> str:
    """The name of a column, or its number, as text."""
    return f"column {name}" if isinstance(name, int) else shown(name)


@dataclass(frozen=True)
class Metric:
    """A metric: its value, the interval if there is one, and the value of guesses that know class shares alone."""

    key: str
    name: str
    meaning: str
    value: float
    low: float | None = None
    high: float | None = None
    guess: float | None = None
    other: float | None = None  # of the second set

    @property
    def is_share(self) -> bool:
        """Whether it is a share of rows, which is written as a percentage."""
        return self.key in SHARES


@dataclass(frozen=True)
class ClassRow:
    """A class: the rows that it has, and how good the model is at them."""

    label: str
    rows: float
    precision: float
    recall: float
    f_score: float
    roc_auc: float | None


@dataclass(frozen=True)
class Mistake:
    """Rows of one class that were taken for another."""

    true: str
    taken: str
    rows: float
    share: float  # of the rows of the true class


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

    score: float | None  # None: the model's own decision
    probability: float | None
    kept: float
    precision: float
    recall: float
    false_alarms: float
    misses: float


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
    classes: tuple[ClassRow, ...]  # those with the lowest F score first
    n_classes: int
    confusion: tuple[tuple[float, ...], ...] | None = None  # rows as `labels`, of few classes
    labels: tuple[str, ...] = ()
    mistakes: tuple[Mistake, ...] = ()
    thresholds: tuple[CutOffs, ...] = ()
    curves: tuple[ClassCurves, ...] = ()
    areas: dict[str, float] = field(default_factory=dict)
    reliability: tuple[Any, Any, Any] | None = None
    calibration_error: float | None = None
    fingerprint: str = ""
    slices: SlicedMetrics | None = None
    independent: bool = False  # of rows, whose intervals pictures show
    intervals_of: str = ""  # in words


@dataclass(frozen=True)
class FactTable:
    """A table: its heading, the names of its columns, and its cells as text or numbers."""

    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class Described:
    """What a model is: what it was learned from, what it looks at, and how it was made."""

    kind: str
    question: str
    title: str
    about: tuple[tuple[str, Any], ...]
    classes: tuple[tuple[str, float], ...]  # shares of the training rows
    missing: tuple[tuple[str, float], ...]  # shares of the training rows
    features: FactTable | None
    choice: FactTable | None
    parameters: tuple[tuple[str, str], ...]
    made: tuple[tuple[str, str], ...]
    load: str
    weights: tuple[tuple[Any, tuple[str, ...], Any], ...] = ()


@dataclass(frozen=True)
class Facts:
    """All facts on a page."""

    described: Described
    judged: Performance | None
    drift: FactTable | None = None
