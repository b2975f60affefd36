"""What metadata promise is looked at before anything is read; where checksums are is known from them too."""

import json

import numpy as np
import pytest
import zarr
from zarr.codecs import BytesCodec, Crc32cCodec, ShardingCodec
from zarr.storage import LocalStore, MemoryStore

from streamnb.core.messages import DataError
from streamnb.rows import layout


def made(**options):
    return zarr.create_array(MemoryStore(), **{"shape": (10, 4), "chunks": (5, 2), "dtype": np.float64, **options})


@pytest.mark.parametrize("options", [{}, {"shards": (10, 4)}, {"zarr_format": 2}, {"shape": (0, 4)}, {"dtype": "str"}])
def test_what_is_possible_is_returned(options):
    array = made(**options)
    assert layout.check_layout(array) is array


def test_a_shape_that_no_array_has():
    with pytest.raises(DataError, match=r"^the metadata of array '' in .* is broken: no array has the shape \(2305843"):
        layout.check_layout(made(shape=(2**61,), chunks=(5,)))
    assert layout.check_layout(made(shape=(2**60 - 1,), chunks=(5,)))  # one less than 2**63 bytes


def test_chunks_of_nothing(tmp_path):
    zarr.create_array(LocalStore(tmp_path), shape=(10, 4), chunks=(5, 2), dtype=float)
    document = tmp_path / "zarr.json"
    grid = {"name": "regular", "configuration": {"chunk_shape": [5, 0]}}
    document.write_text(json.dumps(json.loads(document.read_text()) | {"chunk_grid": grid}))
    with pytest.raises(DataError, match=r"is broken: it has chunks of shape \(5, 0\)$"):
        layout.check_layout(zarr.open_array(LocalStore(tmp_path)))


def test_a_chunk_fits_into_memory(monkeypatch):
    monkeypatch.setattr("streamnb.core.memory.free_memory", lambda: 80)
    assert layout.check_layout(made())  # chunks of 80 bytes
    with pytest.raises(MemoryError, match=r"^one chunk of array .*, of shape \(5, 3\), takes 0.1 kB, and .* smaller"):
        layout.check_layout(made(chunks=(5, 3)))


def test_checksums_are_known_from_the_codecs():
    plain, sure = made(), made(compressors=[Crc32cCodec()])
    assert not layout.chunks_bear_checksums(plain) and layout.chunks_bear_checksums(sure)
    assert layout.shards_bear_checksums(plain)  # without shards
    assert not layout.chunks_bear_checksums(made(zarr_format=2)) and layout.shards_bear_checksums(made(zarr_format=2))


@pytest.mark.parametrize("index", [[BytesCodec()], [BytesCodec(), Crc32cCodec()]])
def test_shards_without_a_checksum_of_their_index(index):
    array = zarr.create(
        store=MemoryStore(),
        shape=(10, 4),
        chunks=(10, 4),
        codecs=[ShardingCodec(chunk_shape=(5, 2), index_codecs=index)],
        zarr_format=3,
        dtype=float,
    )
    assert layout.shards_bear_checksums(array) is (len(index) == 2)
    assert layout.shards_bear_checksums(made(shards=(10, 4)))
