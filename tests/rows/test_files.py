"""Files that are no Zarr, told by what stands in them and by their names."""

import gzip

import pytest

from streamnb.rows.files import TEXT_PACKED, by_name, no_such_file, unlike_zarr

CONTENTS = {
    "HDF5": b"\x89HDF\r\n\x1a\n" + b"\0" * 8,
    "Parquet": b"PAR1" + b"\0" * 8 + b"PAR1",
    "Arrow IPC": b"ARROW1" + b"\0" * 8,
    "JSON": b'{"a": 1}\n',
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


def test_nothing_is_said_of_others(tmp_path):
    (tmp_path / "rows.zarr").mkdir()
    assert unlike_zarr(str(tmp_path / "rows.zarr")) is None


def test_kinds_are_told_by_names_that_may_say_how_files_are_packed():
    names = "a.JSONL.gz", "b.csv", "c.tsv.zst", "d.txt", "e", "f.csv.xz"
    assert [by_name(name) for name in names] == ["JSON lines", "CSV", "CSV", None, None, "CSV"]
    assert by_name("f.csv.xz", TEXT_PACKED) is None


def test_a_url_is_copied_first(tmp_path):
    url = "s3://bucket/2024/*.jsonl"
    with pytest.raises(FileNotFoundError, match=r"fsspec.filesystem\('s3'\).get\('s3://bucket/2024/\*.jsonl'"):
        raise no_such_file(url)
    (tmp_path / "rows.parquet").write_bytes(CONTENTS["Parquet"])
    assert "fsspec.filesystem('file').get(" in unlike_zarr(f"file://{tmp_path}/rows.parquet")
