"""Files that are no Zarr, told by what stands in them and by their names."""

import bz2
import gzip
import lzma
import shutil
import subprocess
from functools import partial

import pyarrow as pa
import pytest

import streamnb as snb
from streamnb.rows.files import check_file, files_at, files_below, holds_numbers, is_svmlight, stored, unlike_zarr

CONTENTS = {
    "HDF5": b"\x89HDF\r\n\x1a\n" + b"\0" * 8,
    "Parquet": b"PAR1" + b"\0" * 8 + b"PAR1",
    "Arrow IPC": b"ARROW1" + b"\0" * 8,
    "JSON": b'{"a": "b"}\n',
    "CSV": b"a,b\n1,2\n3,4\n",
}


@pytest.mark.parametrize("kind", CONTENTS)
def test_told_by_their_content(kind, tmp_path):
    path = tmp_path / "rows"
    path.write_bytes(CONTENTS[kind])
    assert kind in unlike_zarr(str(path))


@pytest.mark.parametrize(("name", "kind"), [("a.h5", "HDF5"), ("a.parquet", "Parquet"), ("a.csv.gz", "CSV")])
def test_told_by_their_ending(name, kind, tmp_path):
    (tmp_path / name).write_bytes(gzip.compress(b"x") if name.endswith("gz") else b"")
    assert kind in unlike_zarr(str(tmp_path / name))


def test_files_at_urls_are_told_like_others(tmp_path):
    for kind, content in CONTENTS.items():
        (tmp_path / "rows").write_bytes(content)
        assert kind in unlike_zarr(f"file://{tmp_path}/rows")
    assert is_svmlight(f"file://{tmp_path}/rows.svm")  # by its name alone
    (tmp_path / "rows").write_text("1 3:2\n")
    assert is_svmlight(f"file://{tmp_path}/rows") and holds_numbers(f"file://{tmp_path}/rows")
    (tmp_path / "a" / "b.zarr").mkdir(parents=True)
    (tmp_path / "a" / "b.zarr" / "zarr.json").write_text("{}")
    assert holds_numbers(f"file://{tmp_path}/a/b.zarr") and not holds_numbers(f"file://{tmp_path}/rows.csv")
    assert files_below(f"file://{tmp_path}/a") == [f"file://{tmp_path}/a/b.zarr/zarr.json"]
    assert files_below(f"file://{tmp_path}/none") == []


def test_errors_of_urls_name_the_argument():
    for call in (files_at, stored):
        with pytest.raises(FileNotFoundError, match=r"X=memory://none/a.csv: there is no such file"):
            call("memory://none/a.csv")
    with pytest.raises(FileNotFoundError, match=r"X='memory://none/\*.csv': there is no such file"):
        files_at("memory://none/*.csv")


def test_a_worker_finds_the_same_file_or_refuses_it(tmp_path):
    (tmp_path / "rows").write_text("12")
    check_file(str(tmp_path / "rows"), 2)
    check_file("s3://bucket/rows", 2)
    with pytest.raises(snb.DataError, match=r"another .*rows, not of 3 bytes"):
        check_file(str(tmp_path / "rows"), 3)
    with pytest.raises(snb.DataError, match="cannot open"):
        check_file(str(tmp_path / "none"), 3)


# ---- compressed files ------------------------------------------------------------------------------------------------

PACK = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
PACK |= {end: partial(pa.compress, codec=codec, asbytes=True) for end, codec in (("zst", "zstd"), ("lz4", "lz4"))}
TOOLS = {"gz": "gzip", "bz2": "bzip2", "xz": "xz", "zst": "zstd", "lz4": "lz4"}
SKIPPED = b"\x50\x2a\x4d\x18\x03\0\0\0abc\x5f\x2a\x4d\x18\0\0\0\0"
RECORD = b"WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: 3\r\n\r\nabc\r\n\r\n"
DOORS = {
    "txt": (snb.text, b"one row\n"),
    "jsonl": (partial(snb.text, text="a"), b'{"a": "b"}\n'),
    "fa": (partial(snb.sequences, k=2), b">one\nACGT\n"),
    "svm": (snb.svmlight, b"1 2:3\n"),
    "warc": (snb.text, RECORD),
}


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize("door", DOORS)
def test_compressed_files_may_have_all_that_their_formats_have(door, ending, tmp_path):
    opened, row = DOORS[door]
    path, two, none = tmp_path / f"rows.{door}.{ending}", PACK[ending](row + row), PACK[ending](b"")
    framed = ending in ("zst", "lz4")
    beside = SKIPPED if framed else bytes(8)
    contents = [two + two, none + two + none + two, two + two + none + beside, two + beside + two]
    for content in contents + [SKIPPED + two + two] * framed:
        path.write_bytes(content)
        assert opened(path).n_rows == 4
        if shutil.which(TOOLS[ending]) and (framed or ending == "xz"):  # gzip and bzip2 end at zeros
            assert subprocess.run([TOOLS[ending], "-dc", path], stdout=-1, check=True).stdout == row * 4
    for wrong in (two + two[:-3], two + b"?" + two[1:]):
        path.write_bytes(wrong)
        with pytest.raises(snb.DataError, match="is damaged or cut off"):
            opened(path)


@pytest.mark.skipif(shutil.which("zstd") is None, reason="packed by the program zstd")
def test_records_of_archives_may_be_packed_by_a_dictionary(tmp_path):
    stream_io = pytest.importorskip("fastwarc.stream_io")
    known = stream_io.zstd_train_dictionary_from_samples([RECORD + b"%d" % k for k in range(99)], 400)
    (tmp_path / "known").write_bytes(known)
    packed = subprocess.run(["zstd", "-D", tmp_path / "known"], input=RECORD, stdout=-1, check=True).stdout
    head = b"\x5d\x2a\x4d\x18" + len(known).to_bytes(4, "little") + known
    (tmp_path / "a.warc.zst").write_bytes(head + packed * 4)
    assert snb.text(tmp_path / "a.warc.zst").n_rows == 4
