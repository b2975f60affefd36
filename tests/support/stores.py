"""Zarr stores that count what is read of them."""

from collections import Counter

import numpy as np
import zarr
from zarr.abc.store import SuffixByteRequest
from zarr.storage import MemoryStore, WrapperStore

from tests.support.zarr_stores import write_arrays


class CountingStore(WrapperStore):
    """Counts reads of values (metadata left out), and the bytes of ranges other than shard indices."""

    def __init__(self, store, reads=None):
        super().__init__(store)
        self.reads = Counter() if reads is None else reads
        self.bytes_read = 0

    def _with_store(self, store):
        return type(self)(store, self.reads)

    async def get(self, key, prototype, byte_range=None):
        found = await super().get(key, prototype, byte_range)
        if not key.rpartition("/")[2].startswith((".z", "zarr.json")):
            self.reads[key] += 1
            self.bytes_read += 0 if found is None or isinstance(byte_range, SuffixByteRequest) else len(found)
        return found

    async def getsize(self, key):  # which reads no value
        return await self._store.getsize(key)

    async def get_partial_values(self, prototype, key_ranges):
        return [await self.get(key, prototype, byte_range) for key, byte_range in key_ranges]


def chunk_keys(array):
    return {f"{array.path}/{array.metadata.encode_chunk_key(at)}".lstrip("/") for at in np.ndindex(array.cdata_shape)}


def counted_csr(rows, zarr_format=3, **options):
    store = CountingStore(MemoryStore())
    group = write_arrays(zarr.create_group(store, zarr_format=zarr_format), rows, **options)
    store.reads.clear()
    return store, group
