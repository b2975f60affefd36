"""The files of a corpus, the rows of its parts, and what they bear as they are stored."""

import json

import fsspec
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import streamnb as snb
from streamnb.corpora.reading import CorpusPart, CorpusReading, files_of, kind_of_files
from streamnb.encoding.ngrams import NGrams
from streamnb.encoding.text import TextEncoding
from streamnb.rows.files import CSV, IPC, JSON, LINES, PARQUET
from tests.support.corpora import corpus, lines
from tests.support.refusals import refuses

ROWS = [json.loads(row) for row in lines(40)]
TEXT = TextEncoding(NGrams(), "text")


@pytest.fixture
def files(tmp_path):
    table = pa.table({"id": [row["id"] for row in ROWS], "text": [row["text"] for row in ROWS]})
    table = table.append_column("kind", pa.array([row["kind"] for row in ROWS]).dictionary_encode())
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=7)
    feather.write_feather(table, str(tmp_path / "x.arrow"), chunksize=7)
    (tmp_path / "x.jsonl").write_bytes(b"".join(row + b"\n" for row in lines(40)))
    (tmp_path / "x.csv").write_text("id,text\n" + "".join(f'{row["id"]},"{row["text"]}"\n' for row in ROWS))
    (tmp_path / "x.txt").write_text("".join(row["text"] + "\n" for row in ROWS))
    return {PARQUET: "x.parquet", IPC: "x.arrow", JSON: "x.jsonl", CSV: "x.csv", LINES: "x.txt"}


def test_fields_that_are_not_there_are_refused(files, tmp_path):
    for kind in (PARQUET, CSV, LINES):
        reading = CorpusReading(kind, TEXT if kind != LINES else TextEncoding(NGrams()), ("url",))
        refuses(ValueError, r"keep=.*url", list, reading.jobs(CorpusPart(0, (str(tmp_path / files[kind]),))))
    with pytest.raises(ValueError, match="text='body'"):
        list(CorpusReading(PARQUET, TextEncoding(NGrams(), "body")).jobs(CorpusPart(0, (str(tmp_path / "x.parquet"),))))


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
        refuses(error, "X", files_of, given_)
    refuses(FileNotFoundError, "no such file", lambda: files_of("memory://nothing/here*"))
    refuses(ValueError, "names no file", lambda: files_of([]))


def test_files_are_of_one_kind():
    assert kind_of_files([("a.jsonl.zst", 1), ("b.json", 1)]) == JSON
    refuses(snb.DataError, r"b.csv is CSV, but a.jsonl is JSON lines", kind_of_files, [("a.jsonl", 1), ("b.csv", 1)])
    refuses(snb.DataError, "a corpus is of", lambda: kind_of_files([("a.h5", 1)]))
