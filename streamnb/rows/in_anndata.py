"""Rows of AnnData objects and files: the layer to read, columns of `obs`, and feature names."""

from typing import Any

import numpy as np
import zarr

from streamnb.core.messages import DataError
from streamnb.rows.csr_store import member_of
from streamnb.rows.files import is_hdf5
from streamnb.rows.in_hdf5 import HDF5Matrix, opened_hdf5
from streamnb.rows.labels import of_codes, whole
from streamnb.rows.matrices import made_by


def is_anndata(X: Any) -> bool:
    """Whether X is an AnnData object or Zarr root, or the path of an HDF5 file, which must then be AnnData."""
    if isinstance(X, zarr.Group):
        return X.attrs.get("encoding-type") == "anndata"
    return (made_by(X, "anndata") and hasattr(X, "obs")) or is_hdf5(X)


def rows_of(X: Any, layer: str | None) -> tuple[Any, Any, Any]:
    """The matrix, the holder of the columns of `obs`, and an empty frame with the feature names."""
    if isinstance(X, zarr.Group):
        names = list((member_of(X, "layers") or {}).keys()) if layer is not None else []
        _check_layer(layer, names)
        rows = member_of(X, "X" if layer is None else f"layers/{layer}")
        if rows is None:
            raise ValueError(f"X: the AnnData root in {X.store} has no member X; its rows may be in a layer: layer=..")
        return rows, X, named_frame(_zarr_names(X))
    return _of_file(X, layer) if is_hdf5(X) else _of_object(X, layer)


def _of_object(adata: Any, layer: str | None) -> tuple[Any, Any, Any]:
    _check_layer(layer, [*adata.layers])
    if layer is not None:
        rows = adata.layers[layer]
    elif getattr(adata, "isbacked", False):
        if adata.is_view:
            raise TypeError(
                "X is a view of a backed AnnData object; take X.to_memory(), or copy it to a file of its own"
            )
        rows = HDF5Matrix(adata.filename, "X")
    else:
        rows = adata.X
    if rows is None:
        raise ValueError(f"X has no values in X, but the layers {[*adata.layers]}; name one: layer=..")
    return rows, ObsColumns(adata.obs), named_frame(np.asarray(adata.var_names, object))


def _of_file(path: Any, layer: str | None) -> tuple[Any, Any, Any]:
    with opened_hdf5(path) as file:
        if "obs" not in file or "var" not in file:
            raise DataError(
                f"X={str(path)!r} is an HDF5 file, but none of AnnData: it has the members {sorted(file)}; pass one of "
                "its datasets, read by h5py: h5py.File(path)['..'][:]"
            )
        _check_layer(layer, [*file.get("layers", ())])
        if layer is None and "X" not in file:
            raise ValueError(
                f"X={str(path)!r} has no X, but the layers {[*file.get('layers', ())]}; name one: layer=.."
            )
        names = named_frame(_index(file["var"]))
    return HDF5Matrix(path, "X" if layer is None else f"layers/{layer}"), FileColumns(path), names


def _check_layer(layer: str | None, names: list[str]) -> None:
    if layer is not None and layer not in names:
        raise ValueError(f"layer={layer!r} is none of the layers of X, which are: {sorted(names) or 'none'}")


class ObsColumns:
    """Columns of `obs` of an AnnData object by name, with or without "obs/" before it."""

    def __init__(self, obs: Any):
        self._obs = obs

    def column(self, path: str, name: str) -> Any:
        key = path.removeprefix("obs/")
        if key not in self._obs.columns:
            raise_missing(path, name, self._obs.columns.tolist())
        return self._obs[key]


class FileColumns:
    """Columns of `obs` of an .h5ad file by name, with or without "obs/" before it."""

    def __init__(self, path: Any):
        self._path = path

    def column(self, path: str, name: str) -> "FileColumn":
        key = path.removeprefix("obs/")
        with opened_hdf5(self._path) as file:
            obs = file["obs"]
            names = [each for each in obs if each not in ("_index", "__categories", obs.attrs.get("_index"))]
            if key not in names:
                raise_missing(path, name, names)
            return FileColumn(self._path, f"obs/{key}", file, name)


class FileColumn:
    """A column in an HDF5 file, read along with the rows."""

    arrays: tuple[zarr.Array, ...] = ()

    def __init__(self, path: Any, key: str, file: Any, name: str):
        self._path, self._key, member = path, key, file[key]
        self._kind = str(member.attrs.get("encoding-type")) if hasattr(member, "keys") else ""
        if self._kind not in ("", "categorical") and not self._kind.startswith("nullable-"):
            raise ValueError(f"{name}: {member.name!r} of encoding-type {self._kind!r} is not a column of labels")
        self._categories = _plain(member["categories"]) if self._kind == "categorical" else None
        held = member if not self._kind else member["values" if self._categories is None else "codes"]
        self.n_rows = held.shape[0]

    def cut(self, start: int, stop: int) -> "FileColumn":
        return self

    def reader(self, start: int, readers: Any = None) -> Any:
        return lambda start, stop: lambda: self.values(start, stop)

    def values(self, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Values of the rows in [start, stop), None where they are missing."""
        some = slice(start, stop)
        with opened_hdf5(self._path) as file:
            member = file[self._key]
            if not self._kind:
                return _plain(member, some)
            if self._categories is None:
                found, missing = _plain(member["values"], some), member["mask"][some].astype(bool)
            else:
                found, missing = of_codes(member["codes"][some], self._categories)
        if missing.any():
            found = found.astype(object)
            found[missing] = None
        return found


def raise_missing(path: str, name: str, names: list[str]) -> None:
    """Raise an error that lists the existing columns."""
    raise ValueError(f"{name}={path!r} is not in obs of X, which has the columns: {', '.join(sorted(names)) or 'none'}")


def _plain(dataset: Any, some: slice = slice(None)) -> np.ndarray:
    """Values of a dataset, or of a group with a mask that hides none of them; strings become an array of strings."""
    dataset = dataset["values"] if hasattr(dataset, "keys") else dataset  # as pandas 3 has names
    return dataset.asstr()[some].astype(str) if dataset.dtype.kind == "O" else dataset[some]


def _index(frame: Any) -> np.ndarray:
    return _plain(frame[frame.attrs.get("_index", "_index")])


def _zarr_names(root: zarr.Group) -> np.ndarray | None:
    frame: Any = member_of(root, "var")
    index = None if frame is None else member_of(frame, str(frame.attrs.get("_index", "_index")))
    index = member_of(index, "values") if isinstance(index, zarr.Group) else index  # as pandas 3 has names
    return whole(index).astype(object) if isinstance(index, zarr.Array) and index.ndim == 1 else None


def named_frame(names: np.ndarray | None) -> Any:
    """An empty data frame with these column names; None without names or without pandas."""
    try:
        from pandas import DataFrame
    except ImportError:
        return None
    return None if names is None else DataFrame(columns=np.asarray(names, object))
