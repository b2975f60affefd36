"""Zarr stores with metadata and chunks changed: statistics are those of a plain reader, or the store is refused."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import streamnb as snb
from fuzz.choices import change_json, change_numbers
from tests.support.hostile import ROWS, outcome, same_as_plain
from tests.support.zarr_stores import csr_group, dense_array

# Most are not compressed: a change reaches the numbers, and not only the codec.
STORES = {
    "csr": lambda folder: csr_group(ROWS, folder, compressors=None),
    "csr v2": lambda folder: csr_group(ROWS, folder, 2, compressors=None),
    "csr sharded": lambda folder: csr_group(ROWS, folder, shards=(21,), compressors=None),
    "csr compressed": lambda folder: csr_group(ROWS, folder),
    "write_csr": lambda folder: snb.write_csr(folder / "csr.zarr", [(ROWS.x, ROWS.y)], n_features=9),
    "dense": lambda folder: dense_array(ROWS, folder, compressors=None),
    "dense v2": lambda folder: dense_array(ROWS, folder, 2, chunks=(8, 4), compressors=None),
}


@cache
def whole(name):
    """The files of a store as it should be."""
    with TemporaryDirectory() as folder:
        STORES[name](Path(folder))
        files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def changed(choices, files):
    files = dict(files)
    for _ in range(choices.number(4)):
        name = choices.pick(list(files))
        if Path(name).name.startswith((".z", "zarr.json")):
            files[name] = change_json(choices, files[name])
        elif choices.number(6) == 5:
            del files[name]
        else:
            files[name] = change_numbers(choices, files[name])
    return files


def one(choices):
    name = choices.pick(list(STORES))
    files = changed(choices, whole(name))
    with TemporaryDirectory() as folder:
        for path, content in files.items():
            Path(folder, path).parent.mkdir(parents=True, exist_ok=True)
            Path(folder, path).write_bytes(content)
        path, y = (Path(folder, "dense.zarr"), ROWS.y) if "dense" in name else (Path(folder, "csr.zarr"), "y")
        stats = outcome(lambda: snb.scan(path, y))
        assert stats is None or same_as_plain(stats, path, y)
