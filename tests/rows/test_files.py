"""Files that are no Zarr, told by what stands in them and by their names."""

import gzip

import pytest

from streamnb.core.messages import DataError
from streamnb.rows.files import (
    check_file,
    files_at,
    files_below,
    holds_numbers,
    is_svmlight,
    stored,
    unlike_zarr,
)

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
    with pytest.raises(DataError, match=r"another .*rows, not of 3 bytes"):
        check_file(str(tmp_path / "rows"), 3)
    with pytest.raises(DataError, match="cannot open"):
        check_file(str(tmp_path / "none"), 3)
