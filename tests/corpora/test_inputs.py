"""The files of a corpus and the parts that they are read in."""

import fsspec
import pytest

from streamnb.core.messages import DataError
from streamnb.corpora.reading import files_of, kind_of_files
from streamnb.rows.files import JSON
from tests.support.corpora import corpus


def test_patterns_folders_lists_and_urls_name_the_same_files(tmp_path):
    corpus(tmp_path / "in")
    (tmp_path / "in" / ".hidden.jsonl").write_text("")
    (tmp_path / "in" / "_about").mkdir()
    (tmp_path / "in" / "_about" / "x.jsonl").write_text("")
    paths = [tmp_path / "in" / f"{k}.jsonl" for k in range(3)]
    expected = [(str(path), path.stat().st_size) for path in paths]
    assert files_of(str(tmp_path / "in")) == files_of(tmp_path / "in") == expected
    assert files_of(f"{tmp_path}/in/*.jsonl") == files_of(paths) == expected
    memory = fsspec.filesystem("memory")
    memory.put(str(tmp_path / "in"), "/crawl", recursive=True)
    found = [("memory:///crawl" + path.removeprefix(str(tmp_path / "in")), size) for path, size in expected]
    assert files_of("memory://crawl/*.jsonl") == files_of("memory://crawl") == found


def test_what_is_no_file_is_named(tmp_path):
    for given_, error in ((str(tmp_path / "no*"), FileNotFoundError), (tmp_path, FileNotFoundError), (3, TypeError)):
        with pytest.raises(error, match="X"):
            files_of(given_)
    with pytest.raises(FileNotFoundError, match="no such file"):
        files_of("memory://nothing/here*")
    with pytest.raises(ValueError, match="names no file"):
        files_of([])


def test_files_are_of_one_kind():
    assert kind_of_files([("a.jsonl.zst", 1), ("b.json", 1)]) == JSON
    with pytest.raises(DataError, match=r"b.csv is CSV, but a.jsonl is JSON lines"):
        kind_of_files([("a.jsonl", 1), ("b.csv", 1)])
    with pytest.raises(DataError, match="a corpus is of"):
        kind_of_files([("a.h5", 1)])
