"""Sequences of nucleotides in FASTA and FASTQ files, packed or not: a record a row."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from streamnb.core.messages import DataError
from streamnb.core.threads import in_order
from streamnb.rows.line_files import LineFiles
from streamnb.rows.line_formats import SHOWN
from streamnb.rows.texts import Texts

NEWLINE, RETURN, PLUS = 10, 13, 43
FASTA, FASTQ = b">", b"@"  # the first byte of each record
FASTQ_LINES = 4  # of a record


@dataclass(frozen=True)
class SequenceFormat:
    """How the records of a file begin; see `Format` for the same of lines."""

    begin: bytes

    def whole_rows(self, text: bytes) -> tuple[int, int]:
        """The number of whole records, and the end of the last; one of FASTA ends where another begins."""
        if self.begin == FASTA:
            end = text.rfind(b"\n>") + 1
            return (int(text.startswith(FASTA)) + text.count(b"\n>", 0, end) if end else 0), end
        ends = np.flatnonzero(np.frombuffer(text, np.uint8) == NEWLINE)
        n = len(ends) // FASTQ_LINES
        return n, int(ends[FASTQ_LINES * n - 1]) + 1 if n else 0

    def last_rows(self, text: bytes) -> int:
        """The number of records after the last whole one, 0 or 1."""
        return int(bool(text.strip()))

    def rows(self, piece: bytes, first_row: int, where: str) -> Texts:
        """The sequences of whole records, with their headers `beside`; line breaks are still among the letters."""
        buffer = np.frombuffer(piece, np.uint8)
        parts = self._fasta(buffer) if self.begin == FASTA else _fastq(piece, buffer, first_row, where)
        headers = Texts(buffer, parts[0], parts[1], where=where)
        numbers = np.arange(first_row, first_row + len(parts[0]))
        return Texts(buffer, parts[2], parts[3], where=where, beside=headers, numbers=numbers)

    def _fasta(self, buffer: np.ndarray) -> tuple[np.ndarray, ...]:
        """Where headers, without ">", begin and end, and their sequences."""
        begins = np.flatnonzero(buffer == FASTA[0])
        begins = begins[(begins == 0) | (buffer[begins - 1] == NEWLINE)]
        ends = np.append(np.flatnonzero(buffer == NEWLINE), len(buffer))
        ends = ends[np.searchsorted(ends, begins)]
        return begins + 1, ends, np.minimum(ends + 1, len(buffer)), np.append(begins[1:], len(buffer))


def _fastq(piece: bytes, buffer: np.ndarray, first_row: int, where: str) -> tuple[np.ndarray, ...]:
    """As `_fasta`, of records of four lines each."""
    stops = np.append(np.flatnonzero(buffer[: len(piece.rstrip())] == NEWLINE), len(piece.rstrip()))
    n = -(-len(stops) // FASTQ_LINES)
    if len(stops) < FASTQ_LINES * n:
        raise DataError(f"{where}: record {first_row + n - 1} has fewer than four lines; is the file cut off?")
    starts = np.append(0, stops[:-1] + 1)
    stops = stops - (buffer[np.maximum(stops - 1, 0)] == RETURN)
    lengths = (stops - starts).reshape(n, FASTQ_LINES)
    (headers, letters, pluses, _), ends = starts.reshape(n, FASTQ_LINES).T, stops.reshape(n, FASTQ_LINES).T
    wrong = (buffer[headers] != FASTQ[0]) | (buffer[pluses] != PLUS) | (lengths[:, 1] != lengths[:, 3])
    if wrong.any():
        row = int(np.argmax(wrong))
        line = piece[headers[row] : ends[0][row]][:SHOWN].decode("utf-8", "replace")
        raise DataError(
            f"{where}: record {first_row + row} is not FASTQ: it begins with {line!r}. Each record has four lines: a "
            "header with '@', the letters, '+', and a sign of quality for each letter"
        )
    return headers + 1, ends[0], letters, ends[1]


def sequence_format(head: bytes, kind: str, where: str) -> tuple[SequenceFormat, int]:
    """The format of a file by its first record, and where that begins."""
    text = head.lstrip()
    if not text:
        raise DataError(f"{where} is empty; it should have sequences, as FASTA or FASTQ")
    if text[:1] not in (FASTA, FASTQ):
        line = text[:SHOWN].partition(b"\n")[0].decode("utf-8", "replace")
        raise DataError(
            f"{where} is neither FASTA nor FASTQ, whose records begin with '>' or '@'; it begins with {line!r}"
        )
    return SequenceFormat(text[:1]), len(head) - len(text)


class SequenceFiles(LineFiles):
    """FASTA and FASTQ files, one after the other; each record is a row."""

    no_columns = "sequences have none; give an array"

    def __init__(self, paths: list[str], n_threads: int):
        super().__init__(paths, sequence_format, n_threads)
        self._n_threads = n_threads

    def headers(self) -> Iterator[tuple[str, str]]:
        """The identifier of each record, and the rest of its header."""
        jobs = self.jobs(0, self.n_rows)
        for texts in in_order(lambda job: job[1](), jobs, self._n_threads):
            yield from map(header_of, [texts] * texts.shape[0], range(texts.shape[0]))

    def place_of(self, row: int) -> tuple[str, int]:
        """The path of the file with a record, and the number of the record there."""
        at = bisect_right(self._firsts, row) - 1
        return self.files[at][0], row - self._firsts[at]


def header_of(sequences: Texts, row: int) -> tuple[str, str]:
    """The identifier of a sequence, and the rest of its header; without a header, the number of the row."""
    if sequences.beside is None:
        return str(row), ""
    identifier, *rest = sequences.beside.decoded(row, "replace").split(None, 1)[:2] or [""]
    return identifier, rest[0].strip() if rest else ""
