"""The rows of parts, and what they bear as they are stored."""

import json

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from streamnb.corpora.reading import CorpusPart, CorpusReading
from streamnb.encoding.ngrams import NGrams
from streamnb.encoding.text import TextEncoding
from streamnb.rows.files import CSV, IPC, JSON, LINES, PARQUET
from tests.support.corpora import lines

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
        with pytest.raises(ValueError, match=r"keep=.*url"):
            list(reading.jobs(CorpusPart(0, (str(tmp_path / files[kind]),))))
    with pytest.raises(ValueError, match="text='body'"):
        list(CorpusReading(PARQUET, TextEncoding(NGrams(), "body")).jobs(CorpusPart(0, (str(tmp_path / "x.parquet"),))))
