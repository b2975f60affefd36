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


@pytest.mark.parametrize(
    "kind, n_pieces", [(PARQUET, 1), (PARQUET, 4), (IPC, 2), (JSON, 1), (JSON, 3), (LINES, 3), (CSV, 1)]
)
def test_every_row_is_read_once_with_what_is_kept(kind, n_pieces, files, tmp_path):
    keep = () if kind == LINES else ("id",)
    reading = CorpusReading(kind, TEXT if kind != LINES else TextEncoding(NGrams()), keep)
    texts, ids, places = [], [], []
    for k in range(n_pieces):
        for job in reading.jobs(CorpusPart(k, (str(tmp_path / files[kind]),), k, n_pieces)):
            rows = job()
            places.append((job.row, rows.shape[0]))
            if kind in (PARQUET, IPC):
                texts += rows.columns.column("text").to_pylist()
            else:
                texts += [rows.decoded(row) for row in range(rows.shape[0])]
            ids += rows.beside.batch.column("id").to_pylist() if keep else []
    assert texts == [row["text"] for row in ROWS]
    assert not keep or ids == [row["id"] for row in ROWS]


@pytest.mark.parametrize("kind", [PARQUET, IPC, JSON, LINES, CSV])
def test_rows_that_are_only_copied_are_all_that_is_stored(kind, files, tmp_path):
    reading = CorpusReading(kind, TEXT, whole=True).alone()
    path = str(tmp_path / files[kind])
    found = [job() for job in reading.jobs(CorpusPart(0, (path, path)))]
    stored = [rows.beside for rows in found]
    assert sum(map(len, stored)) == 80
    if kind in (JSON, CSV):
        assert [*stored[0]] == (tmp_path / files[kind]).read_bytes().splitlines()[kind == CSV :]
    elif kind == LINES:
        assert [row["text"] for row in stored[0].batch.to_pylist()] == [row["text"] for row in ROWS]
    else:
        read = pq.read_table(tmp_path / "x.parquet").to_pylist()
        assert [row for one in stored for row in one.batch.to_pylist()] == read * 2


def test_places_of_rows_go_on_from_file_to_file(files, tmp_path):
    path = str(tmp_path / files[PARQUET])
    jobs = list(CorpusReading(PARQUET, TEXT).jobs(CorpusPart(0, (path, path))))
    assert [job.row for job in jobs if job.first_row == 0] == [0, 40]


def test_fields_that_are_not_there_are_refused(files, tmp_path):
    for kind in (PARQUET, CSV, LINES):
        reading = CorpusReading(kind, TEXT if kind != LINES else TextEncoding(NGrams()), ("url",))
        with pytest.raises(ValueError, match=r"keep=.*url"):
            list(reading.jobs(CorpusPart(0, (str(tmp_path / files[kind]),))))
    with pytest.raises(ValueError, match="text='body'"):
        list(CorpusReading(PARQUET, TextEncoding(NGrams(), "body")).jobs(CorpusPart(0, (str(tmp_path / "x.parquet"),))))
