"""Encodings as candidates: whatever they learn is learned from the rows outside each fold."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from streamnb.core import row_checks
from streamnb.encoding.category_columns import CategoryColumns, LevelsSeen
from streamnb.encoding.learning import counted_values, prepared, step_of, totals_of
from streamnb.encoding.opening import SvmlightEncoding, as_numbers, holds_raw_texts, opened
from streamnb.encoding.table import TableToLearn
from streamnb.encoding.text import TextEncoding, TextsToLearn, is_learned, text
from streamnb.estimators.preparation import check_coded
from streamnb.fits.statistic import Statistic
from streamnb.passes.contract import Report, RunOptions
from streamnb.passes.run import run_reads
from streamnb.problem.families import as_family
from streamnb.problem.family import Family
from streamnb.rows.preparing import LearnedStep
from streamnb.rows.source import OutsideFolds, Source
from streamnb.rows.table_opening import ANY, COMPLETE, is_table
from streamnb.searching.rounds import Judging

Given = tuple[Any, Any, Any]  # X, y and weights
AS_NUMBERS: dict[str, Any] = {"bins": None}  # tried by default beside `snb.table`'s


@dataclass(eq=False)
class Encoded:
    """Rows as given; subclasses encode them into columns.

    Attributes
    ----------
    rows : Source, before anything is learned
    given : X, y and weights
    words : dict, what sets it apart, by name
    options : dict, those of `snb.table` or `snb.text`
    transform : the transform that the rows are prepared by, if it is learned
    coded : family or None, the family whose category columns these are
    has_numbers : bool, whether the columns of a table have numbers
    n_reads : int, reads for learning the encoding
    nested : bool, whether each fold has its own encoding
    learns_again : bool, whether the model of all rows learns the encoding itself
    """

    rows: Source
    given: Given
    words: dict[str, str] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    transform: Any = None
    coded: Any = None
    has_numbers: bool = False
    n_reads: ClassVar[int] = 0
    nested: ClassVar[bool] = False
    learns_again: ClassVar[bool] = False

    def learn(self, judging: Judging, options: RunOptions) -> Report:
        """Learn the encoding, once; return the report of the read."""
        return Report()

    @property
    def unencoded(self) -> bool:
        """Whether rows are not encoded; a svmlight file has its own columns."""
        return not self.nested and isinstance(self.rows.encoding, SvmlightEncoding | None)

    @property
    def whole(self) -> Source:
        """All rows, encoded by what was learned from all of them."""
        return self.rows

    def outside(self, fold: int) -> Source:
        """All rows, encoded by what was learned from the rows outside a fold."""
        return self.rows

    def n_times(self, n_folds: int) -> int:
        """How often rows are read for models of all folds, which share reads but where Dask holds the rows."""
        return n_folds if self.nested and self.rows.lazy else 1

    def side_by_side(self, folds: Sequence[int]) -> list[tuple[Sequence[int], Source]]:
        """The rows encoded outside each of these folds: the folds that share a source, and the source."""
        if not self.nested:
            return [(folds, self.whole)]
        if self.rows.lazy:
            return [([fold], self.outside(fold)) for fold in folds]
        return [(folds, OutsideFolds({fold: self.outside(fold) for fold in folds}))]

    def family_of(self, family: Family, fold: int | None) -> Family:
        """The family for the columns of `outside(fold)`, or of `whole` for None."""
        return family

    @property
    def to_fit(self) -> Given:
        """X, y and weights to fit a model of all rows."""
        return (self.whole, None, None) if self.nested and not self.learns_again else self.given

    def finished(self, model: Any) -> Any:
        """The model of all rows as returned to the user: it takes rows as they were given."""
        return model


class Learned(Encoded):
    """Rows whose encoding is learned in one pass, with totals that add up.

    Parameters
    ----------
    counts : Statistic of no rows, from whose total the encoding is learned
    rows : Source
    encoded : callable, returns the encoded rows from the total
    """

    n_reads = 1
    nested = True

    def __init__(self, counts: Statistic, rows: Source, encoded: Callable[..., Source], given: Given, **about: Any):
        super().__init__(rows, given, **about)
        self._counts, self._encoded = counts, encoded
        self._total: Any = None
        self._outside: Sequence[Any] = ()

    def learn(self, judging: Judging, options: RunOptions) -> Report:
        if self._outside:
            return Report()
        folding, rows = judging.folding_of(self.rows)
        self._total, self._outside, report = run_reads(totals_of(self._counts, rows, options, folding))
        return report

    @cached_property
    def whole(self) -> Source:
        return self._encoded(self._total)

    def outside(self, fold: int) -> Source:
        return self._encoded(self._outside[fold], quiet=True)


class Stepped(Learned):
    """Rows prepared by a step that `LinearNB` also learns.

    Parameters
    ----------
    counts : Statistic of no rows, from whose total the encoding is learned
    step_of : callable, returns the step from the total
    unencoded : Encoded, the rows
    """

    learns_again = True

    def __init__(self, counts: Statistic, step_of: Callable[[Any], LearnedStep], unencoded: Encoded, **about: Any):
        rows, given = unencoded.rows, unencoded.given

        def encoded(total: Any, quiet: bool = False) -> Source:
            return prepared(step_of(total), rows)

        super().__init__(counts, rows, encoded, given, **about)
        self._step_of = step_of

    def family_of(self, family: Family, fold: int | None) -> Family:
        check_coded(family, self.transform, None, None)
        if not family.coded:
            return family
        step: Any = self._step_of(self._total if fold is None else self._outside[fold])
        return family.widened(step.firsts)


class Transformed(Encoded):
    """Rows in memory, encoded by a transformer that is fitted without each fold."""

    nested = True

    def __init__(self, transformer: Any, given: Given, **about: Any):
        _, y, weight = given
        super().__init__(opened(np.zeros((len(y), 1)), y, weight), given, **about)
        self._transformer = transformer
        self._numbers = np.zeros(0, np.int64)
        self._fitted: Any = None

    def learn(self, judging: Judging, options: RunOptions) -> Report:
        self._numbers = judging.fold_of_each(len(self.given[1]))
        return Report()

    @cached_property
    def whole(self) -> Source:
        X, y, weight = self.given
        self._fitted = clone(self._transformer)
        return opened(_matrix(self._fitted.fit_transform(X, y)), y, weight)

    def outside(self, fold: int) -> Source:
        X, y, weight = self.given
        rest, held = np.flatnonzero(self._numbers != fold), np.flatnonzero(self._numbers == fold)
        transformer = clone(self._transformer)
        learned = _matrix(transformer.fit_transform(rows_at(X, rest), y[rest]))
        parts = [learned, _matrix(transformer.transform(rows_at(X, held)))]
        joined = sp.vstack(parts, format="csr") if sp.issparse(learned) else np.concatenate(parts)
        return opened(joined[np.argsort(np.concatenate([rest, held]))], y, weight)

    def finished(self, model: Any) -> Any:
        return make_pipeline(self._fitted, model)


def encoded_rows(given: Given, encodings: Any, transforms: list[Any], options: RunOptions) -> list[Encoded]:
    """The rows under each of `encodings`, and unencoded rows under each learned transform."""
    row_checks.check_repeated(given[1])
    numbers = ANY if transforms else COMPLETE
    raw = is_table(given[0]) and as_numbers(*given, numbers) is None
    if encodings is None and raw:
        usual = _encoded({}, given, options)
        return [usual, _encoded(AS_NUMBERS, given, options)] if usual.has_numbers else [usual]
    encoded: list[Encoded] = []
    for encoding in [None] if encodings is None else _checked(encodings):
        if encoding is None and not raw:
            rows = opened(*given, numbers=numbers)
            read_once, rows = rows.read_once, options.kept(rows)
            encoded.append(Encoded(rows, (rows, None, None) if read_once else given))
            encoded += [of_transform(transform, encoded[-1], options) for transform in transforms]
        else:
            encoded.append(_encoded(encoding or {}, given, options))
    return encoded


def of_transform(transform: Any, unencoded: Encoded, options: RunOptions) -> Stepped:
    """Rows prepared by a learned transform."""
    counts, words = counted_values(options), {"transform": word(transform)}
    return Stepped(counts, partial(step_of, transform), unencoded, words=words, transform=transform)


def of_categories(family: Any, unencoded: Encoded, options: RunOptions) -> Stepped:
    """Rows whose category numbers, as a family takes them, become indicator columns."""
    named = as_family(family).named(getattr(unencoded.rows.given, "columns", None))
    seen = LevelsSeen(named.coded_columns, options.memory_limit)
    return Stepped(seen, CategoryColumns.of, unencoded, coded=family)


def _encoded(encoding: Any, given: Given, options: RunOptions) -> Encoded:
    """The rows under one of `encodings`."""
    X, y, weight = given
    if not isinstance(encoding, dict):
        name = " ".join(repr(encoding).split())
        return Transformed(encoding, in_memory(X, y, weight, f"encodings={name}"), words={"encoding": name})
    if isinstance(X, Source):
        of_text = {"text": X.encoding.text} if isinstance(X.encoding, TextEncoding) and X.encoding.text else {}
        raise ValueError(
            f"encodings has {encoding!r}, but X are rows that are opened and encoded already: give search "
            f"what they were opened from (a path, texts, a data frame) and y, with encodings=[{of_text | encoding!r}]"
        )
    name = ", ".join(f"{option}={value!r}" for option, value in encoding.items()) or "as usual"
    about: dict[str, Any] = {"words": {"encoding": name}, "options": encoding}
    try:
        if not (holds_raw_texts(X) or isinstance(encoding.get("text"), str)):
            table = TableToLearn(X, y, weight, encoding, searched=True)
            return Learned(table.statistic, table.rows, table.encoded, given, has_numbers=table.has_numbers, **about)
        if is_learned(encoding.get("vocabulary")):
            texts = TextsToLearn.from_options(X, y, weight, encoding)
            return Learned(texts.statistic, texts.rows, texts.encoded, given, **about)
        rows = options.kept(text(X, y=y, weight=weight, **encoding))  # hashed, or with given tokens
        return Encoded(rows, (rows, None, None), **about)
    except TypeError as error:
        if "argument" not in str(error):
            raise
        raise ValueError(
            f"encodings has {encoding!r}: {error}; it should have options of snb.table or snb.text"
        ) from None


def in_memory(X: Any, y: Any, weight: Any, argument: str) -> Given:
    """Rows and labels in memory, in a form that any transformer takes and that can be indexed."""
    X = np.asarray(X) if isinstance(X, list) else X
    if not (isinstance(X, np.ndarray) or hasattr(X, "iloc") or sp.issparse(X)) or y is None or isinstance(y, str):
        raise TypeError(f"{argument} needs rows and labels in memory, X an array or a frame, not {type(X).__name__}")
    return sp.csr_array(X) if sp.issparse(X) else X, y.tocsr() if sp.issparse(y) else np.asarray(y), weight


def rows_at(X: Any, rows: np.ndarray) -> Any:
    """The rows of X with these numbers."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _matrix(output: Any) -> Any:
    """The output of a transformer as CSR or as a float64 array."""
    return sp.csr_array(output) if sp.issparse(output) else np.asarray(output, np.float64)


