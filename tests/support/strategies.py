"""Labelled rows drawn by hypothesis, and the same rows in every form that X and y may take.

Values are small integers and weights come from {1/4, 1/2, 1, 2}: every sum is exact in float64, so tests may
compare with `==` and a law fails because it is broken, never for rounding.
"""

from dataclasses import dataclass
from functools import partial

import dask.array as da
import numpy as np
import pandas as pd
import scipy.sparse as sp
import zarr
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.support.sums_by_rows import class_sums
from tests.support.zarr_stores import (
    FULL,
    anndata_group,
    anndata_root,
    csr_group,
    dense_array,
    write_arrays,
    write_labels,
)

MOMENTS = ("sum", "sum_sq", "nonzero", "above")
LABELS = {"int": [-1, 0, 7], "str": ["ash", "b", "willow"], "bool": [False, True]}

# ---------------------------------------------------------------------------------------------------- rows


@dataclass(frozen=True, eq=False)
class Rows:
    """Dense rows with their labels and weights: what every form of the data stands for."""

    x: np.ndarray
    y: np.ndarray
    w: np.ndarray

    def __len__(self):
        return len(self.y)

    def part(self, start, stop=None):
        where = slice(start, stop)
        return Rows(self.x[where], self.y[where], self.w[where])

    def split(self, sizes):
        stops = np.cumsum(sizes)
        return [self.part(stop - size, stop) for size, stop in zip(sizes, stops, strict=True)]


