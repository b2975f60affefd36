"""What the metadata of an array in Zarr promises, before anything is read by it."""

import math
from typing import Any

import zarr
from zarr.codecs import Crc32cCodec, ShardingCodec

from streamnb.core import memory
from streamnb.core.messages import DataError


def check_layout(array: zarr.Array) -> zarr.Array:
    """Return an array whose shape and chunks are possible, and of which a chunk fits into memory."""
    where = f"array {array.path!r} in {array.store}"
    try:
        shape, chunks, dtype = tuple(array.shape), (*array.chunks, *(array.shards or ())), array.dtype
    except Exception as error:  # grids and types that zarr cannot put into these words
        raise DataError(f"the metadata of {where} is broken: {error!r}") from error
    if any(length < 0 for length in shape) or math.prod(shape) * dtype.itemsize >= 2**63:
        raise DataError(f"the metadata of {where} is broken: no array has the shape {shape}")
    if any(length < 1 for length in chunks):
        raise DataError(f"the metadata of {where} is broken: it has chunks of shape {array.chunks}")
    taken = math.prod(array.chunks) * dtype.itemsize
    if taken > memory.free_memory():
        raise MemoryError(
            f"one chunk of {where}, of shape {array.chunks}, takes {memory.size(taken)}, and "
            f"{memory.size(memory.free_memory())} are free; write the array with smaller chunks"
        )
    return array


def chunks_bear_checksums(array: zarr.Array) -> bool:
    """True where every chunk ends with its checksum, as `write_csr` leaves them."""
    return any(isinstance(codec, Crc32cCodec) for codec in _codecs(array))


def shards_bear_checksums(array: zarr.Array) -> bool:
    """False where the index of a shard may be damaged unseen, so that it leads anywhere; True without shards."""
    sharding = (codec for codec in _codecs(array) if isinstance(codec, ShardingCodec))
    return all(any(isinstance(inner, Crc32cCodec) for inner in codec.index_codecs) for codec in sharding)


def _codecs(array: zarr.Array) -> Any:
    return getattr(array.metadata, "codecs", ())
