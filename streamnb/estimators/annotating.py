"""Labels of cells and taxa that may stay unknown, and markers of classes written to AnnData."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from streamnb.core import arguments, messages, row_checks
from streamnb.core.arguments import PerRow
from streamnb.core.frames import pandas_for
from streamnb.models.linear import LinearModel
from streamnb.models.ranks import RankedDraws, Taxonomy
from streamnb.passes.answering import answer
from streamnb.problem.families import as_family
from streamnb.rows.boundary import made_by
from streamnb.rows.in_anndata import RAW, ObsColumns, write_uns
from streamnb.rows.line_files import SequenceFiles
from streamnb.rows.source import RawSource, Source
from streamnb.rows.splits import fold_numbers

UNKNOWN = "unknown"  # the label of cells that are none of the classes for sure
DTYPES = {"names": "O", "scores": "f4", "logfoldchanges": "f4", "pvals": "f8", "pvals_adj": "f8"}  # as scanpy has them


def write_markers(
    markers: Any, adata: Any, groupby: str, key: str = "rank_genes_groups", *, layer: str | None = None
) -> None:
    """Write a table of tested markers into `uns` of AnnData, as scanpy's `rank_genes_groups` does.

    Parameters
    ----------
    markers : pandas.DataFrame
        From ``ClassStats.markers`` or ``model.markers(test=..)``, with equally many rows for each group.
    adata : AnnData, or path
        An object, or the path of an .h5ad file or a Zarr store, in which nothing else is changed. Changes to an object
        that is backed by a file stay in memory.
    groupby : str
        The column of `obs` that the groups come from, for scanpy's plots.
    key : str
        The name in `uns`; an existing entry is replaced.
    layer : str, optional
        The layer that was tested, as given to `snb.scan`; "raw" for `raw`. The table of a fitted model knows it.

    Raises
    ------
    TypeError, ValueError
        An argument is wrong, or groups have different numbers of rows; the message says which.

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


def annotated(model: Any, adata: Any, key: str, over: str | None, unknown_below: float | str | None) -> Any:
    """Add columns to `obs` of an AnnData object, as `Classifier.annotate` says."""
    if not (made_by(adata, "anndata") and hasattr(adata, "obs")):
        raise TypeError(
            f"adata is of type {type(adata).__name__}; it should be an AnnData object, whose obs is written "
            "to; read a file with anndata.read_h5ad(path)"
        )
    from pandas import Categorical

    clusters = None if over is None else _clusters(adata, over)
    below = _unknown_below(model, unknown_below)
    labels, classes = model.predict(adata), model.classes_
    if np.ndim(labels) != 1:
        raise ValueError("annotate is for one label a row; put each column of predict(adata) into obs by itmodel")
    proba = model.predict_proba(adata).max(axis=1) if hasattr(model, "predict_proba") else None
    if below is not None and proba is not None:
        labels = np.where(proba < below, UNKNOWN, labels.astype(object))
        classes = np.unique([*classes.tolist(), UNKNOWN])
    adata.obs[key] = Categorical(labels, categories=classes)
    if proba is not None:
        adata.obs[f"{key}_probability"] = proba
    if clusters is not None:
        adata.obs[f"{key}_majority"] = Categorical(_majority(labels, clusters), categories=classes)
    return adata


def _unknown_below(model: Any, unknown_below: float | str | None) -> float | None:
    """The probability below which a label is "unknown"."""
    if unknown_below is None:
        return None
    check_unknown(model, f"unknown_below={unknown_below!r}")
    if unknown_below != "auto":
        return arguments.share("unknown_below", unknown_below)
    if model.unknown_below_ is None:
        raise ValueError(
            "unknown_below='auto' takes the threshold that model.choose_unknown_below(X, y) has chosen for this model, "
            "which has none; call it with the rows of the fit, or give a number from 0 to 1"
        )
    return model.unknown_below_


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


LEAST_CLASSES = 2  # that a model is fitted to