def example(kind="str", n_rows=41, n_features=9, seed=0):
    """Counts with every label, empty rows (first, last, in the middle) and an empty column."""
    rng = np.random.default_rng(seed)
    x = rng.integers(1, 4, (n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.4)
    x[[0, 1, n_rows // 2, n_rows - 2, n_rows - 1]] = 0
    x[:, 3] = 0
    y = np.array(LABELS[kind])[np.arange(n_rows) % len(LABELS[kind])]
    return Rows(x.astype(float), rng.permutation(y), rng.choice([0.25, 0.5, 1.0, 2.0], n_rows))


@st.composite
def labelled(draw, *, min_rows=1, max_rows=16, n_features=None, kind=None, low=0, high=3):
    kind = draw(st.sampled_from(list(LABELS))) if kind is None else kind
    n_rows = draw(st.integers(min_rows, max_rows))
    width = n_features or draw(st.integers(1, 5))
    x = draw(arrays(np.float64, (n_rows, width), elements=st.integers(low, high).map(float)))
    y = draw(st.lists(st.sampled_from(LABELS[kind]), min_size=n_rows, max_size=n_rows))
    w = draw(arrays(np.float64, n_rows, elements=st.sampled_from([0.25, 0.5, 1.0, 2.0])))
    return Rows(x, np.array(y), w)


@st.composite
def chunkings(draw, n_rows):
    """Sizes of chunks that add up to `n_rows`; some are 0."""
    cuts = draw(st.lists(st.integers(0, n_rows), max_size=5))
    return np.diff([0, *sorted(cuts), n_rows]).tolist()


def messy_csr(x, seed=0, index_dtype=np.int32):
    """`x` as CSR with unsorted indices, duplicates (some cancel to nothing) and explicit zeros."""
    rng = np.random.default_rng(seed)
    data, indices, indptr = [], [], [0]
    for row in x:
        entries = []
        for j in np.flatnonzero(row):
            part = float(rng.integers(-1, 3))
            entries += [(j, part), (j, row[j] - part)] if rng.random() < 0.4 else [(j, row[j])]
        if len(row) and rng.random() < 0.5:  # nothing here, said at length
            j = rng.integers(len(row))
            entries += [(j, 0.0), (j, 2.0), (j, -2.0)]
        order = rng.permutation(len(entries))
        indices += [entries[i][0] for i in order]
        data += [entries[i][1] for i in order]
        indptr.append(len(data))
    parts = np.array(data, float), np.array(indices, index_dtype), np.array(indptr, index_dtype)
    return sp.csr_array(parts, shape=x.shape)


# -------------------------------------------------------------------------------------- what must come out


def sums_of(rows, *, weighted=True, classes=None, **options):
    """Class sums by the definition, for `same_sums`."""
    classes = np.unique(rows.y) if classes is None else classes
    out = class_sums(rows.x.tolist(), rows.y.tolist(), classes, rows.w if weighted else None, **options)
    return {"classes": np.asarray(classes), **out}


def same_sums(stats, expected):
    """Whether statistics hold these sums, to the last bit."""
    return all(np.array_equal(getattr(stats, name), value) for name, value in expected.items())


def same_stats(a, b):
    """Whether two statistics are equal, to the last bit."""
    return (a.n_rows, a.n_features) == (b.n_rows, b.n_features) and same_sums(
        a, {name: getattr(b, name) for name in ("classes", "weight", *MOMENTS)}
    )


# -------------------------------------------------------------------------------------------------- forms

FORMS = {}  # name -> builder(rows, folder): the keyword arguments of `scan` and `fit`
SIZES = (7, 0, 16, 5, 13)  # chunks of `example()`, one of them empty


def passed(X, rows, **others):
    return {"X": X, "y": rows.y, "sample_weight": rows.w} | others


def form(name):
    """Register a builder of X alone, or of all keyword arguments."""

    def register(build):
        def complete(rows, folder):
            made = build(rows, folder)
            return made if type(made) is dict else passed(made, rows)

        FORMS[name] = complete
        return build

    return register


def read_only(x):
    x = x.copy()
    x.setflags(write=False)
    return x


class ArrayLike:
    """Something of the user's own that can be made an array."""

    def __init__(self, x):
        self.x = x

    def __array__(self, dtype=None, copy=None):
        return self.x.astype(dtype or self.x.dtype)


def mixed_frame(x):
    kinds = [np.int8, np.float32, np.int64, np.uint16, np.float64]
    return pd.DataFrame({f"f{j}": column.astype(kinds[j % 5]) for j, column in enumerate(x.T)})


def memory_map(rows, folder):
    np.save(folder / "x.npy", rows.x)
    return np.load(folder / "x.npy", mmap_mode="r")


DENSE = {
    "fortran order": np.asfortranarray,
    "strided": lambda x: np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3],
    "backwards": lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
    "big-endian": lambda x: x.astype(">f8"),
    "read-only": read_only,
    "objects": lambda x: x.astype(int).astype(object),
    "list of rows": lambda x: x.tolist(),
    "tuple of rows": lambda x: tuple(map(tuple, x.astype(int))),
    "list of arrays": list,
    "array-like": ArrayLike,
    "frame": pd.DataFrame,
    "mixed frame": mixed_frame,
}
for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"):
    form(f"numpy {kind}")(lambda rows, _, kind=kind: rows.x.astype(kind))
for name, make in DENSE.items():
    form(name)(lambda rows, _, make=make: make(rows.x))
form("memory map")(memory_map)


def int64_csr(x):
    x = sp.csr_array(x)
    return sp.csr_array((x.data, x.indices.astype(np.int64), x.indptr.astype(np.int64)), shape=x.shape)


def read_only_csr(x):
    x = messy_csr(x)
    for part in (x.data, x.indices, x.indptr):
        part.setflags(write=False)
    return x


SPARSE = {
    "csr int64": int64_csr,
    "csr read-only": read_only_csr,
    "csr messy": messy_csr,
    "csr messy int64": partial(messy_csr, seed=1, index_dtype=np.int64),
    "csr messy matrix": lambda x: sp.csr_matrix(messy_csr(x, seed=2)),
    "csr int8 values": lambda x: sp.csr_array(x.astype(np.int8)),
    "csr long double values": lambda x: sp.csr_array(x).astype(np.longdouble),
    "coo with duplicates": lambda x: messy_csr(x, seed=3).tocoo(),
}
for layout in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia"):
    for make in (getattr(sp, f"{layout}_array"), getattr(sp, f"{layout}_matrix")):
        form(make.__name__)(lambda rows, _, make=make: make(rows.x))
for name, make in SPARSE.items():
    form(name)(lambda rows, _, make=make: make(rows.x))


def as_dask(rows, blocks=None, known=True, sizes=SIZES):
    """Dask rows in chunks of the example's sizes; blocks made by `blocks`; lengths forgotten unless known."""
    X = da.from_array(rows.x, chunks=(sizes, -1))
    if not known:
        X = X.map_blocks(np.copy, chunks=((np.nan,) * len(sizes), X.chunks[1]))
    return X if blocks is None else X.map_blocks(blocks, meta=blocks(np.zeros((0, 0))))


def dask_columns(rows, known=True, sizes=SIZES):
    """Labels and weights in the same blocks."""
    columns = {"y": rows.y, "sample_weight": rows.w}
    return {name: as_dask(Rows(v[:, None], v, v), known=known, sizes=sizes)[:, 0] for name, v in columns.items()}


form("dask")(lambda rows, _: as_dask(rows))
form("dask, y and weights in other chunks")(
    lambda rows, _: passed(as_dask(rows), rows, **dask_columns(rows, sizes=(11, 30)))
)
form("dask csr array")(lambda rows, _: as_dask(rows, sp.csr_array))
form("dask csr matrix")(lambda rows, _: as_dask(rows, sp.csr_matrix))
form("dask csr messy")(lambda rows, _: as_dask(rows, messy_csr))
for name, blocks in {"dense": None, "csr": sp.csr_array}.items():
    for known in (True, False):
        form(f"dask {name} unknown, y {'known' if known else 'unknown too'}")(
            lambda rows, _, blocks=blocks, known=known: passed(
                as_dask(rows, blocks, known=False), rows, **dask_columns(rows, known)
            )
        )
form("dask int32 from zarr")(lambda rows, folder: da.from_zarr(dense_array(rows, folder, dtype=np.int32)))

ZARR_DENSE = {
    "v2": {"zarr_format": 2},
    "v3": {},
    "int16": {"dtype": np.int16},
    "odd chunks": {"chunks": (10, 4)},
    "sharded": {"chunks": (4, 3), "shards": (12, 9)},
    "one chunk": {"chunks": (100, 100)},
}
for name, options in ZARR_DENSE.items():
    form(f"zarr {name}")(lambda rows, folder, options=options: dense_array(rows, folder, **options))


@form("zarr, y in zarr")
def zarr_and_labels(rows, folder):
    beside = zarr.create_group(folder / "beside.zarr")
    return passed(dense_array(rows, folder), rows, y=write_labels(beside, "y", rows.y))


@form("zarr in memory")
def zarr_in_memory(rows, _):
    return zarr.create_array(zarr.storage.MemoryStore(), data=rows.x, chunks=(5, 5), config=FULL)


ZARR_CSR = {
    "v2": {"zarr_format": 2},
    "v3": {},
    "sharded": {"shards": (21,)},
    "chunks of one": {"chunk": 1},
    "one chunk": {"chunk": 10_000},
    "values int8": {"data": np.int8},
    "values float64": {"data": np.float64},
    "big-endian": {"zarr_format": 2, "data": ">f4", "indices": ">i4", "indptr": ">i8"},
}
for kind in ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"):
    ZARR_CSR[f"indices {kind}"] = {"indices": kind}
for kind in ("u2", "i4", "u4", "u8"):
    ZARR_CSR[f"indptr {kind}"] = {"indptr": kind}
for name, options in ZARR_CSR.items():
    form(f"zarr csr {name}")(lambda rows, folder, options=options: csr_group(rows, folder, **options))
form("zarr csr messy")(lambda rows, folder: csr_group(rows, folder, x=messy_csr(rows.x), chunk=3))
form("zarr csr, y by name")(lambda rows, folder: passed(csr_group(rows, folder), rows, y="y"))
form("zarr csr v2, y by name")(lambda rows, folder: passed(csr_group(rows, folder, zarr_format=2), rows, y="y"))
for version in (2, 3):
    form(f"anndata csr v{version}")(partial(anndata_group, zarr_format=version))
    for column in ("kind", "plain"):
        form(f"anndata root v{version}, {column} column")(
            lambda rows, folder, version=version, column=column: passed(
                anndata_root(rows, folder, version), rows, y=f"obs/{column}"
            )
        )
form("anndata root, dense X")(lambda rows, folder: passed(anndata_root(rows, folder, sparse=False), rows, y="obs/kind"))


@form("path to array")
def path_to_array(rows, folder):
    dense_array(rows, folder)
    return folder / "dense.zarr"


@form("path to group")
def path_to_group(rows, folder):
    csr_group(rows, folder)
    return passed(str(folder / "csr.zarr"), rows, y="y")


@form("path to group in a group")
def path_to_inner_group(rows, folder):
    write_arrays(zarr.create_group(folder / "outer.zarr").create_group("inner"), rows)
    return str(folder / "outer.zarr" / "inner")


@form("path to anndata")
def path_to_anndata(rows, folder):
    anndata_root(rows, folder)
    return passed(folder / "root.zarr", rows, y="obs/kind")


@form("url to group")
def url_to_group(rows, folder):
    csr_group(rows, folder)
    return passed(f"file://{folder / 'csr.zarr'}", rows, y="y")


def stream(rows, *parts, sizes=SIZES, blocks=None):
    """Chunks of the named parts, as tuples where there are several."""
    for chunk in rows.split(sizes):
        x = chunk.x if blocks is None else blocks(chunk.x)
        chosen = [x if part == "x" else getattr(chunk, part) for part in parts]
        yield chosen[0] if len(chosen) == 1 else tuple(chosen)


def alternating(x):
    return messy_csr(x) if len(x) % 2 else x.astype(np.float32)


OWN = {"y": None, "sample_weight": None}  # labels and weights come with the chunks
STREAMS = {"chunks of X": ("x", {}), "chunks of X, y": ("xy", OWN), "chunks of X, y, w": ("xyw", OWN)}
for name, (parts, own) in STREAMS.items():
    form(f"generator, {name}")(lambda rows, _, parts=parts, own=own: passed(stream(rows, *parts), rows, **own))
    form(f"callable, {name}")(lambda rows, _, parts=parts, own=own: passed(partial(stream, rows, *parts), rows, **own))
CHUNKS = {"csr": messy_csr, "csc": sp.csc_array, "mixed": alternating, "frame": pd.DataFrame}
for name, blocks in CHUNKS.items():
    form(f"{name} chunks")(lambda rows, _, blocks=blocks: passed(stream(rows, *"xyw", blocks=blocks), rows, **OWN))
form("iterator")(lambda rows, _: passed(iter(list(stream(rows, *"xyw"))), rows, **OWN))


def build(name, rows, folder):
    """Keyword arguments that hand `rows` to `scan` or `fit` in the form of that name."""
    folder.mkdir(parents=True, exist_ok=True)
    return FORMS[name](rows, folder)


def is_weighted(name):
    """Whether the form of that name carries the weights of the rows."""
    return not name.endswith("chunks of X, y")
