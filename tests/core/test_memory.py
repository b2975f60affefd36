"""What tables may take: limits in bytes or words, what is free in a container, rows where lines of the cache begin."""

import numpy as np
import pytest

from streamnb.core import memory


def test_a_limit_is_a_number_of_bytes():
    for given in (1000, 1000.9, np.int16(1000), np.float32(1000), "1000", " 1kB ", "1e3 B"):
        limit = memory.check_memory_limit(given)
        assert limit == 1000 and type(limit) is int
    for wrong in (0, 0.5, -1, True, np.nan, np.inf, "", " ", "-1kB", "much", [1000], np.bool_(True)):
        with pytest.raises(ValueError, match=r"^memory_limit=.* above 0, or a string such as '4GB'$"):
            memory.check_memory_limit(wrong)


def test_without_a_limit_half_of_what_is_free_is_allowed(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 1001)
    assert memory.allowed(None) == 500 and memory.allowed(7) == 7
    for limit, most in ((None, 500), (7, 7)):
        memory.check("a table", most, limit, "take less")
        with pytest.raises(MemoryError, match=r"a table would take .*, and memory_limit allows .*; take less"):
            memory.check("a table", most + 1, limit, "take less")


def container(folder, version, most, taken):
    names = ("memory.max", "memory.current") if version == 2 else ("limit_in_bytes", "usage_in_bytes")
    place = folder if version == 2 else folder / "memory"
    place.mkdir(exist_ok=True)
    for name, text in zip(names, (most, taken)):
        (place / (name if version == 2 else f"memory.{name}")).write_text(f"{text}\n")


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("most", "taken", "free"), [(900, 200, 700), (200, 900, 0), (10**9, 0, 5000), ("max", 1, 5000)]
)
def test_what_is_free_is_free_in_the_container_too(version, most, taken, free, monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "_available", lambda: 5000)
    monkeypatch.setattr(memory, "_CGROUP", tmp_path)
    assert memory.free_memory() == 5000  # no container
    container(tmp_path, version, most, taken)
    assert memory.free_memory() == free


def test_sizes_in_words():
    words = {0: "0.0 kB", 949: "0.9 kB", 999_940: "999.9 kB", 1e6: "1.0 MB", 2.55e9: "2.5 GB", 1.2345e15: "1,234.5 TB"}
    assert {n: memory.size(n) for n in words} == words
    with pytest.raises(MemoryError, match=r"^pairs would take 2\.0 GB, and memory_limit allows 1\.0 MB; take fewer$"):
        memory.refuse("pairs", 2e9, 10**6, "take fewer")


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64, np.int64])
@pytest.mark.parametrize("border", [memory.LINE, memory.PAGE])
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (5, 64), (2, 1025), (0, 3)])
def test_rows_begin_where_a_line_does(shape, border, dtype):
    table = memory.aligned(*shape, dtype, border)
    n_rows, n_columns = table.shape
    assert table.dtype == dtype and n_rows == shape[0] and 0 <= n_columns - shape[1] < border // table.itemsize
    assert all(row.ctypes.data % border == 0 for row in table)
    table[:] = np.arange(table.size).reshape(table.shape) % 100  # all of it is there, and none of it twice
    assert (table.reshape(-1) == np.arange(table.size) % 100).all() and table.flags.c_contiguous
