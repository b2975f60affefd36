"""Stores and files with a few things changed at random, and what must come of reading them.

Whatever is read either is refused, in words that name what is wrong, or gives what a plain reader sees. Strategies of
hypothesis, so that tests draw some cases, and `make fuzz` as many as it has time for.
"""

import atexit
import json
import math
import re
import shutil
import tempfile
import warnings
from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np
import zarr
from hypothesis import strategies as st

import streamnb as snb
from tests.support.strategies import example
from tests.support.zarr_stores import anndata_root, csr_group, dense_array

ROWS = example("int")
REFUSALS = (ValueError, TypeError, MemoryError)  # DataError is a ValueError
DATA = "X|y|sample_weight|classes|array|group|chunk|metadata|encoding|labels?|columns?|rows?|out"
OPTIONS = "binarize|folds|moments|n_threads|normalize|transform"
NAMED = re.compile(rf"\b({DATA}|{OPTIONS})\b")
MOST = 10**6  # elements that a plain reader reads

NUMBERS = [-(2**63), -1, 0, 1, 2, 3, 6, 7, 9, 41, 42, 255, 2**31, 2**32 - 1, 2**53 + 1, 2**63 - 1, 2**63, 2**64, 10**18]
DTYPES = ["int8", "uint8", "int32", "uint64", "int64", "float16", "float32", "float64", "bool", "complex128", "string"]
VALUES = st.one_of(
    st.sampled_from(NUMBERS),
    st.sampled_from([*DTYPES, "<i8", ">i8", "|O", "<U3", "", "NaN", "Infinity", "csr_matrix", "csc_matrix", "0.1.0"]),
    st.sampled_from([None, True, False, 0.5, 1e300, [], {}, [[]], [1], [-1], [0], [41, 9], [10**18], [41, 2**40]]),
)

STORES = {
    "csr": lambda folder: csr_group(ROWS, folder),
    "csr v2": lambda folder: csr_group(ROWS, folder, 2),
    "csr sharded": lambda folder: csr_group(ROWS, folder, shards=(21,)),
    "csr small": lambda folder: csr_group(ROWS, folder, indices=np.uint16, indptr=np.uint32, data=np.int8),
    "write_csr": lambda folder: snb.write_csr(folder / "csr.zarr", [(ROWS.x, ROWS.y)], n_features=9),
    "dense": lambda folder: dense_array(ROWS, folder),
    "dense v2": lambda folder: dense_array(ROWS, folder, 2, chunks=(8, 4)),
    "dense sharded": lambda folder: dense_array(ROWS, folder, shards=(14, 9)),
    "anndata": lambda folder: anndata_root(ROWS, folder),
}


@cache
def _whole(name):
    """A folder with the store as it should be; it is copied for each case, and removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="streamnb-hostile-"))
    atexit.register(shutil.rmtree, folder)
    STORES[name](folder)
    return folder


def _nodes(tree, path=()):
    """The paths of all nodes of a JSON document."""
    yield path
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
        yield from _nodes(value, (*path, key))


def change_json(draw, text):
    """The document with one node replaced or taken out."""
    tree = json.loads(text)
    if not tree:
        return json.dumps(draw(VALUES))
    *above, last = draw(st.sampled_from([path for path in _nodes(tree) if path]))
    parent = tree
    for key in above:
        parent = parent[key]
    if draw(st.integers(0, 3)):
        parent[last] = draw(VALUES)
    else:
        del parent[last]
    return json.dumps(tree)


def change_bytes(draw, content, others):
    """The bytes cut, with a few of them changed, with more behind, or those of another chunk."""
    how = draw(st.sampled_from(["cut", "flip", "longer", "noise", "other"]))
    at = draw(st.integers(0, max(len(content) - 1, 0)))
    if how == "cut":
        return content[:at]
    if how == "flip":
        return content[:at] + bytes([content[at] ^ draw(st.integers(1, 255))]) + content[at + 1 :] if content else b"?"
    if how == "longer":
        return content + draw(st.binary(min_size=1, max_size=40))
    if how == "noise":
        return content[:at] + draw(st.binary(max_size=40)) + content[at + 40 :]
    return draw(st.sampled_from(others)).read_bytes()


def _spoil(draw, folder):
    """Change one file of a store."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    metadata = [path for path in files if path.name.startswith(".z") or path.name == "zarr.json"]
    chunks = [path for path in files if path not in metadata]
    if draw(st.booleans()) or not chunks:
        path = draw(st.sampled_from(metadata))
        path.write_text(change_json(draw, path.read_text()))
        return
    path = draw(st.sampled_from(chunks))
    if draw(st.integers(0, 5)):
        path.write_bytes(change_bytes(draw, path.read_bytes(), chunks))
    else:
        path.unlink()


@st.composite
def spoiled_stores(draw, name):
    """What to pass as X and y: a store in which a few files were changed. The caller removes the folder."""
    folder = Path(tempfile.mkdtemp(prefix="streamnb-hostile-"))
    shutil.copytree(_whole(name), folder, dirs_exist_ok=True)
    for _ in range(draw(st.integers(1, 2))):
        _spoil(draw, folder)
    (path,) = folder.iterdir()
    if name.startswith("dense"):
        return path, ROWS.y
    return path, draw(st.sampled_from(["obs/kind", "obs/plain"])) if name == "anndata" else "y"


def outcome(run):
    """What `run` returns, or None where it is refused in words that say what is wrong."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return run()
    except REFUSALS as error:
        assert NAMED.search(str(error)), f"an error that names nothing: {error!r}"
        return None


def same_as_plain(stats, path, y):
    """Whether statistics are those of what a plain reader sees in a store; an error where it sees no rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opened = zarr.open(path, mode="r")
        labels = y
        if isinstance(y, str):
            labels = _plain_labels(opened[y])
            opened = opened["X"] if y.startswith("obs/") else opened
        read = _plain_dense if isinstance(opened, zarr.Array) else _plain_csr
        shape, rows, columns, values = read(opened)
    assert shape == (len(labels), stats.n_features) == (stats.n_rows, stats.n_features)
    assert stats.classes.tolist() == np.unique(labels).tolist()
    sums = defaultdict(list)
    for row, column, value in zip(rows, columns, values):
        sums[labels[row], column].append(float(value))
    used = np.unique(columns)
    found = stats.table("sum").value(used)
    expected = [[math.fsum(sums[label, j]) for j in used] for label in stats.classes]
    return np.allclose(found, np.reshape(expected, found.shape), rtol=1e-14, atol=0)


def _plain(array):
    assert np.prod([float(length) for length in array.shape]) <= MOST
    return np.asarray(array[...])


def _plain_labels(column):
    if isinstance(column, zarr.Array):
        return _plain(column)
    codes = _plain(column["codes"])
    assert (codes >= 0).all()
    return _plain(column["categories"])[codes]


def _plain_dense(array):
    x = _plain(array)
    assert np.isfinite(x).all()
    rows, columns = np.nonzero(x)
    return x.shape, rows, columns, x[rows, columns]


def _plain_csr(group):
    data, indices, indptr = (_plain(group[name]) for name in ("data", "indices", "indptr"))
    n_rows, n_features = group.attrs["shape"]
    ends = [int(end) for end in indptr]
    assert group.attrs["encoding-type"] == "csr_matrix"
    assert len(ends) == n_rows + 1 and ends[0] == 0 and ends[-1] == len(data) == len(indices) and sorted(ends) == ends
    assert all(0 <= int(j) < n_features for j in indices)
    assert np.isfinite(data).all()
    return (n_rows, n_features), np.repeat(np.arange(n_rows), np.diff(ends)), indices, data
