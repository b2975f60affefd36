"""FASTA and FASTQ: the same records however they are packed, broken into lines and cut into pieces."""

import gzip

import numpy as np
import pyarrow as pa
import pytest

from streamnb.core.messages import DataError
from streamnb.rows import line_files
from streamnb.rows.line_files import SequenceFiles, header_of
from tests.support.read_rows import texts_of
from tests.support.reference_kmers import fasta, fastq

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
    with pytest.raises(DataError, match=message):
        letters_of(SequenceFiles([str(path)], 1))
