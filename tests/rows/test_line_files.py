"""Files of texts: read in pieces from any row on, packed or not, and refused where they are not what they say."""

import gzip
import json
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import streamnb as snb
from streamnb.rows import line_files
from streamnb.rows.line_files import LinesOfFile, SequenceFiles, TextFiles, header_of
from streamnb.rows.line_formats import text_format
from tests.support.read_rows import texts_of
from tests.support.reference_kmers import fasta, fastq

ROWS = [f"row {i} " + "x" * (i % 7) for i in range(30)]
NONE = dict.fromkeys(["text", "y", "weight"])


def write(path, data):
    if path.name.endswith(".gz"):
        data = gzip.compress(data)
    elif path.name.endswith(".zst"):
        data = pa.compress(data, codec="zstd", asbytes=True)
    path.write_bytes(data)
    return str(path)


@pytest.fixture(params=[1, 16, 1 << 20])
def pieces(request, monkeypatch):
    monkeypatch.setattr(line_files, "PIECE_BYTES", request.param)


def test_files_of_every_kind_are_read_from_any_row_on(tmp_path, pieces):
    lines = "\n".join(ROWS).encode()
    records = b"\n" + b"\n\n".join(json.dumps({"t": row}).encode() for row in ROWS) + b"\n"
    table = b"\xef\xbb\xbfn,t\n" + b"".join(f'{i},"{row}\n"\n'.encode() for i, row in enumerate(ROWS))
    for name, data in (("a.txt", lines), ("b.log.gz", b"\xef\xbb\xbf" + lines + b"\n"), ("c.jsonl", records)):
        named = {**NONE, "text": "t"} if "json" in name else NONE
        files = TextFiles([write(tmp_path / name, data)], named, 1)
        assert files.n_rows == 30 and texts_of(files) == ROWS and texts_of(files, 11, 20) == ROWS[11:20]
    both = TextFiles([write(tmp_path / f"{name}.jsonl.zst", records) for name in "de"], {**NONE, "text": "t"}, 2)
    assert both.n_rows == 60 and texts_of(both, 25, 40) == ROWS[25:] + ROWS[:10]
    quoted = TextFiles([write(tmp_path / "f.csv", table)], {**NONE, "text": "t"}, 1)
    assert quoted.n_rows == 30 and texts_of(quoted, 3) == [f"{row}\n" for row in ROWS[3:]]


def test_files_that_are_not_what_they_say_are_refused(tmp_path):
    whole = gzip.compress("\n".join(ROWS).encode())
    for name, data, words in (
        ("a.txt.gz", b"plain text", "is not a gzip file, despite its name"),
        ("b.txt.zst", whole, "is not a zstd file"),
        ("c.jsonl", b"PAR1....", "is Parquet"),
        ("c.txt", b"PK\3\4 plain text", "is a zip, not a text file"),
        ("d.jsonl", b"not a record\n", "not JSON lines"),
        ("e.txt.gz", whole[:-20], "damaged or cut off"),
        ("f.txt.gz", whole[:30] + b"\0" * 20 + whole[50:], "damaged or cut off"),
        ("g.txt.zst", pa.compress(b"abc\n" * 99, codec="zstd", asbytes=True)[:-5], "damaged or cut off"),
    ):
        (tmp_path / name).write_bytes(data)
        named = {**NONE, "text": "t"} if "json" in name else NONE
        with pytest.raises(snb.DataError, match=words):
            TextFiles([str(tmp_path / name)], named, 1)
    packed = tmp_path / "really_packed.txt"
    packed.write_bytes(whole)
    assert texts_of(TextFiles([str(packed)], NONE, 1)) == ROWS


def test_files_that_change_or_differ_are_refused(tmp_path, monkeypatch):
    path = write(tmp_path / "a.txt", "\n".join(ROWS).encode())
    files = TextFiles([path], NONE, 1)
    (tmp_path / "a.txt").write_bytes(b"short")
    with pytest.raises(snb.DataError, match="has become shorter"):
        texts_of(files)
    named = {"text": "t", "y": "y", "weight": None}
    paths = [write(tmp_path / f"{y}.jsonl", json.dumps({"t": "a", "y": y}).encode()) for y in (1, "b")]
    with pytest.raises(snb.DataError, match="type string, but int64 in"):
        TextFiles(paths, named, 1)
    monkeypatch.setattr(line_files, "LONGEST", 10)
    monkeypatch.setattr(line_files, "PIECE_BYTES", 4)
    with pytest.raises(snb.DataError, match="row 1 is longer than 10 bytes"):
        TextFiles([write(tmp_path / "c.txt", b"ab\n" + b"x" * 100)], NONE, 1)


