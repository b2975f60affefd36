"""Predictions for one record: a dict, a row of an array, or a text; what can be is prepared at the first of them."""

from collections.abc import Callable, Iterator
from functools import partial
from operator import is_
from threading import local
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from streamnb.encoding.bins import TermColumns
from streamnb.encoding.records import Row, TableRecords, Unusual, numbers_of, records_of
from streamnb.estimators.preparation import Preparation, names_of
from streamnb.models.as_portable import portable
from streamnb.models.linear import LinearModel, OddsModel
from streamnb.models.tree import TreeModel
from streamnb.problem.schemes import TwoClasses, probabilities
from streamnb.rows.labels import open_columns
from streamnb.rows.row_blocks import Block
from streamnb.rows.source import Source
from streamnb.rows.table_opening import is_row

NAMES = "joint", "ovr", "multilabel"  # of schemes whose margins are the scores of classes
_prepared: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()  # by estimator and method


class OneRow(Source):
    """Rows that come one at a time: each thread has its own.

    A method that predicts for it returns a function, which answers for the row that the thread has last put here.
    """

    opened_by_user, n_rows, names_last = True, 1, False

    def __init__(self, encoding: Any, n_features: int):
        super().__init__(open_columns(None, None, 1, False))
        self.encoding, self.n_features = encoding, n_features
        self.of_thread, self.one_row = local(), _answer_of
        self.unknown = self.of_thread

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        yield Block(self.of_thread.X, None, None, None, 0, 0)

    def with_columns(self, *labels: Any, **columns: Any) -> "OneRow":
        return self


def _answer_of(function: Callable, rows: Source) -> Callable[[], Any]:
    def answer() -> Any:
        (found,) = [function(block)[0] for block in rows.blocks()]  # to the end, where warnings are
        return found

    return answer


def answered(estimator: Any, preparation: Preparation, fitted: Callable | None, method: str, record: Any) -> Any:
    """What a method of an estimator answers for one record, as for a batch of it."""
    known = _prepared.setdefault(estimator, {})
    if method not in known or not all(map(is_, known[method][0], _fit_of(estimator))):
        try:
            answer = _answer(estimator, preparation.encoding, method)
            if fitted is not None:
                answer = _plain(fitted(), preparation, names_of(estimator), method, answer) or answer
        except Unusual:
            answer = None
        known[method] = _fit_of(estimator), answer  # afterwards, since some solve their weights on use
    answer = known[method][1]
    return np.asarray(getattr(estimator, method)([record]))[0] if answer is None else answer(record)


def _fit_of(estimator: Any) -> tuple[Any, ...]:
    """The objects by which fits, calibrations and thresholds of an estimator differ."""
    parts = vars(estimator)
    return *map(parts.get, ("_preparation", "_model", "stats_", "coef_")), parts.get("_learned", {}).get("_model")


def label(estimator: Any, preparation: Preparation, fitted: Callable[[], LinearModel], record: Any) -> Any:
    """The label of a record, or whether it has each; `fitted` gives the model."""
    found = answered(estimator, preparation, fitted, "predict", record)
    return by_label(estimator, found.astype(bool)) if np.ndim(found) else found.item()


def shares(estimator: Any, preparation: Preparation, fitted: Callable, record: Any) -> dict[Any, float]:
    """The probability of each class of a record."""
    return by_label(estimator, answered(estimator, preparation, fitted, "predict_proba", record))


def by_label(estimator: Any, found: np.ndarray) -> dict[Any, Any]:
    """Numbers of a record by the labels that they are of."""
    labels = estimator.labels_ if hasattr(type(estimator), "labels_") else estimator.classes_  # of a hierarchy
    return dict(zip(labels.tolist(), found.tolist(), strict=True))


def _plain(
    model: Any, preparation: Preparation, names: Any, method: str, answer: Callable[[Any], Any]
) -> Callable[[Any], Any] | None:
    """What answers for a record by plain steps and weights, to the same bits, and by `answer` for what is unusual.

    None where a model is not linear in such, or where steps are not those of compiled loops to the last bit.
    """
    scheme, step = model.scheme, preparation.step
    known = type(model) in (LinearModel, OddsModel, TreeModel) and {*model.moments} == {"sum"} and model.rule is None
    if not known or scheme.reference is not None or not (isinstance(scheme, TwoClasses) or scheme.name in NAMES):
        return None
    if isinstance(step, TermColumns) and step.base is not None:
        return None  # which warns of missing values
    try:
        form = portable(model, step, names, False, encoding=preparation.encoding)
    except (ValueError, AttributeError):
        return None
    records = form.records
    if not isinstance(form.weights, np.ndarray) or (records is None and preparation.encoding is not None):
        return None
    if isinstance(step, TermColumns) and isinstance(records, TableRecords):
        records.complete = True
    first = 1 if isinstance(scheme, TwoClasses) else 0

    def answer_record(record: Any) -> Any:
        try:
            margins = form.plain_scores(record)[:, first:]
        except (Unusual, ValueError):  # which it takes, or says what is wrong
            return answer(record)
        if method == "predict_proba":
            return probabilities(scheme, margins)[0]
        decided = scheme.decide(margins)[0]
        return decided if scheme.multilabel else model.classes_[decided]

    return answer_record


def _answer(estimator: Any, encoding: Any, method: str) -> Callable[[Any], Any]:
    """What answers for a record."""
    predict, n_features = getattr(estimator, method), getattr(estimator, "n_features_in_", 0)
    rows = OneRow(encoding, n_features if encoding is None else encoding.n_columns)
    make, answer = _encoder(encoding, names_of(estimator), n_features), predict(rows)

    def answer_record(record: Any) -> Any:
        rows.of_thread.X, rows.of_thread.told = make(record.to_dict() if is_row(record) else record)
        return answer()

    return answer_record


def _encoder(encoding: Any, names: Any, n_features: int) -> Callable[[Any], Any]:
    """What makes the block of a record, and the columns whose values it has warned of."""
    if encoding is None:
        return partial(_row, names, n_features)
    encode = records_of(encoding)
    if encode is None:
        raise Unusual
    return partial(_encoded, encoding, encode)


def _encoded(encoding: Any, encode: Callable[[Any], Row], record: Any) -> Any:
    """The block of a record of a table or of a text, and the columns whose values were unknown."""
    try:
        columns, values = encode(record)
    except Unusual:
        rows = encoding.encode([record])
        (block,) = rows.blocks()
        return block.X, getattr(rows.unknown, "told", ())
    return (values, columns, np.array([0, len(columns)]), encoding.n_columns), ()


def _row(names: Any, n_features: int, record: Any) -> tuple[np.ndarray, tuple[()]]:
    """The block of a record of numbers."""
    return numbers_of(record, names, n_features)[None], ()
