"""Exports of fitted regressions, without their sums."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.utils.validation import check_is_fitted

from streamnb.export.regressions import RegressionWeights, linear_regression_of
from streamnb.export.writing import write


def export(self: Any, path: Any) -> None:
    """Write the weights, without sums, to a file that other programs predict with.

    Parameters
    ----------
    path : path or URL
        "m.onnx": an ONNX graph (``pip install streamnb[onnx]``) with the input "rows", float32 (n_rows,
        n_features), and the output "predictions", float64. "m.json": a list of weights for each target, intercepts and
        names of features. Rows of a model of a table have one number for each of its columns, in the order of the
        file's feature names.

    Raises
    ------
    ValueError
        The name has another ending, or a column of the table is not one of complete numbers. Nothing is written then.
    ImportError
        onnx is not installed.

    Examples
    --------
    >>> import json, pathlib, tempfile, streamnb as snb
    >>> model = snb.Ridge(alpha=0.0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.export(f"{folder}/m.json")
    ...     sorted(json.loads(pathlib.Path(folder, "m.json").read_text()))
    ['feature_names', 'format', 'intercepts', 'version', 'weights']
    """
    write(path, _weights_of(self))


def to_sklearn(self: Any) -> LinearRegression:
    """The model as a fitted LinearRegression of scikit-learn, which does not need this package.

    Raises
    ------
    ValueError
        As for `export`.

    Examples
    --------
    >>> import streamnb as snb
    >>> model = snb.Ridge(alpha=0.0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.to_sklearn().predict([[3.0]]).round(6)
    array([7.])
    """
    return linear_regression_of(_weights_of(self))


def _weights_of(self: Any) -> RegressionWeights:
    check_is_fitted(self)
    weights, names = np.atleast_2d(self.coef_).T, getattr(self, "feature_names_in_", None)
    return RegressionWeights(weights, np.atleast_1d(self.intercept_), names).of_columns(self.encoding_)
