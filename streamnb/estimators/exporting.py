"""Models of fitted classifiers by themselves, in files of this package and of others."""

from __future__ import annotations

import json
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from streamnb.core import arguments, persistence
from streamnb.core.replacing import replacing
from streamnb.export.as_json import json_bytes
from streamnb.export.as_onnx import onnx_bytes
from streamnb.export.as_portable import portable
from streamnb.export.as_sklearn import as_sklearn
from streamnb.export.raw_rows import of_numbers
from streamnb.models.portable import PortableModel

WRITERS = {".onnx": onnx_bytes, ".json": json_bytes}


def save(self: Any, path: Any, *, stats: bool = True, meta: Any = None) -> None:
    """Write to one file, no pickle; read it with `snb.load`.

    Parameters
    ----------
    path : path
    stats : bool
        True: parameters and statistics, from which everything follows, `refit` and `partial_fit` included. False:
        the model alone, as a `PortableModel`, weights stored sparse where mostly zero; loading it and predicting up
        to 1,000 rows imports little more than NumPy.
    meta : dict, optional
        What you want to know of the model later: strings, numbers, lists and dicts of these. It is kept as `meta_`.

    Raises
    ------
    ValueError
        The model alone does what a `PortableModel` does not; see `export`.
    """
    check_is_fitted(self)
    if meta is not None:
        self.meta_ = checked_meta(meta)
    persistence.save(path, self if arguments.one_of("stats", stats, [True, False]) else self._portable())


def export(self: Any, path: Any) -> None:
    """Write the model, without statistics, to a file that other programs predict with.

    Parameters
    ----------
    path : path
        "m.onnx": an ONNX graph (``pip install streamnb[onnx]``) with the input "rows", float32 (n_rows,
        n_features), and the outputs "labels" and "probabilities" ("scores" where there are none); its arithmetic is
        in float64. "m.json": weights class by class and the steps before them, which docs/export.md reads in ten
        lines of NumPy. Both decide as `predict` does. Of a model of a table rows have a number for each of its
        columns, in the order of the file's feature names: its bins, and categories that are numbers, are part of
        the file.

    Raises
    ------
    ValueError
        The name has another ending, or the model does what such a file does not hold (rows learned to be normal,
        pairs of classes, quadratic scores, loss=, threshold=, isotonic calibration), or makes its columns of texts,
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
    file = persistence.check_path("path", path)
    if file.suffix not in WRITERS:
        raise ValueError(f"path={str(file)!r} should end with one of {', '.join(WRITERS)}")
    model = of_numbers(self._portable())
    written = WRITERS[file.suffix](model)
    with replacing(file) as out:
        out.write(written)


def to_sklearn(self: Any) -> Pipeline:
    """The model as a fitted pipeline of scikit-learn's own estimators, which knows nothing of this package.

    Transformers for what is done to a row, and then LogisticRegression, or OneVsRestClassifier for scheme="ovr"
    and for labels: `predict` decides as this model does, and `predict_proba` is the same, to the precision of
    the rows that are given: scikit-learn divides float32 rows by their length in float32. In place of
    LogisticRegression it is LinearSVC, which has no probabilities, where the model has none, or such as
    scikit-learn does not know, those of a label that the others are set against (``reference=``).

    Raises
    ------
    ValueError
        As for `export`; and for bins, and functions of some columns only, which have no transformer.

    Examples
    --------
    >>> import streamnb as snb
    >>> model = snb.LinearNB(transform="log1p").fit([[3.0, 0.0], [0.0, 3.0]], ["cat", "dog"])
    >>> model.to_sklearn().predict([[0.0, 1.0]])
    array(['dog'], dtype='<U3')
    """
    return as_sklearn(of_numbers(self._portable()))


def portable_model(self: Any) -> PortableModel:
    """The model by itself, without statistics."""
    model = self._explained()
    names = getattr(self, "feature_names_in_", None)
    beside = {"encoding": self.encoding_, "meta_": self.meta_}
    return portable(model, self._step, names, hasattr(self, "predict_proba"), **beside)


def checked_meta(meta: Any) -> dict[str, Any]:
    """Words beside a model, if a file can keep them."""
    if not isinstance(meta, dict) or not all(isinstance(name, str) for name in meta):
        raise TypeError(f"meta={meta!r} should be a dict with names, such as {{'trained on': 'March'}}")
    try:
        return json.loads(json.dumps(meta, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise TypeError(f"meta={meta!r} should hold strings, numbers, and lists and dicts of these: {error}") from error