# ---- without an index ------------------------------------------------------------------------------------------------


@given(st.lists(st.text("ab é", max_size=5), min_size=1, max_size=20), st.integers(1, 7), st.booleans(), st.booleans())
def test_pieces_of_a_file_have_each_line_once(lines, n_parts, last, windows):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.jsonl"
        rows = [json.dumps({"t": line}, ensure_ascii=False) for line in lines]
        path.write_text(("\r\n" if windows else "\n").join(rows) + ("\n" if last else ""), newline="")
        infer = partial(text_format, {"text": "t", "y": None, "weight": None}, "y")
        ranges = [LinesOfFile(str(path), infer, k, n_parts) for k in range(n_parts)]
        pieces = [piece for each in ranges for piece in each.pieces()]
        read = [piece().decoded(row) for piece in pieces for row in range(piece.n_rows)]
        assert read == lines
        whole = path.read_bytes()
        assert all(whole[one.place : one.place + len(one.piece)] == one.piece for one in pieces)


# ---- FASTA and FASTQ: the same records however they are packed, broken into lines and cut into pieces ----------------

LETTERS = ["".join(np.random.default_rng(i).choice(list("ACGTn"), 1 + 37 * i % 200)) for i in range(60)]
LABELS = [f"Bacteria; g{i % 3}" for i in range(60)]


def letters_of(files, start=0):
    return ["".join(text.split()) for text in texts_of(files, start)]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, lambda text: pa.compress(text, "zstd", asbytes=True)])
@pytest.mark.parametrize("write", [fasta, fastq])
def test_records_are_the_same_from_any_row_on(write, pack, end, tmp_path, monkeypatch):
    monkeypatch.setattr(line_files, "PIECE_BYTES", 500)  # several pieces, and records longer than half of one
    path = tmp_path / "sequences"
    path.write_bytes(pack(write(LETTERS, LABELS, end=end)))
    files = SequenceFiles([str(path)], 2)
    assert files.n_rows == len(LETTERS)
    for start in (0, 1, 17, 59):
        assert letters_of(files, start) == LETTERS[start:]
    assert list(files.headers()) == [(f"s{i}", label) for i, label in enumerate(LABELS)]


def test_a_last_line_without_end_and_blank_lines_around(tmp_path):
    path = tmp_path / "a"
    for text in (b"\n\n>a\nAC\n\nGT\n>b x\nTT", b"@a\nACGT\n+\nIIII\n@b\nTT\n+\nII\n\n\n"):
        path.write_bytes(text)
        assert letters_of(SequenceFiles([str(path)], 1)) == ["ACGT", "TT"]


def test_several_files_follow_each_other(tmp_path):
    for name, write in (("a", fasta), ("b", fastq)):
        (tmp_path / name).write_bytes(write(LETTERS))
    files = SequenceFiles([str(tmp_path / name) for name in "ab"], 1)
    assert letters_of(files, 50) == LETTERS[50:] + LETTERS
    texts = next(files.jobs(0, 1))[1]()
    assert header_of(texts, 0) == ("s0", "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "is empty"),
        (b"ACGT\n", "neither FASTA nor FASTQ.*begins with 'ACGT'"),
        (b"@a\nACGT\n+\nIII\n", "record 0 is not FASTQ: it begins with '@a'"),
        (b"@a\nACGT\n+\nIIII\nb\nAC\n+\nII\n", "record 1 is not FASTQ: it begins with 'b'"),
        (b"@a\nACGT\n+\nIIII\n@b\nAC\n", "record 1 has fewer than four lines; is the file cut off"),
        (gzip.compress(fasta(LETTERS))[:-40], "is damaged or cut off"),
        (b"BZh91AY&SY", "is damaged or cut off"),
    ],
)
def test_bad_files_are_refused(text, message, tmp_path):
    path = tmp_path / "bad"
    path.write_bytes(text)
    with pytest.raises(snb.DataError, match=message):
        letters_of(SequenceFiles([str(path)], 1))
