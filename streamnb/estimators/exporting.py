"""Models of fitted classifiers that leave the package."""

from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from streamnb.core import persistence
from streamnb.export.as_json import json_bytes
from streamnb.export.as_onnx import onnx_bytes
from streamnb.export.as_sklearn import as_sklearn
from streamnb.export.portable import Portable, portable
from streamnb.models.linear import LinearModel

WRITERS = {".onnx": onnx_bytes, ".json": json_bytes}


class Exports:
    """A classifier whose model others can hold: a linear one, after steps that they know."""

    _model: LinearModel
    _step: Any

    def export(self, path: Any) -> None:
        """Write the model, without statistics, to a file that other programs predict with.

        Parameters
        ----------
        path : path
            "m.onnx": an ONNX graph (``pip install streamnb[onnx]``) with the input "rows", float32 (n_rows,
            n_features), and the outputs "labels" and "probabilities" ("scores" where there are none); its arithmetic is
            in float64. "m.json": weights class by class and the steps before them, which docs/export.md reads in ten
            lines of NumPy. Both decide as `predict` does.

        Raises
        ------
        ValueError
            The name has another ending, or the model does what such a file does not hold (rows learned to be normal,
            pairs of classes, quadratic scores, loss=, threshold=, isotonic calibration). Nothing is written then.
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
        written = WRITERS[file.suffix](self._portable())
        with persistence.replacing(file) as out:
            out.write(written)

    def to_sklearn(self) -> Pipeline:
        """The model as a fitted pipeline of scikit-learn's own estimators, which knows nothing of this package.

        Transformers for what is done to a row, and then LogisticRegression, or OneVsRestClassifier for scheme="ovr"
        and for labels: `predict` decides as this model does, and `predict_proba` is the same, to the precision of
        the rows that are given: scikit-learn divides float32 rows by their length in float32.

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
        return as_sklearn(self._portable())

    def _portable(self) -> Portable:
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return portable(self._model, self._step, names, hasattr(self, "predict_proba"))
