"""Saves and exports the models of fitted classifiers."""

from __future__ import annotations

import json
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from streamnb.core import arguments, persistence
from streamnb.export.as_portable import portable
from streamnb.export.as_sklearn import as_sklearn
from streamnb.export.raw_rows import of_numbers
from streamnb.export.writing import write
from streamnb.models.portable import PortableModel


def save(self: Any, path: Any, *, stats: bool = True, meta: Any = None) -> None:
    """Write to one file, no pickle; read it with `snb.load`.

    Parameters
    ----------
    path : path or URL
    stats : bool
        True: parameters and statistics, which allow `refit` and `partial_fit` after loading. False: the model alone, as
        a `PortableModel`, with mostly zero weights stored sparse; loading it and predicting up to 1,000 rows imports
        little more than NumPy.
    meta : dict, optional
        Information about the model: strings, numbers, lists and dicts of these. It is kept as `meta_`.

    Raises
    ------
    ValueError
        With ``stats=False``, the model does something that a `PortableModel` cannot; see `export`.
    """
    check_is_fitted(self)
    if meta is not None:
        self.meta_ = checked_meta(meta)
    persistence.save(path, self if arguments.one_of("stats", stats, [True, False]) else self._portable())


def export(self: Any, path: Any) -> None:
    """Write the model, without statistics, to a file that other programs predict with.

    Parameters
    ----------
    path : path or URL
        "m.onnx": an ONNX graph (``pip install streamnb[onnx]``) with the input "rows", float32 (n_rows,
        n_features), and the outputs "labels" and "probabilities" ("scores" where there are none); its arithmetic is
        in float64. "m.json": weights by class and the steps before them; docs/export.md predicts with it in ten lines
        of NumPy. Both decide as `predict` does. For a model of a table, rows have one number for each of its columns,
        in the order of the file's feature names; bins and numeric categories are part of the file.

    Raises
    ------
    ValueError
        The name has another ending, the model does something that the file cannot express (the quantile-normal map,
        pairs of classes, quadratic scores, loss=, threshold=, isotonic calibration), or its columns are made of texts,
        strings, dates, hashes or numbers as they are. Nothing is written then.
    ImportError
        onnx is not installed.

    Examples
    --------
    >>> import json, pathlib, tempfile, streamnb as snb
    >>> model = snb.LinearNB().fit([[3.0, 0.0], [0.0, 3.0]], ["cat", "dog"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.export(f"{folder}/m.json")
    ...     sorted(json.loads(pathlib.Path(folder, "m.json").read_text()))[:3]
    ['feature_names', 'format', 'multilabel']
    """
    write(path, lambda: of_numbers(self._portable()))


def to_sklearn(self: Any) -> Pipeline:
    """The model as a fitted pipeline of scikit-learn's own estimators, which does not need this package.

    The row transforms become transformers, followed by LogisticRegression, or by OneVsRestClassifier for scheme="ovr"
    and for labels. `predict` decides as this model does and `predict_proba` is the same, to the precision of the given
    rows: scikit-learn normalises float32 rows in float32. LinearSVC, which has no probabilities, replaces
    LogisticRegression where the model has none, or has some that scikit-learn does not support, those of labels against
    a reference label (``reference=``).

    Raises
    ------
    ValueError
        As for `export`; also for bins, and for functions of only some of the columns, which have no transformer.

    Examples
    --------
    >>> import streamnb as snb
    >>> model = snb.LinearNB(transform="log1p").fit([[3.0, 0.0], [0.0, 3.0]], ["cat", "dog"])
    >>> model.to_sklearn().predict([[0.0, 1.0]])
    array(['dog'], dtype='<U3')
    """
    return as_sklearn(of_numbers(self._portable()))


def portable_model(self: Any) -> PortableModel:
    """The model without statistics."""
    model = self._explained()
    names = getattr(self, "feature_names_in_", None)
    beside = {"encoding": self.encoding_, "meta_": self.meta_}
    return portable(model, self._step, names, hasattr(self, "predict_proba"), **beside)


def checked_meta(meta: Any) -> dict[str, Any]:
    """`meta`, checked to be storable in a file."""
    if not isinstance(meta, dict) or not all(isinstance(name, str) for name in meta):
        raise TypeError(f"meta={meta!r} should be a dict with names, such as {{'trained on': 'March'}}")
    try:
        return json.loads(json.dumps(meta, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise TypeError(f"meta={meta!r} should hold strings, numbers, and lists and dicts of these: {error}") from error
