"""Markers of classes, labels of cells, and how both are written to AnnData."""

from __future__ import annotations

from typing import Any

import numpy as np

from streamnb.core import arguments
from streamnb.core.frames import pandas_for
from streamnb.estimators.feature_tables import strongest_features
from streamnb.estimators.preparation import names_of_columns
from streamnb.estimators.unknown import check_unknown
from streamnb.rows.boundary import made_by
from streamnb.rows.in_anndata import RAW, ObsColumns, write_uns

UNKNOWN = "unknown"  # the label of cells that are none of the classes for sure
DTYPES = {"names": "O", "scores": "f4", "logfoldchanges": "f4", "pvals": "f8", "pvals_adj": "f8"}  # as scanpy has them


def markers(
    self: Any,
    n_features: Any = 10,
    *,
    test: str | None = None,
    batch: bool = False,
    corr: str = "benjamini-hochberg",
) -> Any:
    """The features with the strongest evidence for each class against the others, or the tests of all features.

    Parameters
    ----------
    n_features : int
        The largest number of features per class; None for all features, with `test`.
    test : {"t-test", "t-test_overestim_var", "wilcoxon"}, optional
        In place of weights, test the rows of each class against the rest, from the sums of the fit: they need
        ``fit(moments=("sum", "sum_sq"))`` where the family does not keep squares. Rank sums need histograms, which
        ``snb.scan(histogram=..).markers(test="wilcoxon")`` has.
    batch : bool
        Test within batches, for a model of ``fit(batch="obs/sample")``, or within the folds of a CV form; see
        `ClassStats.markers`.
    corr : {"benjamini-hochberg", "bonferroni"}
        How p-values are corrected for many features.

    Returns
    -------
    pandas.DataFrame
        As from `top_features`, but only weights above 0, largest first. With `test` as from `ClassStats.markers`,
        which is that of ``sc.get.rank_genes_groups_df``; `write_markers` puts it into AnnData.

    Raises
    ------
    ValueError
        scheme="ovo", whose weights are of pairs of classes; or the fit has not kept what a test needs.

    Examples
    --------
    >>> import numpy as np, streamnb as snb
    >>> X, y = np.array([[3.0, 0.0, 1.0], [0.0, 4.0, 1.0], [2.0, 1.0, 1.0]]), ["B cell", "T cell", "B cell"]
    >>> snb.LinearNB().fit(X, y).markers(1)[["class", "feature"]].values.tolist()
    [['B cell', 0], ['T cell', 1]]
    """
    names = names_of_columns(self)
    if test is None:
        if batch:
            raise ValueError("batch=True is of tests within batches; name a test, such as test='t-test'")
        return strongest_features(self._explained(), names, n_features, positive=True)
    self._fitted_model()
    stats: Any = getattr(self, "stats_", None)
    if not hasattr(stats, "markers"):
        raise ValueError(
            f"test={test!r} is of sums of the rows of each class, which {type(self).__name__} does not keep; take "
            "snb.scan(X, y).markers(test=..), or snb.LinearNB"
        )
    table = stats.markers(n_features, test=test, batch=batch, corr=corr, feature_names=names)
    table.attrs["layer"] = self.layer_
    return table


def write_markers(
    markers: Any, adata: Any, groupby: str, key: str = "rank_genes_groups", *, layer: str | None = None
) -> None:
    """Write a table of tested markers into `uns` of AnnData, as scanpy's `rank_genes_groups` does.

    Parameters
    ----------
    markers : pandas.DataFrame
        As from ``ClassStats.markers`` or ``model.markers(test=..)``, with as many rows for each group.
    adata : AnnData, or path
        An object, or the path of an .h5ad file or a Zarr store, in which nothing else is changed. What is written to an
        object that is backed by a file stays in memory.
    groupby : str
        The column of `obs` that the groups come from, for scanpy's plots.
    key : str
        The name in `uns`; what is there is replaced.
    layer : str, optional
        The layer that was tested, as given to `snb.scan`; "raw" for `raw`. The table of a fitted model knows it.

    Raises
    ------
    TypeError, ValueError
        An argument is something else, or groups have different numbers of rows; the message says which.

    Examples
    --------
    >>> import anndata, numpy as np, streamnb as snb
    >>> X, y = np.array([[2.0, 0.0], [3.0, 1.0], [0.0, 4.0], [1.0, 5.0]]), ["B", "B", "T", "T"]
    >>> adata = anndata.AnnData(X)
    >>> snb.write_markers(snb.scan(X, y).markers(2, feature_names=["CD79A", "CD3D"]), adata, "kind")
    >>> adata.uns["rank_genes_groups"]["names"]["T"].tolist()
    ['CD3D', 'CD79A']
    """
    pd = pandas_for("write_markers")
    if not isinstance(markers, pd.DataFrame) or not {"group", *DTYPES} <= {*markers.columns}:
        raise TypeError(
            "markers should be a data frame as from snb.scan(X, y).markers(..) or model.markers(test=..), with the "
            f"columns {['group', *DTYPES]}"
        )
    if not isinstance(groupby, str):
        raise TypeError(f"groupby={groupby!r} should be the name of a column of obs, such as 'cell_type'")
    groups = {str(group): table for group, table in markers.groupby("group", observed=True, sort=False)}
    sizes = {len(table) for table in groups.values()}
    if len(sizes) != 1:
        raise ValueError(
            f"markers has groups of {min(sizes, default=0)} to {max(sizes, default=0)} rows; scanpy has as many for "
            "each: write the table before rows are left out"
        )
    attrs = markers.attrs
    layer = layer or attrs.get("layer")
    params = {"groupby": groupby.removeprefix("obs/"), "reference": "rest", "method": attrs.get("test", "t-test")}
    params |= {"use_raw": layer == RAW, "layer": None if layer == RAW else layer}
    params["corr_method"] = attrs.get("corr", "benjamini-hochberg")
    entries: dict[str, Any] = {"params": params}
    for name, dtype in DTYPES.items():
        kind = str if name == "names" else None  # numbers of features without names are written as scanpy has names
        columns = pd.DataFrame({group: table[name].astype(kind or dtype).to_numpy() for group, table in groups.items()})
        entries[name] = columns.to_records(index=False, column_dtypes=dtype)
    write_uns(adata, key, entries)


