"""Opens X and y of any kind as a source of rows: the one entry point."""

import os
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import scipy.sparse as sp
import zarr
from zarr.abc.store import Store

from streamnb.core import messages, row_checks
from streamnb.core.csr import as_csr
from streamnb.core.messages import DataError
from streamnb.rows.boundary import as_matrix, check_not_delayed, columns_in, is_dask, is_stream, made_by
from streamnb.rows.files import is_hdf5, is_svmlight, pyarrow_for, unlike_zarr
from streamnb.rows.in_anndata import HDF5Matrix, HDF5Source, genes_by_name, named_frame, rows_of
from streamnb.rows.in_arrays import ArraySource, DaskSource, StreamSource, ZarrCSRSource, ZarrSource
from streamnb.rows.in_svmlight import SvmlightFile, SvmlightSource
from streamnb.rows.labels import TARGETS, Labelled, open_columns, whole, y_check
from streamnb.rows.source import PreparedSource, Source
from streamnb.rows.table_opening import as_table
from streamnb.rows.tables import check_names
from streamnb.rows.zarr_reading import FEATURE_NAMES, check_filled, check_layout, member_of, open_csr, with_retries

# ---- what X is -------------------------------------------------------------------------------------------------------


def with_labels(X: Any, y: Any) -> tuple[Any, Any]:
    """X and y; if y names a column of a data frame or Arrow table X, that column, and X without it.

    What is a table only because y names one of its columns is one from here on; see `as_table`.
    """
    return with_column(as_table(X, isinstance(y, str)), y, "y")


def with_weights(X: Any, weight: Any) -> tuple[Any, Any]:
    """X and sample_weight; if it names a column of a data frame or Arrow table X, that column, and X without it."""
    return with_column(X, weight, "sample_weight")


def without_columns(X: Any, beside: Iterable[Any]) -> tuple[Any, dict[str, Any]]:
    """A data frame or Arrow table X without those columns beside its features that are named, and these by name."""
    taken: dict[str, Any] = {}
    for name in beside:
        if isinstance(name, str) and name in (columns_in(X) or ()):
            X, taken[name] = with_column(X, name, "groups")
    return X, taken


def with_column(X: Any, column: Any, argument: str) -> tuple[Any, Any]:
    """X and a column; if that is the name of one of a data frame or Arrow table X, its values, and X without it."""
    in_arrow = made_by(X, "pyarrow") or made_by(X, "polars")
    names = columns_in(X) if in_arrow or hasattr(X, "iloc") else None
    if not isinstance(column, str) or names is None:
        return X, column
    here = [name == column for name in names]
    if sum(here) != 1:
        what = "is the name of several columns" if any(here) else "is not a column"
        raise ValueError(f"{argument}={column!r} {what} of X: {messages.listed(names)}")
    if in_arrow:
        pa = pyarrow_for("a table")
        X = pa.table(X)
        if pa.types.is_nested(X[column].type):
            raise row_checks.lists_of_labels(argument)
        return X.drop_columns([column]), X[column].to_numpy()
    return X.drop(columns=[column]), X[column]


def is_anndata(X: Any) -> bool:
    """Whether X is an AnnData object or Zarr root, or the path of an HDF5 file, which must then be AnnData."""
    if isinstance(X, zarr.Group):
        return X.attrs.get("encoding-type") == "anndata"
    return (made_by(X, "anndata") and hasattr(X, "obs")) or is_hdf5(X)


def resolve(X: Any, layer: str | None = None) -> tuple[Any, Any, Any]:
    """Open paths; return the holder of the rows, of the columns that `y` may name, and of the feature names."""
    if is_svmlight(X):
        X = SvmlightFile(X)
    elif isinstance(X, (str, os.PathLike, Store)) and not is_anndata(X):
        X = _open_path(X if isinstance(X, Store) else os.fspath(X))
    if is_anndata(X):
        return rows_of(X, layer)
    group = X if isinstance(X, zarr.Group) else None
    matrix = None if group is None or "encoding-type" in group.attrs else member_of(group, "X")
    X = X if matrix is None else matrix  # as xarray writes it
    return X, group, _names_holder(X)


def _group_around(path: Any) -> Any:
    """The Zarr group that holds the array at a path, in which columns may be named; None if there is none."""
    try:
        return zarr.open_group(os.path.dirname(os.fspath(path)), mode="r")
    except (OSError, ValueError):
        return None


def check_layer(X: Any, layer: str) -> None:
    """Refuse `layer` if X cannot have layers."""
    if not (is_anndata(X) or isinstance(X, (str, os.PathLike, Store))):
        raise ValueError(
            f"layer={layer!r} is only for AnnData, its files and stores, and X is of type {type(X).__name__}"
        )


def _open_path(path: Any) -> Any:
    try:
        return with_retries(partial(zarr.open, path, mode="r"), path)
    except Exception as error:  # missing files, broken metadata, stores that refuse access
        what = unlike_zarr(path) or f"cannot be opened as a Zarr array or group: {error}"
        raise DataError(f"X={path!s} {what}") from error