class BestClasses:
    """Keeps the likeliest class of each row, as the `out` of `predict_proba`, which is written block by block."""

    dtype = np.dtype(np.float64)

    def __init__(self, n_rows: int, n_classes: int):
        self.shape = (n_rows, n_classes)
        self.codes, self.probability = np.empty(n_rows, np.int64), np.empty(n_rows)

    def __setitem__(self, rows: slice, proba: np.ndarray) -> None:
        self.codes[rows], self.probability[rows] = proba.argmax(axis=1), proba.max(axis=1)


def threshold_of_folds(
    model: Any,
    given: tuple[Any, Any, Any],
    rows: Source,
    named: float,
    folds: int,
    groups: PerRow,
    seed: int,
    options: dict[str, Any],
) -> tuple[float, Any]:
    """The threshold of `Classifier.choose_unknown_below` for these rows, and its table."""
    check_unknown(model, "choose_unknown_below")
    if model.recalibrated_:
        raise ValueError(
            "the model was calibrated after its fit, and models of folds would not be; choose_unknown_below is for "
            "estimators that calibrate in fit, such as snb.LinearNBCV(calibration='sigmoid')"
        )
    named, pd = arguments.share("named", named), pandas_for("choose_unknown_below")
    X, y, sample_weight = given
    if rows.lazy:
        raise TypeError("X is in Dask; give the Zarr store behind it, or rows in memory")
    labels = np.asarray(rows.whole_column(y, "y"))
    weight = np.ones(len(labels)) if sample_weight is None else rows.whole_column(sample_weight, "sample_weight")
    numbers = _folds(len(labels), folds, None if groups is None else rows.whole_column(groups, "groups"), seed)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(other := np.setdiff1d(classes, model.classes_)):
        raise ValueError(f"y has {messages.listed(other)}, which the model does not know; give the rows of the fit")
    if len(lacking := np.setdiff1d(model.classes_, classes)):
        raise ValueError(f"y has no {messages.listed(lacking)}, which the model knows; give the rows of the fit")
    left_out = _left_out_with(len(classes), folds, seed)
    right, probability = np.zeros(len(labels), bool), np.zeros(len(labels))
    tried, unknown = np.zeros((2, len(labels)), bool)  # by a model without the class, with a threshold of its own
    for fold in range(folds):
        held, unseen = numbers == fold, left_out[codes] == fold
        hits, best = _without(model, (X, labels, weight, options), held, unseen & False)
        right[held], probability[held] = hits[held], best[held]
        if unseen.any():
            hits, best = _without(model, (X, labels, weight, options), held, unseen)
            named_right = held & hits
            if named_right.any():
                below = _threshold(best[named_right], weight[named_right], named)
                tried[unseen], unknown[unseen] = True, best[unseen] < below
    below = _threshold(probability[right], weight[right], named)
    shares = {
        "right": _shares(right, np.ones(len(labels), bool), codes, weight),
        "named": _shares(probability >= below, right, codes, weight),
        "unseen": _shares(unknown, tried, codes, weight),
    }
    return below, pd.DataFrame(shares, pd.Index(classes, name="class"))