def annotate(
    self: Any,
    adata: Any,
    key: str = "predicted",
    *,
    over: str | None = None,
    unknown_below: float | str | None = None,
) -> Any:
    """Add columns to `obs` of an AnnData object: the predicted class of each cell and its probability.

    Parameters
    ----------
    adata : AnnData
        With the fitted features, in `X` or the layer of `fit`; in memory or backed by its file, which is not changed.
    key : str
        Name of the column of labels, a categorical of all classes; probabilities, if the model has any, are in
        ``key + "_probability"``.
    over : str, optional
        A column of `obs` such as "obs/leiden": the label that most cells of each cluster have, the first of those as
        frequent, goes to ``key + "_majority"``. Cells that are "unknown" vote for it.
    unknown_below : float or "auto", optional
        Label cells "unknown" whose probability is below; "auto": below `unknown_below_`, which `choose_unknown_below`
        has chosen on folds. The classes must be strings. Probabilities that are calibrated on folds, such as those of
        ``LinearNBCV(calibration="sigmoid")``, say how often labels are right.

    Returns
    -------
    AnnData
        The same object.

    Raises
    ------
    TypeError, ValueError
        An argument is something else, `obs` lacks the column, or the model has no probabilities.
    """
    if not (made_by(adata, "anndata") and hasattr(adata, "obs")):
        raise TypeError(
            f"adata is of type {type(adata).__name__}; it should be an AnnData object, whose obs is written "
            "to; read a file with anndata.read_h5ad(path)"
        )
    from pandas import Categorical

    clusters = None if over is None else _clusters(adata, over)
    below = _threshold(self, unknown_below)
    labels, classes = self.predict(adata), self.classes_
    if np.ndim(labels) != 1:
        raise ValueError("annotate is for one label a row; put each column of predict(adata) into obs by itself")
    proba = self.predict_proba(adata).max(axis=1) if hasattr(self, "predict_proba") else None
    if below is not None and proba is not None:
        labels = np.where(proba < below, UNKNOWN, labels.astype(object))
        classes = np.unique([*classes.tolist(), UNKNOWN])
    adata.obs[key] = Categorical(labels, categories=classes)
    if proba is not None:
        adata.obs[f"{key}_probability"] = proba
    if clusters is not None:
        adata.obs[f"{key}_majority"] = Categorical(_majority(labels, clusters), categories=classes)
    return adata


def _threshold(estimator: Any, unknown_below: float | str | None) -> float | None:
    """The probability below which a label is "unknown"."""
    if unknown_below is None:
        return None
    check_unknown(estimator, f"unknown_below={unknown_below!r}")
    if unknown_below != "auto":
        return arguments.share("unknown_below", unknown_below)
    if estimator.unknown_below_ is None:
        raise ValueError(
            "unknown_below='auto' takes the threshold that model.choose_unknown_below(X, y) has chosen for this model, "
            "which has none; call it with the rows of the fit, or give a number from 0 to 1"
        )
    return estimator.unknown_below_


def _clusters(adata: Any, over: str) -> np.ndarray:
    """The cluster of each cell; each has to have one."""
    clusters = np.asarray(ObsColumns(adata.obs).column(over, "over"))
    missing = np.flatnonzero(pandas_for("annotate").isna(clusters))
    if len(missing):
        raise ValueError(
            f"over={over!r}: {len(missing):,} cells have no cluster, the first at row {missing[0]}; give them one"
        )
    return clusters


def _majority(labels: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """The most frequent label of the cluster of each cell."""
    names, codes = np.unique(labels, return_inverse=True)
    known, numbers = np.unique(clusters.astype(str), return_inverse=True)
    votes = np.zeros((len(known), len(names)), np.int64)
    np.add.at(votes, (numbers, codes), 1)
    return names[votes.argmax(axis=1)][numbers]
