"""Reads svmlight files, `label index:value ..`: the format of their lines, and the rows with their labels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments
from streamnb.core.messages import DataError
from streamnb.core.persistence import check_place
from streamnb.core.threads import n_cores
from streamnb.kernels.svmlight import NO_FEATURE, RIGHT, TOO_HIGH, read_lines, survey_lines
from streamnb.rows.files import CALLED, compression_of, kind_of
from streamnb.rows.labels import RowColumns
from streamnb.rows.line_files import LineFiles, LinePiece
from streamnb.rows.row_blocks import Block
from streamnb.rows.source import EncodedRows, Job, RawSource, Source
from streamnb.rows.zarr_reading import BufferPool

WIDEST = 2**31 - 1  # features; indices are int32
LONGEST = 1 << 10  # characters of a number that are read
PAD = 16  # newlines after the text, for loops that read ahead
_ROW, _QUERY = re.compile(rb"\s*[^\s#]"), re.compile(rb"\s*(?:[^\s:#]+\s+)?qid:(\d+)(?![^\s#])")


def svmlight(path: Any, *, n_features: int | None = None, zero_based: Any = "auto", multilabel: bool = False) -> Any:
    r"""Open an svmlight (libsvm) file for use as X; each pass reads it block by block, never as a whole.

    Each line is a row, ``label qid:query index:value index:value ..  # comment``. The query is optional; with
    ``groups="qid"`` it is the group of the row. Opening scans the file once for the number of rows and the
    highest index, several times faster than reading it.

    Parameters
    ----------
    path : path or URL
        The file may be compressed by gzip, bzip2, xz or (with pyarrow) zstd or lz4, recognised by its first bytes.
    n_features : int, optional
        One more than the highest index by default. Set it if other files must have the same number.
    zero_based : {"auto", True, False}
        Whether the first feature has index 0 or 1; "auto" means 0 if that index occurs.
    multilabel : bool
        Whether rows have any number of labels, separated by commas; y is then an indicator matrix, (n_rows,
        n_labels), whose columns are the `labels` in ascending order.

    Returns
    -------
    SvmlightFile
        Rows that come with labels: ``fit(rows)``, ``score(rows)``; ``fit(rows, y)`` uses others. It has `n_rows`,
        `n_features`, `zero_based` and `labels` (None unless `multilabel`).

    Raises
    ------
    OSError
        The file cannot be opened.
    DataError
        It is empty, truncated or of another format or, during a read, a line is wrong. The message names the row.
    ValueError
        An index is beyond `n_features`.

    Examples
    --------
    >>> import streamnb as snb
    >>> with open("four.svm", "w") as file:
    ...     _ = file.write("1 1:3\n2 2:3\n2 1:2 2:2\n1 1:1\n")
    >>> rows = snb.svmlight("four.svm")
    >>> rows.shape
    (4, 2)
    >>> snb.LinearNB().fit(rows).score(rows)
    1.0
    """
    arguments.one_of("zero_based", zero_based, ["auto", True, False])
    arguments.one_of("multilabel", multilabel, [False, True])
    if n_features is not None and arguments.positive_integer("n_features", n_features) > WIDEST:
        raise ValueError(f"n_features={n_features} is beyond {WIDEST}, the most that a svmlight file is read with")
    return SvmlightFile(path, n_features, zero_based, multilabel)


_DTYPES = "f8", "i8", "i8", "i4", "f8", "i8", "u1"  # labels, their ends, indptr, indices, values, odd numbers, text


@dataclass(frozen=True, eq=False)
class SvmlightFormat:
    """How lines are parsed; see `Format` for the same of texts and tables.

    `base` is the lowest index, `labels` are the distinct labels where rows have several. `memory` has a pool for each
    array of a piece, of which most is never touched.
    """

    path: str
    multilabel: bool
    base: int = 0
    n_features: int = WIDEST
    labels: np.ndarray | None = None
    with_labels: bool = True
    memory: tuple[BufferPool, ...] = ()

    def rows(self, piece: bytes, first_row: int, where: str) -> EncodedRows:
        """Parse whole lines."""
        (data, indices, indptr), labels, ends = self.parsed(piece, first_row)
        y = self._labelled(labels, ends) if self.with_labels else None
        return EncodedRows(data, indices, indptr, (len(ends) - 1, self.n_features), y)

    def _labelled(self, labels: np.ndarray, ends: np.ndarray) -> Any:
        """The label of each row, or the indicator matrix of several."""
        if self.labels is None:
            return labels
        columns = np.searchsorted(self.labels, labels)
        shape = len(ends) - 1, len(self.labels)
        indicator = sp.csr_array((np.ones(len(columns), np.uint8), columns, ends), shape=shape)
        indicator.sum_duplicates()
        indicator.data[:] = 1  # a row may repeat a label
        return indicator

    def parsed(self, piece: bytes, first_row: int) -> tuple[Any, np.ndarray, np.ndarray]:
        """CSR arrays of the features, the labels of all rows, and where those of each row end."""
        size, several = len(piece) + 1, self.multilabel
        n_labels, n_ends, n_values = (size if several else size // 2) + 1, size // 2 + 2, size // 3 + 1
        shapes = (n_labels,), (n_ends,), (n_ends,), (n_values,), (n_values,), (n_labels + n_values, 2), (size + PAD,)
        pools: Any = self.memory or (np,) * len(_DTYPES)
        new = (pool.empty(shape, np.dtype(t)) for pool, shape, t in zip(pools, shapes, _DTYPES, strict=True))
        labels, label_ends, indptr, indices, values, odd, text = arrays = tuple(new)
        size = _fill(text, piece)
        n_rows, n_odd, wrong, at = read_lines(text, size, several, self.base, self.n_features, *arrays[:-1])
        label_ends, indptr = label_ends[: n_rows + 1], indptr[: n_rows + 1]
        for place, begin in odd[:n_odd].tolist():  # numbers that are left to Python
            out, ends, i = (values, indptr, place) if place >= 0 else (labels, label_ends, -1 - place)
            token = _token(text, begin, several and place < 0)
            try:
                out[i] = float(token)
            except ValueError:
                row = first_row + int(np.searchsorted(ends, i, side="right")) - 1
                what = "value" if place >= 0 else "label"
                cure = "; give multilabel=True" if place < 0 and "," in token else ""
                raise self.wrong(row, f"the {what} {token!r}, which is not a number{cure}") from None
        if wrong != RIGHT:
            raise self.wrong(first_row + n_rows, self._why(wrong, _token(text, at)))
        n_values, n_labels = int(indptr[-1]), int(label_ends[-1])
        return (values[:n_values], indices[:n_values], indptr), labels[:n_labels], label_ends

    def _why(self, wrong: int, token: str) -> str:
        if wrong == NO_FEATURE:
            return f"{token!r} where a feature 'index:value' should be"
        index = int(token.partition(":")[0])
        if wrong == TOO_HIGH and self.n_features == WIDEST:
            return f"the feature index {index}, beyond {WIDEST}; number the features anew, or hash them"
        if index < self.base:
            return "the feature index 0, but is read with zero_based=False; give True, or number features from 1"
        where = "before a lower one" if wrong == TOO_HIGH else "after one that is not lower"  # indices rise
        return f"the feature index {index} {where}; sort the features of each row, each once"

    def wrong(self, row: int, what: str) -> DataError:
        """The error of a row; it says what the file looks like where that is something else."""
        kind = kind_of(self.path)
        instead = f" (it looks like {CALLED[kind]})" if kind else ""
        return DataError(f"X={self.path!r}: row {row} has {what}{instead}")


def _fill(text: np.ndarray, piece: bytes) -> int:
    """Copy whole lines into a longer array, which they end with newlines; return their size with the last newline."""
    text[: len(piece)], text[len(piece) :] = np.frombuffer(piece, np.uint8), ord("\n")
    return len(piece) + (not piece.endswith(b"\n"))


def _token(text: np.ndarray, begin: int, several: bool = False) -> str:
    """The token at `begin`: up to a blank, a comment or, among several labels, a comma."""
    token = text[begin : begin + LONGEST].tobytes().decode("latin-1")
    return re.split(r"[\0-\x20#,]" if several else r"[\0-\x20#]", token, maxsplit=1)[0]


class LineSurvey:
    """Counts the rows of a file while it is indexed, and finds its lowest and highest index, and several labels."""

    def __init__(self, form: SvmlightFormat):
        self._form, self.n_rows, self.lowest, self.highest, self.labels = form, 0, WIDEST, -1, np.empty(0)

    def whole_rows(self, text: bytes) -> tuple[int, int]:
        """The number of rows in whole lines, and the end of the last whole line."""
        end = text.rfind(b"\n") + 1
        return self.last_rows(text[:end]), end

    def last_rows(self, text: bytes) -> int:
        """The number of rows in lines, of which the last may have no end."""
        padded = np.empty(len(text) + PAD, np.uint8)
        size = _fill(padded, text)
        n_rows, lowest, highest = (-1, 0, 0) if self._form.multilabel else survey_lines(padded, size)
        if n_rows < 0:  # comments, and several labels
            X, labels, ends = self._form.parsed(text, self.n_rows)
            n_rows, lowest, highest = len(ends) - 1, int(X[1].min(initial=WIDEST)), int(X[1].max(initial=-1))
            self.labels = np.union1d(self.labels, labels)
        self.n_rows, self.lowest = self.n_rows + n_rows, min(self.lowest, lowest)
        self.highest = max(self.highest, highest)
        return int(n_rows)


class SvmlightFile(LineFiles):
    """An indexed svmlight file: its `shape`, and the labels that occur if rows have several."""

    ndim = 2

    def __init__(self, path: Any, n_features: int | None = None, zero_based: Any = "auto", multilabel: bool = False):
        self.path, self.multilabel = check_place("path", path), multilabel
        form = SvmlightFormat(str(self.path), multilabel)
        survey = LineSurvey(form)
        try:
            super().__init__([str(self.path)], lambda head, kind, where: (survey, 0), 1, compression_of)
        except DataError as error:
            raise DataError(f"{error} (after row {survey.n_rows})") from error
        self.zero_based = survey.lowest == 0 if zero_based == "auto" else zero_based
        self.labels = survey.labels if multilabel else None
        if not self.n_rows:
            raise DataError(f"X={str(self.path)!r} holds no rows; a row is a line 'label index:value index:value ..'")
        self.n_features = self._width(n_features, survey.highest)
        self.shape = self.n_rows, self.n_features
        form = replace(form, base=1 - int(self.zero_based), n_features=self.n_features, labels=self.labels)
        self._files = [replace(file, form=form) for file in self._files]

    def __repr__(self) -> str:
        return f"svmlight({str(self.path)!r}: {self.n_rows:,} rows, {self.n_features:,} features)"

    def _width(self, given: int | None, highest: int) -> int:
        found = highest + int(self.zero_based)
        about = f"X={str(self.path)!r} has the feature index {highest}"
        if given is not None and found > given:
            raise ValueError(
                f"n_features={given}, but {about}, which makes {found} features; give that number or more, the same "
                "for all files that go together"
            )
        if found > WIDEST:
            raise DataError(f"{about}, beyond {WIDEST}; number the features anew, or hash them")
        return max(found, 1) if given is None else given

    def _parsed_by(self, **changes: Any) -> Self:
        """A copy whose lines are parsed with other options of `SvmlightFormat`."""
        part = copy(self)
        part._files = [replace(file, form=replace(file.form, **changes)) for file in self._files]
        return part

    def without_labels(self) -> Self:
        """A copy whose rows bring no labels."""
        return self._parsed_by(with_labels=False)

    def jobs(self, start: int, stop: int) -> Iterator[Job]:
        return LineFiles.jobs(self._parsed_by(memory=tuple(BufferPool() for _ in _DTYPES)), start, stop)

    def column(self, column: str, name: str) -> np.ndarray:
        """The query numbers of all rows."""
        if column != "qid":
            raise ValueError(f"{name}={column!r} should be an array or 'qid', all that svmlight rows have beside")
        return np.concatenate([_queries(piece) for piece in self._files[0].pieces(0)])


def _queries(piece: LinePiece) -> np.ndarray:
    """The query numbers of a piece."""
    found = [_QUERY.match(line) for line in piece.piece.split(b"\n") if _ROW.match(line)]
    if None in found:
        row = piece.first_row + found.index(None)
        raise piece.form.wrong(row, "no qid:number after its label, which groups='qid' asks for")
    return np.array([int(match[1]) for match in found if match], np.int64)


class SvmlightSource(RawSource):
    """Rows of a svmlight file; see `RawSource`."""

    opened_by_user = costly_features = False

    def __init__(self, file: SvmlightFile, columns: RowColumns, own_labels: bool):
        raw = file if own_labels else file.without_labels()
        super().__init__(raw, columns, _features, file.n_features, n_threads=n_cores())
        self.file, self._own_labels = file, own_labels

    def layout(self) -> dict[str, str]:
        return {"the file": f"svmlight with {self.nbytes} bytes of text, zero_based={self.file.zero_based}"}

    def row_columns(self) -> Iterator[Block]:
        return super().row_columns() if self._own_labels else Source.row_columns(self)


def _features(rows: EncodedRows, first_row: int) -> EncodedRows:
    return rows
