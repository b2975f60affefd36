"""Scores of raw rows by fitted models: log-odds of a class, which do not saturate as probabilities do."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core.messages import listed
from streamnb.encoding.encoding import check_alike
from streamnb.encoding.table_encoding import TableEncoding
from streamnb.encoding.text import TextEncoding
from streamnb.estimators.classifier import Classifier, fitted_model
from streamnb.rows.opening import opened
from streamnb.rows.source import Source
from streamnb.rows.tables import texts_of
from streamnb.rows.texts import Texts


@dataclass(frozen=True)
class ScoringModels:
    """Models by name, all for the same raw rows.

    Attributes
    ----------
    given : dict
        The fitted models.
    encoding : TextEncoding or TableEncoding
        Of the rows that are read.
    """

    given: Mapping[str, Any]
    encoding: Any

    @classmethod
    def of(cls, given: Any, text: str | None = None, encoding: Any = None) -> "ScoringModels":
        """Check models: a single one, or several by name; `text` replaces the field that they were fitted on."""
        models = given if isinstance(given, Mapping) else {"": given}
        if not models:
            raise ValueError("model={} has no model")
        encodings = {name: _encoding_of(name, model) for name, model in models.items()}
        for one in encodings.values():
            check_alike(one, encoding)
        first = encoding or next(iter(encodings.values()))
        if len(models) > 1 and not all(isinstance(one, TextEncoding) for one in encodings.values()):
            raise ValueError("model: several models can score only texts; for a table, give one model at a time")
        if isinstance(first, TextEncoding):
            own = [*encodings.values()] if encoding is None else [encoding]
            fields = {one.text for one in own} if text is None else {text}
            if len(fields) > 1:
                raise ValueError(f"model: the models were fitted on the fields {sorted(map(str, fields))}; give text=")
            first = TextEncoding(first.ngrams, fields.pop())
        elif text is not None:
            raise ValueError(f"text={text!r} names a field of texts, but the model was fitted on a table")
        return cls(dict(models), first)

    def matrices(self, rows: Any, first_row: int) -> dict[str, Any]:
        """The rows with the columns of each model, for raw rows."""
        if isinstance(self.encoding, TableEncoding):
            of_table = _opened(self.encoding(rows, first_row))
            of_table.feature_names = np.array(self.encoding.column_names, object)
            return dict.fromkeys(self.given, of_table)
        texts = self.texts(rows, first_row)
        own = {name: model.encoding_.ngrams for name, model in self.given.items()}
        made: dict[str, Any] = {}
        for name, ngrams in own.items():
            same = next((made[other] for other in made if own[other] == ngrams), None)
            made[name] = _opened(ngrams(texts, first_row)) if same is None else same
        return made

    def texts(self, rows: Any, first_row: int) -> Texts:
        """The texts of raw rows."""
        return rows if isinstance(rows, Texts) else texts_of(rows, self.encoding.text, first_row)

    def column(self, name: str, argument: str) -> tuple[str, int]:
        """The model and the number of a class, by its label, or by that of a model and a class such as "good.yes"."""
        found = []
        for model, fitted in self.given.items():
            labels = [str(label) for label in fitted.classes_]
            found += [(model, k) for k, label in enumerate(labels) if name in (label, f"{model}.{label}")]
        if len(found) == 1:
            return found[0]
        known = [str(label) for fitted in self.given.values() for label in fitted.classes_]
        if not found:
            raise ValueError(f"{argument}: {name!r} is not a label of the model; its labels are {listed(known)}")
        raise ValueError(
            f"{argument}: {name!r} is a label of several models; name the model, too: {found[0][0]}.{name}"
        )

    def tables(self, rows: Any, first_row: int, names: set[str]) -> dict[str, np.ndarray]:
        """What these models say of raw rows: log probabilities of all classes, or margins."""
        matrices = self.matrices(rows, first_row)
        return {name: _said(self.given[name], matrices[name]) for name in names}

    def has_probabilities(self, column: tuple[str, int]) -> bool:
        return hasattr(self.given[column[0]], "predict_log_proba")


def scores_of(odds: np.ndarray) -> np.ndarray:
    """Probabilities of log-odds."""
    with np.errstate(over="ignore"):
        return 1.0 / (1.0 + np.exp(-odds))


def _encoding_of(name: str, model: Any) -> Any:
    encoding, names = getattr(model, "encoding_", None), getattr(model, "feature_names_in_", None)
    if encoding is None and names is not None:
        return TableEncoding.of_numbers(names.tolist())
    if not isinstance(encoding, TextEncoding | TableEncoding):
        which = f" {name!r}" if name else ""
        raise ValueError(
            f"model{which} is a {type(model).__name__} that was not fitted on texts or a table; fit it on a "
            "table, or on rows that snb.text or snb.table opened, so that it makes the columns of new rows itself"
        )
    return encoding


def _opened(made: Any) -> Source:
    """Encoded rows, with the columns of the model."""
    if not sp.issparse(made):
        data = np.ones(len(made.indices)) if made.data is None else made.data
        made = sp.csr_array((data, made.indices, made.indptr), shape=made.shape)
    return opened(made, labelled=False)


def _said(model: Any, X: Any) -> np.ndarray:
    if hasattr(model, "predict_log_proba"):
        return np.asarray(model.predict_log_proba(X))
    return np.asarray(model.decision_function(X))


def log_odds(model: Any, table: np.ndarray, k: int) -> np.ndarray:
    """Log-odds of class k, of log probabilities, or its margin."""
    if not hasattr(model, "predict_log_proba"):
        return table[:, k] if table.ndim == 2 else table if k else -table
    others = np.delete(table, k, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        if isinstance(model, Classifier) and fitted_model(model).scheme.multilabel:  # a label is there or not
            return table[:, k] - np.log(-np.expm1(table[:, k]))
        rest = others[:, 0] if others.shape[1] == 1 else np.logaddexp.reduce(others, axis=1)
        return np.where(np.isneginf(table[:, k]), -np.inf, table[:, k] - rest)


@dataclass(frozen=True)
class ScoredLabels:
    """Labels whose scores are computed together, and how they are written beside rows.

    Attributes
    ----------
    names : tuple of str
    columns : tuple of (str, int)
        The model and the number of the class of each.
    proba : tuple of bool
        Whether log-odds are those of probabilities.
    n_wanted : int
        How many labels, from the first on, rows are chosen by: 0, 1, or several, of which each row has its best.
    score : str or None
        The name of the field for the score; None writes none.
    """

    names: tuple[str, ...]
    columns: tuple[tuple[str, int], ...]
    proba: tuple[bool, ...]
    n_wanted: int
    score: str | None

    def odds(self, models: ScoringModels, rows: Any, first_row: int) -> np.ndarray:
        """Log-odds of raw rows, (n_rows, n_labels); with several wanted, a last column has the number of the best.

        That is -1 where a row's most probable class is none of them.
        """
        tables = models.tables(rows, first_row, {name for name, _ in self.columns})
        parts = [log_odds(models.given[name], tables[name], k) for name, k in self.columns]
        if self.n_wanted > 1:
            (name, *others), numbers = zip(*self.columns[: self.n_wanted], strict=True)
            if {name} != {name, *others}:
                raise ValueError("share and number by label take labels of one model")
            best = np.argmax(tables[name], axis=1)
            places = np.full(tables[name].shape[1], -1.0)
            places[list(numbers)] = range(self.n_wanted)
            parts.append(places[best])
        return np.column_stack(parts)

    def scores(self, odds: np.ndarray) -> dict[str, np.ndarray]:
        """The scores of each label: probabilities where there are any."""
        pairs = zip(self.names, self.proba, odds.T, strict=False)
        return {name: scores_of(column) if proba else column for name, proba, column in pairs}

    def beside(self, odds: np.ndarray) -> dict[str, np.ndarray]:
        """The fields that are written beside rows."""
        if self.score is None:
            return {}
        scores = list(self.scores(odds).values())
        found: dict[str, np.ndarray] = {}
        if self.n_wanted == 1:
            found[self.score] = scores[0]
        elif self.n_wanted:
            best = odds[:, -1].astype(np.int64)
            found[self.score] = np.column_stack(scores)[np.arange(len(best)), best]
            found[f"{self.score}_label"] = np.array(self.names)[best]
        others = zip(self.names[self.n_wanted :], scores[self.n_wanted :], strict=True)
        return found | {f"{self.score}_{name}": column for name, column in others}
