"""Whole fits from Zarr: decoding, checking and summing, one block read ahead of the sums."""

import shutil
import tempfile
from collections import Counter
from pathlib import Path

import zarr
from zarr.storage import LocalStore, WrapperStore

import streamnb as snb
from benchmarks.peers.problems import LZ4, counts, labels, write_default, write_own

STORES = {
    "zstd": {},
    "zstd, small chunks": {"chunks": (1 << 16,)},
    "zstd, sharded": {"chunks": (1 << 16,), "shards": (1 << 20,)},
    "lz4": {"compressors": LZ4},
}


class CountingStore(WrapperStore):
    """Counts the bytes that are read of each chunk."""

    def __init__(self, store, read=None):
        super().__init__(store)
        self.read = Counter() if read is None else read

    def _with_store(self, store):
        return type(self)(store, self.read)

    async def get(self, key, prototype, byte_range=None):
        found = await super().get(key, prototype, byte_range)
        if "/c/" in key:
            self.read[key] += 0 if found is None else len(found)
        return found


def chunk_bytes(folder):
    """How much the chunks of a store take."""
    return sum(path.stat().st_size for path in Path(folder).glob("*/c/**/*") if path.is_file())


class Fit:
    """`LinearNB.fit` of a CSR group with its labels beside it."""

    params = ([*STORES, "write_csr", "write_csr, presence alone"],)
    param_names = ("store",)
    rows, n_features = 20_000, 2**14

    def setup(self, store):
        X, y = counts(self.rows, self.n_features, "zipf"), labels(self.rows, 20)
        self.folder = Path(tempfile.mkdtemp())
        write = write_own if store.startswith("write_csr") else write_default
        self.path = write(self.folder / "rows", X, y, **STORES.get(store, {}))
        self.model = snb.LinearNB("bernoulli" if "presence" in store else "multinomial")
        self.time_fit()  # compiles outside the clock

    def teardown(self, *_):
        shutil.rmtree(self.folder)

    def time_fit(self, *_):
        self.model.fit(self.path, "y")

    def peakmem_fit(self, *_):
        self.model.fit(self.path, "y")

    def track_bytes_per_second(self, *_):
        """Decoded."""
        self.time_fit()
        return self.model.report_.bytes / self.model.report_.seconds

    track_bytes_per_second.unit = "bytes/s"

    def track_share_of_reading(self, *_):
        """Seconds of reading and decoding, of all threads, for each second of the fit."""
        self.time_fit()
        return self.model.report_.seconds_reading / self.model.report_.seconds

    track_share_of_reading.unit = "s/s"

    def track_share_of_bytes_read(self, *_):
        """Of those in the store: 1 where every chunk is read once, less where values are not needed."""
        store = CountingStore(LocalStore(self.path))
        self.model.fit(zarr.open_group(store, mode="r"), "y")
        return store.read.total() / chunk_bytes(self.path)

    track_share_of_bytes_read.unit = "of the bytes stored"


class Write:
    """`write_csr` of rows in memory."""

    rows, n_features = 20_000, 2**14

    def setup(self):
        self.X, self.y = counts(self.rows, self.n_features, "zipf"), labels(self.rows, 20)
        self.folder = Path(tempfile.mkdtemp())
        self.time_write_csr()

    def teardown(self):
        shutil.rmtree(self.folder)

    def time_write_csr(self):
        shutil.rmtree(self.folder)
        write_own(self.folder, self.X, self.y)

    def track_bytes_per_value(self):
        return chunk_bytes(self.folder) / self.X.nnz

    track_bytes_per_value.unit = "bytes"
