"""Rows of AnnData: the layer to read, columns of `obs` and feature names; the rows of .h5ad files, block by block."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import zarr

from streamnb.core.messages import DataError, listed, warn
from streamnb.core.stored_files import StoredFile, is_url
from streamnb.rows import row_blocks
from streamnb.rows.boundary import made_by
from streamnb.rows.files import in_blocks, is_hdf5, stored
from streamnb.rows.labels import Column, MaskedColumn, RowColumns, whole
from streamnb.rows.source import Source
from streamnb.rows.zarr_reading import member_of, timed

RAW = "raw"
HDF5_BYTES = 1 << 18  # of a request to an object store: structures are read from many places


def rows_of(X: Any, layer: str | None) -> tuple[Any, Any, Any]:
    """The matrix, the holder of the columns of `obs`, and an empty frame with the feature names."""
    if isinstance(X, zarr.Group):
        names = list((member_of(X, "layers") or {}).keys()) if layer is not None else []
        of_raw = _check_layer(layer, names, isinstance(member_of(X, RAW), zarr.Group))
        rows = member_of(X, _place(layer, of_raw))
        if rows is None:
            raise ValueError(f"X: the AnnData root in {X.store} has no member X; its rows may be in a layer: layer=..")
        frame: Any = member_of(X, f"{RAW}/var" if of_raw else "var")
        index = None if frame is None else member_of(frame, str(frame.attrs.get("_index", "_index")))
        index = member_of(index, "values") if isinstance(index, zarr.Group) else index  # as pandas 3 has names
        known = whole(index) if isinstance(index, zarr.Array) and index.ndim == 1 else None
        return rows, X, named_frame(known)
    return _of_file(X, layer) if is_hdf5(X) else _of_object(X, layer)


def _of_object(adata: Any, layer: str | None) -> tuple[Any, Any, Any]:
    layers = [name for name in adata.layers if name is not None]  # None is X in anndata 0.13
    of_raw, backed = _check_layer(layer, layers, adata.raw is not None), getattr(adata, "isbacked", False)
    if layer is not None and not of_raw:
        rows = adata.layers[layer]
    elif backed:
        if adata.is_view:
            raise TypeError(
                "X is a view of a backed AnnData object; use X.to_memory(), or copy it to a file of its own"
            )
        rows = HDF5Matrix(adata.filename, _place(layer, of_raw))
    else:
        rows = adata.raw.X if of_raw else adata.X
    if rows is None:
        raise ValueError(f"X has no values in X, but the layers {layers}; name one: layer=..")
    names = adata.raw.var_names if of_raw else adata.var_names
    return rows, ObsColumns(adata.obs), named_frame(np.asarray(names, object))


def _of_file(path: Any, layer: str | None) -> tuple[Any, Any, Any]:
    with opened_hdf5(path) as file:
        if "obs" not in file or "var" not in file:
            raise DataError(
                f"X={str(path)!r} is an HDF5 file, but not of AnnData: it has the members {sorted(file)}; read one of "
                "its datasets with h5py: h5py.File(path)['..'][:]"
            )
        of_raw = _check_layer(layer, [*file.get("layers", ())], hasattr(file.get(RAW), "keys"))
        if layer is None and "X" not in file:
            raise ValueError(
                f"X={str(path)!r} has no X, but the layers {[*file.get('layers', ())]}; name one: layer=.."
            )
        frame = file[f"{RAW}/var" if of_raw else "var"]
        names = named_frame(_plain(frame[frame.attrs.get("_index", "_index")]))
    return HDF5Matrix(path, _place(layer, of_raw)), ObsColumns(path), names


def _check_layer(layer: str | None, names: list[str], has_raw: bool) -> bool:
    """Whether the layer is `raw` of AnnData, which has genes of its own; raise where there is no such layer."""
    if layer is None or layer in names:
        return False
    if layer == RAW and has_raw:
        return True
    raise ValueError(
        f"layer={layer!r} is not a layer of X, which has: {sorted(names) or 'none'}; without layer=, X itself is read"
    )


def _place(layer: str | None, of_raw: bool) -> str:
    """Where the values are in a file."""
    return "X" if layer is None else f"{RAW}/X" if of_raw else f"layers/{layer}"


class ObsColumns:
    """Columns of `obs`, a data frame or that of an .h5ad file, by name, with or without "obs/" before it."""

    def __init__(self, obs: Any):
        self._obs = obs  # the frame, or the path

    def column(self, path: str, name: str) -> Any:
        key = path.removeprefix("obs/")
        if hasattr(self._obs, "columns"):
            names = self._obs.columns.tolist()
            if key in names:
                return self._obs[key]
        else:
            with opened_hdf5(self._obs) as file:
                obs = file["obs"]
                names = [each for each in obs if each not in ("_index", "__categories", obs.attrs.get("_index"))]
                if key in names:
                    return _column_of_file(self._obs, obs[key], name)
        known = ", ".join(sorted(names)) or "none"
        raise ValueError(f"{name}={path!r} is not in obs of X, which has the columns: {known}")


def _in_dataset(path: Any, dataset: Any) -> Column:
    """A column in a dataset of an HDF5 file, read along with the rows."""
    return Column(dataset.shape[0], partial(_from_dataset, path, dataset.name))


def _from_dataset(path: Any, key: str, start: int, readers: Any) -> Any:
    return lambda start, stop: partial(_read_dataset, path, key, slice(start, stop))


def _read_dataset(path: Any, key: str, rows: slice) -> np.ndarray:
    with opened_hdf5(path) as file:
        return _plain(file[key], rows)


def _column_of_file(path: Any, member: Any, name: str) -> Column:
    """A column of `obs` in an HDF5 file: a dataset, or a group of categories or with a mask."""
    kind = str(member.attrs.get("encoding-type")) if hasattr(member, "keys") else ""
    if not kind:
        return _in_dataset(path, member)
    if kind == "categorical":
        return MaskedColumn(name, _in_dataset(path, member["codes"]), categories=_plain(member["categories"]))
    if kind.startswith("nullable-"):
        return MaskedColumn(name, _in_dataset(path, member["values"]), _in_dataset(path, member["mask"]))
    raise ValueError(f"{name}: {member.name!r} of encoding-type {kind!r} is not a column of labels")


def write_uns(adata: Any, key: str, value: Any) -> None:
    """Write into `uns` of an AnnData object, or of an .h5ad file or a Zarr store given by its path."""
    if made_by(adata, "anndata") and hasattr(adata, "uns"):
        adata.uns[key] = value
        return
    if not is_hdf5(adata) and not isinstance(adata, str | Path):
        raise TypeError(
            f"adata is of type {type(adata).__name__}; it should be an AnnData object, or the path of an .h5ad file or "
            "of a Zarr store"
        )
    if is_hdf5(adata):
        with opened_hdf5(adata, "r+") as file:
            _write(file, str(adata), key, value)
        return
    consolidated = zarr.open_group(adata, mode="r").metadata.consolidated_metadata is not None
    root = zarr.open_group(adata, mode="r+", use_consolidated=False)
    _write(root, str(adata), key, value)
    if consolidated:
        zarr.consolidate_metadata(root.store)


def _write(root: Any, path: str, key: str, value: Any) -> None:
    from anndata.io import write_elem

    if root.attrs.get("encoding-type") != "anndata":
        raise ValueError(f"adata={path!r} holds no AnnData: the encoding-type of its root is not 'anndata'")
    if "uns" not in root:
        write_elem(root, "uns", {})
    write_elem(root["uns"], key, value)


def _plain(dataset: Any, some: slice = slice(None)) -> np.ndarray:
    """Values of a dataset, or of a group with a mask that hides none of them; strings become an array of strings."""
    dataset = dataset["values"] if hasattr(dataset, "keys") else dataset  # as pandas 3 has names
    return dataset.asstr()[some].astype(str) if dataset.dtype.kind == "O" else dataset[some]


def named_frame(names: np.ndarray | None) -> Any:
    """An empty data frame with these column names; None without names or without pandas."""
    try:
        from pandas import DataFrame
    except ImportError:
        return None
    return None if names is None else DataFrame(columns=np.asarray(names, object))


# ---- genes by name ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GenesByName:
    """Puts the columns of cells in the order of the fitted genes; a gene that the cells lack is 0.

    `places` has the column of each fitted gene among `n_given`, -1 for none.
    """

    places: np.ndarray
    n_given: int

    @property
    def in_place(self) -> bool:
        """Whether the columns are those of the fit already."""
        return np.array_equal(self.places, np.arange(self.n_given))

    def __call__(self, chunk: Any) -> Any:
        return self.picked(chunk.to_matrix())

    def picked(self, X: Any) -> Any:
        """The columns of the fitted genes, (n_rows, n_features), CSR or dense as X is."""
        known = np.flatnonzero(self.places >= 0)
        if not sp.issparse(X):
            out = np.zeros((X.shape[0], len(self.places)), X.dtype)
            out[:, known] = X[:, self.places[known]]
            return out
        ones = np.ones(len(known), X.dtype)
        out = sp.csr_array(X @ sp.csr_array((ones, (self.places[known], known)), (self.n_given, len(self.places))))
        out.sort_indices()
        return out

    def lazily(self, X: Any) -> Any:
        """The same of a Dask array."""
        X = X.rechunk({1: -1})
        return X.map_blocks(self.picked, chunks=(X.chunks[0], (len(self.places),)), dtype=X.dtype, meta=X._meta)


def genes_by_name(given: Any, fitted: Any) -> GenesByName:
    """How columns with these names become those of the fitted genes; warns of genes that are lacking."""
    places = {str(name): place for place, name in enumerate(given)}
    fitted = [str(name) for name in fitted]
    lacking = [name for name in fitted if name not in places]
    n_known = len(fitted) - len(lacking)
    if 2 * n_known < len(fitted):
        raise ValueError(
            f"X has {n_known:,} of the {len(fitted):,} genes that the model was fitted on, which is fewer than half: "
            f"{listed(lacking)} are not among its var_names, {listed(given)}; name "
            "genes as in the fit, by symbols or by identifiers"
        )
    if lacking:
        warn(
            f"X lacks {len(lacking):,} of the {len(fitted):,} genes that the model was fitted on, such as "
            f"{lacking[0]!r}; they count as 0"
        )
    return GenesByName(np.array([places.get(name, -1) for name in fitted]), len(places))


# ---- rows in HDF5 ----------------------------------------------------------------------------------------------------


def opened_hdf5(path: Any, mode: str = "r", expected: StoredFile | None = None) -> Any:
    """Open an HDF5 file, by default for reading; a context manager."""
    try:
        import h5py
    except ImportError as error:
        raise ImportError(
            f"X={str(path)!r} is an HDF5 file, which h5py reads: pip install streamnb[cells], or pip install h5py"
        ) from error
    try:
        here = in_blocks(path, expected, HDF5_BYTES) if is_url(path) and mode == "r" else path
        return h5py.File(here, mode)
    except OSError as error:
        raise DataError(f"X={str(path)!r} cannot be opened as HDF5: {error}") from error


class HDF5Matrix:
    """A matrix in an HDF5 file, a dataset or a CSR group of AnnData; opening it reads only the shape."""

    ndim = 2

    def __init__(self, path: Any, key: str):
        self.path, self.key, self.stored = str(path), key, stored(path)
        with opened_hdf5(path) as file:
            member = file[key]
            self.sparse = hasattr(member, "keys")
            where = f"X: {key!r} in {str(path)!r}"
            if self.sparse:
                kind = member.attrs.get("encoding-type")
                if kind != "csr_matrix":
                    raise ValueError(
                        f"{where} is of encoding-type {kind!r}; rows are read from 'csr_matrix' or from a dense array: "
                        "adata.X = adata.X.tocsr(), and write the file again"
                    )
                lacking = [name for name in ("data", "indices", "indptr") if name not in member]
                if lacking:
                    raise DataError(f"{where} lacks {lacking} of the CSR layout of AnnData; write the file again")
                self.shape = tuple(int(n) for n in member.attrs["shape"])
                self.dtype, self.n_values = member["data"].dtype, member["data"].shape[0]
                self.nbytes = self.n_values * (self.dtype.itemsize + member["indices"].dtype.itemsize)
                if member["indptr"].shape[0] != self.shape[0] + 1 or member["indices"].shape[0] != self.n_values:
                    raise DataError(f"{where} has data, indices and indptr of inconsistent lengths")
            else:
                self.shape, self.dtype = member.shape, member.dtype
                self.n_values, self.nbytes = int(member.size), int(member.nbytes)
        if len(self.shape) != 2 or self.dtype.kind not in "buif":
            raise ValueError(f"{where} has shape {self.shape} and dtype {self.dtype}; it should be 2-D numbers")


class HDF5Source(Source):
    """Rows of a matrix in an HDF5 file."""

    def __init__(self, matrix: HDF5Matrix, columns: RowColumns):
        super().__init__(columns)
        self._matrix = matrix
        self.n_rows, self.n_features = matrix.shape
        self.files = (matrix.stored[:2],)
        self.n_values, self.nbytes = matrix.n_values, matrix.nbytes

    def layout(self) -> dict[str, str]:
        return {"X": f"{self._matrix.key} in HDF5, {self._matrix.dtype} with {self.n_values} values"}

    def pieces(self, start: int, stop: int) -> Iterator[tuple[int, int, Any]]:
        with opened_hdf5(self._matrix.path, expected=self._matrix.stored) as file:
            read = _csr_rows if self._matrix.sparse else _dense_rows
            yield from timed(read(file[self._matrix.key], start, stop), self.reading)


def _dense_rows(values: Any, start: int, stop: int) -> Iterator[tuple[int, int, Any]]:
    """Yield dense rows in batches: the first row, the end row and the values."""
    step = row_blocks.rows_of_block(values.dtype.itemsize * values.shape[1])
    for row in range(start, stop, step):
        until = min(row + step, stop)
        yield row, until, _read(values, row, until)


def _csr_rows(group: Any, start: int, stop: int) -> Iterator[tuple[int, int, Any]]:
    """Yield sparse rows like `_dense_rows`."""
    data, indices, indptr = (group[name] for name in ("data", "indices", "indptr"))
    most = max(row_blocks.BLOCK_BYTES // (data.dtype.itemsize + indices.dtype.itemsize), 1)
    row, ends = start, np.empty(0, np.int64)
    while row < stop:
        if len(ends) < 2:
            ends = _read(indptr, row, min(row + row_blocks.BLOCK_ROWS, stop) + 1).astype(np.int64)
            if ends[0] < 0 or (np.diff(ends) < 0).any() or ends[-1] > data.shape[0]:
                raise DataError(f"X: indptr in {group.name!r} of {group.file.filename!r} decreases near row {row}")
        n_rows = max(int(np.searchsorted(ends, ends[0] + most, side="right")) - 1, 1)
        arrays = [_read(part, int(ends[0]), int(ends[n_rows])) for part in (data, indices)]
        yield row, row + n_rows, (*arrays, ends[: n_rows + 1], int(group.attrs["shape"][1]))
        row, ends = row + n_rows, ends[n_rows:]


def _read(dataset: Any, start: int, stop: int) -> np.ndarray:
    try:
        return dataset[start:stop]
    except OSError as error:
        raise DataError(
            f"X: {dataset.name!r} in {dataset.file.filename!r} cannot be read from {start} to {stop} ({error}); copy "
            "or write the file again"
        ) from error
