"""`sequences`: opens FASTA and FASTQ files, or strings, with a column for each k-mer.

The loops over bytes are in `kernels/ngrams`.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from streamnb.core import arguments, persistence
from streamnb.core.messages import DataError, warn
from streamnb.core.persistence import shown
from streamnb.core.row_checks import check_labels
from streamnb.core.stored_files import is_url
from streamnb.core.threads import check_n_threads, n_cores
from streamnb.encoding.encoding import Encoding
from streamnb.kernels import ngrams
from streamnb.rows.boundary import holds_texts
from streamnb.rows.files import compression_of, content_of, files_at, holds_numbers
from streamnb.rows.labels import Column, numbered, open_columns
from streamnb.rows.line_files import SequenceFiles, header_of
from streamnb.rows.source import EncodedRows
from streamnb.rows.texts import Texts, TextsInMemory, TextSource

HEADER = "header"
TITLES = "feature id", "feature-id", "featureid", "id", "identifier", "seqid", "sequence id"  # of a first column
LETTERS = "ACGT"
LONGEST_K, NAMED_K = 12, 8  # 4^12 is 16,777,216 columns; those of up to 4^8 have names
AMBIGUITY = "NRYSWKMBDHV"  # codes of IUPAC for several nucleotides


def labels_of(y: Any, sequences: Any) -> Any:
    """A label for each sequence; an array, or None, as it is."""
    if hasattr(y, "to_dict") and hasattr(y, "index") and y.index.dtype.kind not in "iuf":  # a pandas Series
        if not y.index.is_unique:
            raise ValueError(
                f"y has the identifier {y.index[y.index.duplicated()][0]!r} twice; give one label for each"
            )
        y = y.to_dict()
    if not isinstance(y, str | os.PathLike | Mapping):
        return y
    if not isinstance(sequences, SequenceFiles):
        raise ValueError("y: sequences in memory have no identifiers; give an array of labels")
    headers, first, n_more = list(sequences.headers()), sequences.files[0][0], len(sequences.files) - 1
    if isinstance(y, str) and y == HEADER:
        _check_all_labelled(headers, sequences)
        return _numbered(label for _, label in headers)
    identifiers = [identifier for identifier, _ in headers]
    _check_different(identifiers, sequences)
    where = f"{first} and {n_more} more" if n_more else first
    named = f"y={os.fspath(y)!r}" if not isinstance(y, Mapping) else "y"
    known = y if isinstance(y, Mapping) else table_of_labels(os.fspath(y))
    missing = [identifier for identifier in identifiers if identifier not in known]
    if missing:
        raise DataError(
            f"{named} has no label for {len(missing):,} of the {len(identifiers):,} sequences of {where}, such as "
            f"{missing[0]!r}; add them, or take these sequences out"
        )
    unused = known.keys() - set(identifiers)
    if unused:
        warn(
            f"{len(unused):,} of the {len(known):,} labels of {named} are of no sequence in {where}, such as that of "
            f"{min(unused, key=str)!r}; they are left out"
        )
    return _numbered(known[identifier] for identifier in identifiers)


def table_of_labels(path: str) -> dict[str, str]:
    """The label of each identifier, from the first two columns of a table with tabs; packed or not."""
    if not is_url(path) and not Path(path).is_file():
        raise FileNotFoundError(f"y={path!r}: there is no such file; labels are a table of identifiers and labels, a "
                                "dict, an array, or 'header'")  # fmt: skip
    known: dict[str, str] = {}
    for at, (number, line) in enumerate(_lines(path)):
        identifier, tab, rest = line.partition("\t")
        label = rest.partition("\t")[0].strip()
        if at == 0 and identifier.strip().lower() in TITLES:
            continue
        if not tab or not label:
            raise DataError(f"{path}, line {number}: {line[:60]!r} should be an identifier, a tab and a label")
        if known.setdefault(identifier.strip(), label) != label:
            raise DataError(f"{path}, line {number}: {identifier.strip()!r} has had another label before")
    return known


def _lines(path: str) -> Iterator[tuple[int, str]]:
    """The lines of a file that are neither blank nor comments, with their numbers."""
    try:
        text = content_of(path, compression_of(path), "y").decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 ({error})") from error
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            yield number, line


def _check_different(identifiers: list[str], sequences: SequenceFiles) -> None:
    seen: dict[str, int] = {}
    for row, identifier in enumerate(identifiers):
        first = seen.setdefault(identifier, row)
        if first != row:
            (path, number), (again, other) = sequences.place_of(first), sequences.place_of(row)
            raise DataError(
                f"record {number} of {path} and record {other} of {again} have the same identifier, {identifier!r}, so "
                "that labels by identifier are ambiguous; rename one, or take it out"
            )


def _check_all_labelled(headers: list[tuple[str, str]], sequences: SequenceFiles) -> None:
    for row, (identifier, label) in enumerate(headers):
        if not label:
            path, number = sequences.place_of(row)
            raise DataError(
                f"{path}: record {number}, {identifier!r}, has nothing after its identifier, where y='header' takes "
                "the label from"
            )


def _numbered(labels: Iterable[Any]) -> Column:
    """Labels as numbers, since those of a taxonomy are long."""
    each, numbers = list(labels), dict[Any, int]()
    if len({type(label) for label in each}) > 1:
        check_labels(each)  # which refuses mixed kinds: 1 and True would be one label
    codes = np.array([numbers.setdefault(label, len(numbers)) for label in each], np.int32)
    return numbered(codes, check_labels(list(numbers)))


def sequences(
    X: Any, y: Any = None, k: int = 7, both_strands: bool = False, *, n_threads: int | None = None
) -> TextSource:
    """Open nucleotide sequences, whose k-mers become columns, for use as X in `fit`, `scan` or `predict`.

    Each pass reads them in blocks, so files may be of any size. K-mers are counted in compiled loops over the bytes of
    the file.

    Parameters
    ----------
    X : path, URL, list of these, or list of str
        FASTA or FASTQ files, or a pattern such as `silva/*.fasta.gz`; the first bytes give the format, and how they
        are compressed, by gzip, bzip2, xz, Zstandard or LZ4. FASTA may have several lines a
        sequence; FASTQ has four a record. Or sequences in memory.
    y : path, dict, "header" or (n_rows,), optional
        Labels. A path is a tab-separated table, as in QIIME 2: an identifier and its label, such as a taxonomy, in each
        line; further columns, comments ("#") and a header line ("Feature ID") are skipped. A dict maps identifiers to
        labels. "header" takes the rest of the header line, after the identifier. Without labels, pass an array to `fit`
        and `score`.
    k : int
        Letters of a k-mer, from 1 to 12. There are 4^k columns, 16,384 for 7; models take memory in proportion to
        classes times columns, so for thousands of classes k should not be more than 8.
    both_strands : bool
        Count each k-mer and its reverse complement in one column, so that sequences that are read in the other
        direction have the same columns: 8,192 for 7.
    n_threads : int, optional
        Threads that read and count; as many as there are cores by default.

    Returns
    -------
    TextSource
        With `n_rows`, `n_features` and `feature_names`, the k-mers (None for k above 8). A model that is fitted on it
        keeps k and the strands in its `encoding_`, so that `predict("reads.fastq.gz")` makes the same columns.

    Raises
    ------
    ValueError, TypeError
        An argument is wrong: the message names it.
    DataError
        A file is neither FASTA nor FASTQ, or cut off; a sequence is empty or has other letters; two have the same
        identifier, or one has no label. The message names the file and the record, counted from 0.

    Warns
    -----
    StreamnbWarning
        Labels of the table belong to no sequence; they are left out.

    Notes
    -----
    Lower-case letters, which mark masked regions, count as upper-case ones, and U as T. K-mers with a letter that
    stands for several (N, R, Y ..) are left out. A sequence without any k-mer is a row of zeros.

    Examples
    --------
    >>> import streamnb as snb
    >>> rows = snb.sequences(["ACGTACGTAC", "GGGTTTGGGT"], y=["Bacillus", "Vibrio"], k=3)
    >>> model = snb.LinearNB("multinomial").fit(rows)
    >>> model.predict(["ttgggttn"]).tolist()
    ['Vibrio']
    """
    n_threads = check_n_threads(n_threads)
    encoding, holder = KMers(k, both_strands), open_sequences(X, n_threads)
    return encoding.applied(holder, labels_of(y, holder), None, n_threads)


def _kinds() -> np.ndarray:
    """The kind of each byte: the number of a letter, or as in `kernels/ngrams`."""
    kinds = np.full(256, ngrams.WRONG, np.uint8)
    kinds[[ord(sign) for sign in "\n\r\t "]] = ngrams.IGNORED
    numbers = {letter: number for number, letter in enumerate(LETTERS)} | {"U": 3}
    numbers |= dict.fromkeys(AMBIGUITY, ngrams.AMBIGUOUS)
    for letter, number in numbers.items():
        kinds[[ord(letter), ord(letter.lower())]] = number
    return kinds


KINDS = _kinds()


@persistence.register
@dataclass(frozen=True)
class KMers(persistence.Parameters, Encoding):
    """A column for each k-mer; with both strands, for each k-mer and its reverse complement together."""

    k: int = 7
    both_strands: bool = False

    def __post_init__(self) -> None:
        k = arguments.positive_integer("k", self.k)
        if k > LONGEST_K:
            raise ValueError(f"k={k} should be from 1 to {LONGEST_K}: there are 4**k columns, {4**LONGEST_K:,} at most")
        object.__setattr__(self, "k", k)
        if not isinstance(self.both_strands, bool):
            raise TypeError(f"both_strands={self.both_strands!r} should be True or False")

    def __reduce__(self) -> Any:
        return KMers, (self.k, self.both_strands)

    @cached_property
    def _codes(self) -> np.ndarray:
        """The code of the k-mer of each column: two bits a letter; of a pair of strands the smaller one."""
        codes = np.arange(4**self.k, dtype=np.int32)
        return codes[codes <= self._reversed(codes)] if self.both_strands else codes

    def _reversed(self, codes: np.ndarray) -> np.ndarray:
        """Codes of the reverse complements."""
        reverse = np.zeros_like(codes)
        for _ in range(self.k):
            reverse, codes = reverse << 2 | 3 - (codes & 3), codes >> 2
        return reverse

    @cached_property
    def _numbers(self) -> np.ndarray:
        """The column of each code; nothing if it is the code itself."""
        if not self.both_strands:
            return np.empty(0, np.int32)
        codes = np.arange(4**self.k, dtype=np.int32)
        return np.searchsorted(self._codes, np.minimum(codes, self._reversed(codes))).astype(np.int32)

    @property
    def learned(self) -> bool:
        return False

    @property
    def n_columns(self) -> int:
        return (4**self.k + (4 ** (self.k // 2) if self.k % 2 == 0 else 0)) // 2 if self.both_strands else 4**self.k

    def names(self) -> np.ndarray | None:
        """The k-mer of each column; None if there are too many."""
        if self.k > NAMED_K:
            return None
        digits = self._codes[:, None] >> 2 * np.arange(self.k - 1, -1, -1) & 3
        return np.array(list(LETTERS))[digits].view(f"U{self.k}").ravel().astype(object)

    def __call__(self, sequences: Texts, first_row: int = 0) -> EncodedRows:
        """Counts of k-mers, (n_rows, n_columns), with sorted columns."""
        sizes = sequences.stops - sequences.starts
        longest, total, n_rows = int(sizes.max(initial=0)), int(sizes.sum()), len(sizes)
        keys, places = np.empty((2, longest), np.uint32), np.empty(1 << ngrams.DIGIT, np.int64)
        lengths, indptr = np.empty(n_rows, np.int64), np.zeros(n_rows + 1, np.int64)
        indices, data = np.empty(total, np.int32), np.empty(total, np.float32)
        wrong = ngrams.count_kmers(
            sequences.buffer, sequences.starts, sequences.stops, KINDS, self.k, self._numbers, self.n_columns,
            keys[0], keys[1], places, lengths, indptr, indices, data,
        )  # fmt: skip
        if wrong >= 0:
            raise DataError(_of_letter(sequences, int(wrong), first_row))
        if n_rows and not lengths.all():
            raise DataError(f"{_record(sequences, int(np.argmin(lengths)), first_row)} is empty; take it out")
        n = int(indptr[-1])
        return EncodedRows(data[:n].copy(), indices[:n].copy(), indptr, (n_rows, self.n_columns))

    def takes(self, X: Any) -> bool:
        if isinstance(X, str | os.PathLike):
            return not holds_numbers(X)
        return _are_paths(X) or holds_texts(X)

    def encode(self, X: Any, y: Any = None, weight: Any = None, *, labelled: bool = False) -> TextSource:
        holder = open_sequences(X, n_cores())
        return self.applied(holder, labels_of(y, holder), weight, n_cores())

    def applied(self, holder: Any, y: Any, weight: Any, n_threads: int) -> TextSource:
        """The sequences as rows with a column for each k-mer."""
        rows = TextSource(holder, open_columns(y, weight, holder.n_rows, False), n_threads=n_threads)
        made = rows.with_step(self, self.n_columns, shown(self), self.names(), self)
        made.names_last = False  # k and the strands say more of other columns than names do
        return made

    def differs(self, other: Encoding) -> str:
        if not isinstance(other, KMers):
            return "they were made of sequences"
        given = other._to_state()
        differing = ((name, value) for name, value in self._to_state().items() if given[name] != value)
        return ", ".join(f"{name}={given[name]} and not {value}" for name, value in differing)


def _record(sequences: Texts, row: int, first_row: int) -> str:
    """A record as messages name it."""
    if sequences.beside is None:
        return f"{sequences.where}: sequence {first_row + row}"
    return f"{sequences.where}: record {sequences.numbers[row]}, {header_of(sequences, row)[0]!r},"


def _of_letter(sequences: Texts, at: int, first_row: int) -> str:
    """What is wrong with the letter at a position of the buffer."""
    row = int(np.flatnonzero((sequences.starts <= at) & (at < sequences.stops))[0])
    letter = bytes(sequences.buffer[at : at + 4]).decode(errors="replace")[0]  # at most four bytes in UTF-8
    cure = "; take the gaps of an alignment out" if letter in "-." else ""
    return (
        f"{_record(sequences, row, first_row)} has {letter!r}, which is no letter of DNA or RNA: A, C, G, T or U, or "
        f"one of {AMBIGUITY} where several are possible{cure}"
    )


def open_sequences(X: Any, n_threads: int) -> SequenceFiles | TextsInMemory:
    """Sequences in files, or as strings in memory."""
    if _are_paths(X):
        return SequenceFiles([os.fspath(path) for path in X], n_threads)
    if not isinstance(X, str | os.PathLike):
        return TextsInMemory(X)
    path = os.fspath(X)
    if os.path.isdir(path):
        raise FileNotFoundError(
            f"X={path!r} is a folder; give a pattern of its files: {os.path.join(path, '*.fasta')!r}"
        )
    files = files_at(path, "; a single sequence goes in a list, [sequence]", recursive=False)
    return SequenceFiles(files, n_threads)


def _are_paths(X: Any) -> bool:
    if not isinstance(X, list | tuple) or not X:
        return False
    return all(
        isinstance(one, os.PathLike) or is_url(one) or (isinstance(one, str) and "." in one and os.path.isfile(one))
        for one in X
    )