def word(value: Any) -> str:
    """A candidate as text."""
    return "none" if value is None else value if isinstance(value, str) else repr(value)


def check_list(name: str, given: Any, example: str, also: str = "") -> None:
    """Refuse anything but a list of at least one candidate."""
    if not isinstance(given, list):
        raise TypeError(f"{name}={given!r} should be a list of candidates, such as {name}={example}")
    if not given:
        should = f"give at least one candidate, such as {name}={example}, or leave it out"
        raise ValueError(f"{name}=[] is empty; {should}{also}")


def check_once(name: str, words: list[str]) -> None:
    """Refuse candidates, given as text, if one occurs more than once."""
    twice = [word for word in words if words.count(word) > 1]
    if twice:
        raise ValueError(f"{name} has {twice[0]} twice; give each once")


def _checked(given: Any) -> list[Any]:
    """The given encodings, checked."""
    check_list("encodings", given, "[None, {'bins': 8}]")
    for one in given:
        if not (one is None or isinstance(one, dict) or (hasattr(one, "fit_transform") and hasattr(one, "transform"))):
            raise TypeError(
                f"encodings has {one!r}; each should be None for rows as they are, a dict of options of snb.table or "
                "snb.text, such as {'bins': 8}, or a transformer such as snb.CategoryCounters()"
            )
    check_once("encodings", list(map(repr, given)))
    return given