def _without(
    estimator: Any, given: tuple[Any, ...], held: np.ndarray, unseen: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Fit a model without `held` rows and classes of `unseen` ones: which rows it labels right, and how surely."""
    X, labels, weight, options = given
    out = held | unseen
    trained = np.where(out, 0.0, weight)
    named = np.where(out, labels[np.argmin(out)], labels)  # some class that is trained: of others no row is left
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", messages.StreamnbWarning)
        try:
            model = clone(estimator).fit(X, named, trained, layer=estimator.layer_, **options)
        except ValueError as error:
            if not unseen.any():
                raise
            raise ValueError(
                f"no model can be fitted without the classes {messages.listed(np.unique(labels[unseen]))}: {error}. "
                "Parameters by class, such as priors, need all; give annotate a number, such as unknown_below=0.5"
            ) from error
    best = BestClasses(len(labels), len(model.classes_))
    model.predict_proba(X, out=best)
    return model.classes_[best.codes] == labels, best.probability


def check_unknown(model: Any, who: str) -> None:
    """Raise where no label can be "unknown": without probabilities, or with classes that are no strings."""
    if not hasattr(model, "predict_proba") or model.classes_.dtype.kind not in "UO":
        raise ValueError(f"{who} is for models with predict_proba and with classes that are strings")


def _folds(n_rows: int, folds: int, groups: Any, seed: int) -> np.ndarray:
    """The fold of each row; groups, if any, are spread evenly, as some folds may otherwise have none of a few."""
    of_rows, what = np.arange(n_rows), "rows"
    if groups is not None:
        row_checks.check_lengths(n_rows, len(groups), "groups")
        of_rows, what = np.unique(row_checks.check_labels(groups, "groups"), return_inverse=True)[1], "groups"
    if (n_groups := of_rows.max() + 1) < arguments.positive_integer("folds", folds, 2):
        raise ValueError(f"folds={folds} are more than the {n_groups} {what}; use fewer")
    return fold_numbers(n_groups, folds, seed=seed)[of_rows]


def _left_out_with(n_classes: int, folds: int, seed: int) -> np.ndarray:
    """The fold whose model does not know each class, (n_classes,); -1 where too few would be left."""
    if n_classes - -(-n_classes // folds) < LEAST_CLASSES:
        return np.full(n_classes, -1)
    return fold_numbers(n_classes, folds, seed=seed)


def _threshold(probability: np.ndarray, weight: np.ndarray, named: float) -> float:
    """The highest threshold that at least the share `named` of rows with these probabilities reaches."""
    if not len(probability):
        raise ValueError("no held-out row is labelled correctly, so no threshold can be chosen; check score(X, y)")
    falling = np.argsort(-probability)
    reached = np.cumsum(weight[falling])
    return float(probability[falling[min(np.searchsorted(reached, named * reached[-1]), len(falling) - 1)]])


def _shares(hit: np.ndarray, counts: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The share of hits in each class, (n_classes,), of the rows that count."""
    n, hits = (np.bincount(codes, np.where(rows, weight, 0.0)) for rows in (counts, counts & hit))
    return np.divide(hits, n, out=np.full(len(n), np.nan), where=n > 0.0)


UNASSIGNED = "Unassigned"


def sure_ranks(model: LinearModel, rows: Source, family: Any, confidence: float, draws: int, seed: int) -> Any:
    """Taxa of rows of counts, as `Classifier.predict_ranks` says."""
    confidence, draws = arguments.share("confidence", confidence), arguments.positive_integer("draws", draws)
    seed = arguments.whole_number("seed", seed)
    _check_of_counts(model, family)
    pandas, taxonomy = pandas_for("predict_ranks"), Taxonomy(model.classes_)
    function = RankedDraws(model, taxonomy, draws, seed)
    answers = np.asarray(answer(function, rows, 1 + taxonomy.n_ranks, np.dtype(np.float64)))
    classes, shares = answers[:, 0].astype(np.intp), answers[:, 1:]
    sure = (shares >= confidence) & (shares > 0.0)  # a row without any unit is of no taxon
    n_sure = np.logical_and.accumulate(sure, axis=1).sum(axis=1)
    last = np.maximum(n_sure - 1, 0)
    taxa = np.where(n_sure > 0, taxonomy.names[classes, last], UNASSIGNED)
    names = identifiers_of(rows)
    columns = {"read": np.arange(len(answers)) if names is None else names, "taxon": taxa}
    return pandas.DataFrame({**columns, "confidence": shares[np.arange(len(answers)), last]})


def identifiers_of(rows: Any) -> list[str] | None:
    """The identifiers of sequences in files; None for other rows."""
    files = rows.raw if isinstance(rows, RawSource) else None
    return [identifier for identifier, _ in files.headers()] if isinstance(files, SequenceFiles) else None


def _check_of_counts(model: LinearModel, family: Any) -> None:
    """Refuse models whose scores are not sums of weights times counts, as many as there are."""
    plain = model.scale is None and model.second is None and model.curves is None and not sp.issparse(model.weights)
    options = model.options
    changed = options.steps or options.by_length or options.scale or options.learned
    counted = set(model.moments) == {"sum"} and not changed and options.step is None
    joint = type(model) is LinearModel and model.scheme.name in ("joint", "two classes")
    if not (joint and plain and counted and as_family(family).name == "multinomial"):
        raise ValueError(
            "predict_ranks draws from counts: it needs a multinomial model with a score for each class and rows as "
            'they are, such as LinearNB("multinomial")'
        )