def _shaped(X: Any, y: Any, weight: Any, labelled: Labelled, group: Any) -> Source:
    """Open rows whose number is known and that bring nothing of their own: in HDF5, Zarr or memory."""
    kind: Any = HDF5Source
    if isinstance(X, zarr.Group):
        X, kind = open_csr(X), ZarrCSRSource
    elif isinstance(X, zarr.Array):
        if X.ndim != 2 or X.dtype.kind not in "buif":
            raise ValueError(f"X: array {X.path!r} has shape {X.shape} and dtype {X.dtype}; it should be 2-D numbers")
        X, kind = check_filled(check_layout(X), "X"), ZarrSource
    elif not isinstance(X, HDF5Matrix):
        X, kind = as_csr(X, "X") if sp.issparse(X) else as_matrix(X), ArraySource
    row_checks.check_min_size(*X.shape)
    return kind(X, open_columns(y, weight, X.shape[0], labelled, group))


def opened(
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    labelled: Labelled = True,
    look: Callable[[Any], None] | None = None,
    layer: str | None = None,
    names: Any = None,
    beside: Iterable[Any] = (),
) -> Source:
    """Open rows of any kind with their labels and weights; everything that reads rows calls this.

    Parameters
    ----------
    X : (n_rows, n_features)
        Anything that `scan` accepts; an open source is returned.
    y, sample_weight : (n_rows,), optional
        Arrays, or names of arrays beside X.
    labelled : bool or "targets"
        Whether y is required; "targets" if it holds numbers to predict.
    look : callable, optional
        Called before any value is read, with an object that has the names or the number of columns, or None.
    layer : str, optional
        The layer of AnnData to read in place of its X.
    names : (n_features,) str, optional
        Names of the fitted columns, by which those of AnnData are matched.
    beside : list, optional
        Groups and folds: those that name a column of a table are no features of it.

    Raises
    ------
    ValueError, TypeError
        X does not hold rows, or y or sample_weight have another length.
    DataError
        A store cannot be opened, or its layout is wrong.
    """
    if isinstance(X, Source):  # already open
        targets = labelled == TARGETS
        if not X.opened_by_user:
            y = sample_weight = None
        if targets or y is not None or sample_weight is not None:
            X = X.with_columns(y, sample_weight, targets=targets)
        if look is not None:
            look(X.given if X.feature_names is None else X)
        return X
    check_not_delayed(X=X, y=y, sample_weight=sample_weight)
    label = y if isinstance(y, str) and hasattr(X, "iloc") else None
    X, y = with_labels(X, y)
    X, sample_weight = with_weights(X, sample_weight)
    X, taken = without_columns(X, beside)
    where = f"X={os.fspath(X)!r}" if isinstance(X, str | os.PathLike) else "X"
    rows, group, given = resolve(X, layer)
    if group is None and isinstance(rows, zarr.Array) and isinstance(X, str | os.PathLike):
        named = isinstance(y, str) or isinstance(sample_weight, str)
        group = _group_around(X) if named else None
    columns = columns_in(given)
    if columns is not None:
        check_names([str(name) for name in columns], where)
    matched = None
    if names is not None and columns is not None and (hasattr(group, "column") or is_anndata(group)):
        matched = genes_by_name(columns, names)
        given = named_frame(names)
        rows = matched.lazily(rows) if is_dask(rows) else rows
    if hasattr(group, "column"):  # AnnData in memory or in HDF5
        y, sample_weight = (
            group.column(part, name) if isinstance(part, str) else part
            for name, part in (("y", y), ("sample_weight", sample_weight))
        )
    if look is not None:
        look(given)
    in_dask, in_svmlight = is_dask(rows), isinstance(rows, SvmlightFile)
    in_stream = not in_dask and is_stream(rows)
    if labelled and y is None and not in_stream and not in_svmlight:
        y_check(labelled)(y)
    if in_dask:
        source: Source = DaskSource(rows, {"y": y, "sample_weight": sample_weight}, y_check(labelled))
    elif in_stream:
        source = StreamSource(rows, open_columns(y, sample_weight, None, labelled))
    elif in_svmlight:
        source = SvmlightSource(rows, open_columns(y, sample_weight, rows.n_rows, labelled), y is None)
    else:
        source = _shaped(rows, y, sample_weight, labelled, group)
    if matched is not None and not source.lazy and not matched.in_place:
        source = PreparedSource(source, matched, len(matched.places), "genes by name")
    if hasattr(given, "columns") and source.n_features not in (None, given.shape[1]):
        raise DataError(f"X has {source.n_features} features, but {given.shape[1]} names of features; write it again")
    source.group, source.given, source.label = group, given, label
    source.label_names, source.beside = row_checks.names_of_labels(y), taken
    return source


def _names_holder(X: Any) -> Any:
    """An object with the names or the number of columns, None if there is none; a Dask frame gives its empty frame."""
    if isinstance(X, zarr.Group):
        names = member_of(X, FEATURE_NAMES) if "streamnb" in X.attrs else None
        return named_frame(whole(names)) if isinstance(names, zarr.Array) else None
    if is_dask(X):
        return X._meta if hasattr(X, "columns") else None
    return X if len(getattr(X, "shape", ())) == 2 else None
