"""`text`: opens texts in files or memory, hashed or counted by a vocabulary as they are read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from streamnb.core import arguments, persistence
from streamnb.core.guesses import with_hints
from streamnb.core.memory import check_memory_limit
from streamnb.core.messages import listed
from streamnb.core.persistence import shown
from streamnb.core.stored_files import is_url, relative
from streamnb.core.threads import check_n_threads, n_cores
from streamnb.encoding.encoding import Encoding
from streamnb.encoding.learning import OfCopies
from streamnb.encoding.ngrams import NGrams, TokenCounts, check_n_features, named, names_of_hashed
from streamnb.encoding.records import KINDS
from streamnb.passes.contract import RunOptions
from streamnb.passes.passes import StatisticTask
from streamnb.passes.run import run
from streamnb.rows.boundary import columns_in, holds_texts
from streamnb.rows.documents import TextFolders, WarcFiles
from streamnb.rows.files import (
    IPC,
    PARQUET,
    WARC,
    by_name,
    check_no_history,
    files_at,
    holds_numbers,
    is_folder,
)
from streamnb.rows.labels import open_columns
from streamnb.rows.line_files import TextFiles
from streamnb.rows.table_opening import format_of, open_tables
from streamnb.rows.tables import Fields, check_has
from streamnb.rows.texts import TextsInMemory, TextSource, column_of


@with_hints
def text(
    X: Any,
    text: str | None = None,
    y: Any = None,
    *,
    weight: Any = None,
    words: tuple[int, int] | None = (1, 1),
    chars: tuple[int, int] | None = None,
    bytes: tuple[int, int] | None = None,
    n_features: int = 1 << 18,
    vocabulary: Any = None,
    keep_tokens: int | None = None,
    lowercase: bool = True,
    alternate_sign: bool = False,
    errors: str = "strict",
    n_threads: int | None = None,
    memory_limit: Any = None,
) -> TextSource:
    r"""Open texts, whose words and n-grams become columns, for use as X in `fit`, `scan` or `predict`.

    Each pass reads the texts in blocks, starting at any row, and only the current blocks are in memory. This supports
    files of any size, checkpoints, clusters and models that need several passes.

    Parameters
    ----------
    X : path, URL, list of these, or texts
        Files, a pattern such as `news/*.jsonl`, or a folder. The extension gives the format. ".jsonl", ".ndjson" and
        ".json" are JSON lines; ".csv" and ".tsv" are tables with a header row; ".parquet", ".arrow" and ".feather" are
        tables. ".warc" and ".wet" are web archives with one row per text record, or the visible text of an HTML page.
        All others are plain text with one row per line. A further ".gz", ".bz2", ".xz", ".zst" or ".lz4" is
        decompressed. In a folder of folders, each folder is a class and each file a row. Or texts in memory: a list, an
        array, a column of pandas, Polars or Arrow, or a table of these. URLs in a list are opened if `text` names a
        field, and are texts otherwise.
    text : str, optional
        The field or column with the text.
    y, weight : str or (n_rows,), optional
        Labels and weights: the name of a field or column, or an array. The labels of folders are their names. Without
        them, pass labels and weights to `fit`, `scan` and `score`. Weights also count when a vocabulary is learned.
    words, chars, bytes : (shortest, longest), optional
        Lengths of n-grams of words, of characters and of bytes. Words are ``(?u)\b\w\w+\b``; n-grams of characters span
        words, and a run of spaces counts as one. Bytes are counted as stored, in any encoding, apart from the case of
        ASCII letters.
    n_features : int
        Number of columns, a power of two: the low bits of an n-gram's hash select its column.
    vocabulary : int or list of str, optional
        One column for each of these n-grams, instead of hashing; a number selects that many of the most frequent
        n-grams, in an extra pass. A model fitted on the rows keeps the vocabulary in its `encoding_`.
    keep_tokens : int, optional
        Number of tokens to keep for the names of hashed columns, from a sample of at most 16,384 rows.
    lowercase : bool
        As ``str.lower`` does it.
    alternate_sign : bool
        Whether an n-gram counts as 1 or -1, by the sign of its hash; families for counts need False.
    errors : {"strict", "replace", "ignore"}
        How bytes that are not UTF-8 are handled, as in ``bytes.decode``.
    n_threads : int, optional
        Threads that read and hash; as many as there are cores by default.
    memory_limit : int or str, optional
        Bytes that a vocabulary may take while it is being learned; half of the free memory by default.

    Returns
    -------
    TextSource
        With `n_rows`, `n_features`, `vocabulary` (a tuple, None where columns are hashed) and `feature_names` (None
        where no tokens were kept).

    Raises
    ------
    ValueError, TypeError
        An argument is wrong, or a label is missing: the message names it.
    DataError
        A file cannot be read: the message names it, and the row.
    ImportError
        Tables, JSON lines, CSV, .zst and .lz4 need pyarrow, ``pip install streamnb[tables]``; web archives fastwarc,
        ``pip install streamnb[warc]``.
    MemoryError
        A vocabulary would take more than `memory_limit`.

    Notes
    -----
    Columns and signs are those of scikit-learn's HashingVectorizer with ``norm=None``: with h the signed 32-bit
    MurmurHash3 of the n-gram's UTF-8, column abs(h) mod n_features and sign of h (Weinberger et al. 2009). When several
    kinds of n-grams are combined, those of characters are hashed with seed 1 and those of bytes with seed 2.

    Two different n-grams share a column with probability 1 / n_features; a given one shares its column with at least
    one of v others with probability 1 - (1 - 1 / n_features)^v.

    Files are indexed in one read when they are opened. To reach a row of a compressed file, everything before it is
    decompressed.

    Examples
    --------
    >>> import streamnb as snb
    >>> rows = snb.text(["red wine", "white wine", "green tea"], y=["wine", "wine", "tea"], n_features=2**10)
    >>> model = snb.LinearNB("multinomial").fit(rows)
    >>> model.predict(["white tea, green tea"]).tolist()
    ['tea']
    """
    n_threads = check_n_threads(n_threads)
    if not isinstance(text, str | None):
        raise TypeError(f"text={text!r} should be the name of one field; join the texts of several fields before")
    if vocabulary is None:
        check_n_features(n_features)
    grams = NGrams(words, chars, n_features, lowercase, alternate_sign, None, errors, bytes)
    rows = open_texts(X, text, y, weight, n_threads)
    names: np.ndarray | None = None
    fields = (one if isinstance(one, str) else None for one in (text, y, weight))
    if is_learned(vocabulary):
        to_learn = TextsToLearn(rows, LearnedVocabulary(grams, vocabulary, *fields), memory_limit)
        counts, _ = run(StatisticTask(to_learn.statistic), rows, RunOptions(None, n_threads))
        return to_learn.encoded(counts.whole())
    if vocabulary is not None:
        grams = replace(grams, alternate_sign=False, vocabulary=_tokens(vocabulary))
    elif keep_tokens is not None:
        n_tokens = arguments.positive_integer("keep_tokens", keep_tokens)
        names = names_of_hashed(rows, grams, n_tokens, text or "text")
    return TextEncoding(grams, *fields).applied(rows, names)


@persistence.register
@dataclass(frozen=True, eq=False)
class LearnedVocabulary(persistence.Parameters):
    """How a vocabulary is learned: of the most frequent n-grams of texts."""

    ngrams: NGrams
    n_tokens: int
    text: str | None = None
    y: str | None = None
    weight: str | None = None

    def __post_init__(self) -> None:
        arguments.positive_integer("vocabulary", self.n_tokens)
        replace(self.ngrams, vocabulary=("a",))  # refuses what no vocabulary has

    def counts(self, memory_limit: int | None = None) -> OfCopies:
        """The counts of no rows, to which rows are added."""
        return OfCopies(TokenCounts(self.ngrams, memory_limit))

    def encoding(self, counts: TokenCounts) -> TextEncoding:
        """The encoding, from the counts of all rows."""
        known = counts.most_frequent(self.n_tokens)
        if not known:
            raise ValueError("vocabulary: the texts have no word of two characters or more")
        grams = replace(self.ngrams, alternate_sign=False, vocabulary=known)
        return TextEncoding(grams, self.text, self.y, self.weight)


class TextsToLearn:
    """Texts whose vocabulary is learned in a pass: add `rows` to `statistic`, and give it to `encoded`."""

    def __init__(self, rows: TextSource, how: LearnedVocabulary, memory_limit: Any = None):
        self.rows, self.how = rows, how
        self.statistic = how.counts(check_memory_limit(memory_limit))

    @classmethod
    def from_options(cls, X: Any, y: Any, weight: Any, options: Mapping[str, Any]) -> TextsToLearn:
        """Create it from the arguments of `text`."""
        bound = signature(text).bind(X, y=y, weight=weight, **options)
        bound.apply_defaults()
        given = bound.arguments
        rows = open_texts(X, given["text"], y, weight, check_n_threads(given["n_threads"]))
        grams = NGrams(**{name: given[name] for name in (*KINDS, "n_features", "lowercase", "errors")})
        names = (one if isinstance(one, str) else None for one in (given["text"], y, weight))
        return cls(rows, LearnedVocabulary(grams, given["vocabulary"], *names), given["memory_limit"])

    def encoded(self, counts: TokenCounts, quiet: bool = False) -> TextSource:
        """The rows with a column for each of the most frequent n-grams."""
        return self.how.encoding(counts).applied(self.rows)


def _tokens(given: Any) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"vocabulary={given!r} should be a number of tokens to learn, or a list of tokens")
    known = tuple(map(str, given))
    if not known or len(set(known)) < len(known):
        raise ValueError(f"vocabulary should be different tokens; of its {len(known)} there are {len(set(known))}")
    return known


@persistence.register
@dataclass(frozen=True)
class TextEncoding(persistence.Parameters, Encoding):
    """The n-grams to count, and the fields that hold text, labels and weights."""

    ngrams: NGrams
    text: str | None = None
    y: str | None = None
    weight: str | None = None

    @property
    def learned(self) -> bool:
        return self.ngrams.vocabulary is not None

    @property
    def n_columns(self) -> int:
        return self.ngrams.n_columns

    def takes(self, X: Any) -> bool:
        if isinstance(X, str | os.PathLike):
            return not holds_numbers(X)
        columns = columns_in(X) or ()
        return _are_paths(X) or holds_texts(X) or self.text in columns or len(columns) not in (0, self.n_columns)

    def encode(self, X: Any, y: Any = None, weight: Any = None, *, labelled: bool = False) -> TextSource:
        if holds_texts(X):
            return self.applied(open_texts(X, None, y, weight, n_cores()))
        if labelled:
            y, weight = self.y if y is None else y, self.weight if weight is None else weight
        return self.applied(open_texts(X, self.text, y, weight, n_cores()))

    def applied(self, rows: TextSource, names: np.ndarray | None = None) -> TextSource:
        """The texts with encoded columns; `names` are those of hashed columns, if known."""
        if self.ngrams.vocabulary is not None:
            names = np.array([named(self.text or "text", token) for token in self.ngrams.vocabulary], object)
        made = rows.with_step(self.ngrams, self.n_columns, shown(self.ngrams), names, self)
        made.names_last = self.ngrams.vocabulary is not None
        return made

    def differs(self, other: Encoding) -> str:
        if not isinstance(other, TextEncoding):
            return "they were made of texts"
        fitted, given = self.ngrams.columns(), other.ngrams.columns()
        if self.ngrams.vocabulary != other.ngrams.vocabulary:
            return "they are those of another vocabulary"
        parts = [f"{name}={given[name]!r} and not {fitted[name]!r}" for name in fitted if given[name] != fitted[name]]
        return ", ".join(parts)


def open_texts(X: Any, text: str | None, y: Any, weight: Any, n_threads: int) -> TextSource:
    """Open texts of any kind with labels and weights; blocks hold the texts themselves."""
    texts, y, weight = _opened(X, text, y, weight, n_threads)
    return TextSource(texts, open_columns(y, weight, texts.n_rows, False), n_threads=n_threads)


def _opened(X: Any, text: str | None, y: Any, weight: Any, n_threads: int) -> tuple[Any, Any, Any]:
    """The holder of the texts, and the labels and weights that do not come with them."""
    are_urls = isinstance(X, list | tuple) and bool(X) and all(map(is_url, X))
    paths = list(X) if are_urls and text is not None else _paths(X)
    if paths is None:
        return _columns(X, text, y, weight)
    if not isinstance(paths, list):
        if text is not None or isinstance(y, str) or isinstance(weight, str):
            raise ValueError(f"text, y and weight name fields, but {paths} is a folder of texts, a file a row")
        folders = TextFolders(paths)
        return folders if y is None else folders.without_labels(), y, weight
    named_y, named_weight = (name if isinstance(name, str) else None for name in (y, weight))
    if all(by_name(path) == WARC for path in paths):
        files: Any = WarcFiles(paths)
        for name, given in (("y", named_y), ("weight", named_weight)):
            if given is not None:
                files.column(given, name)
    elif all(format_of(path) in (PARQUET, IPC) for path in paths):
        tables = open_tables(paths, {}, n_threads)
        if text is None:
            raise ValueError("text=None, but the files are tables; name the column that holds the text")
        for argument, field in (("text", text), ("y", named_y), ("weight", named_weight)):
            check_has(tables.schema, [field], argument)
        files = tables.selected(Fields((text,), named_y, named_weight, text=text))
    else:
        files = TextFiles(paths, {"text": text, "y": named_y, "weight": named_weight}, n_threads)
    return files, y if named_y is None else None, weight if named_weight is None else None


def _paths(X: Any) -> Any:
    """The files of X, sorted for a pattern or folder; a folder of folders itself; None if X is not a path."""
    if _are_paths(X):
        return [str(one) for one in X]
    if not isinstance(X, str | os.PathLike):
        return None
    path = os.fspath(X)
    if is_url(path):
        files = files_at(path)
        if not is_folder(path):
            return files
        return [one for one in files if "/" not in relative(one, path)] or path
    if os.path.isdir(path):
        check_no_history(path)
        files = sorted(str(one) for one in Path(path).iterdir() if one.is_file() and not one.name.startswith("."))
        if not files and not any(one.is_dir() for one in Path(path).iterdir()):
            raise ValueError(f"X={path!r} is an empty folder")
        return files or Path(path)
    return files_at(path, "; a single text goes in a list, [text]")


def _are_paths(X: Any) -> bool:
    return isinstance(X, list | tuple) and bool(X) and all(isinstance(one, os.PathLike) for one in X)


def is_learned(vocabulary: Any) -> bool:
    """Whether a vocabulary is a number of n-grams to learn, rather than the n-grams themselves."""
    return isinstance(vocabulary, int | np.integer) and not isinstance(vocabulary, bool)


def _columns(X: Any, text: str | None, y: Any, weight: Any) -> tuple[TextsInMemory, Any, Any]:
    """The named columns of a table; if X is not a table, X itself."""
    names = columns_in(X)
    if names is None:
        if text is not None or isinstance(y, str) or isinstance(weight, str):
            given = next(f"{k}={v!r}" for k, v in (("text", text), ("y", y), ("weight", weight)) if isinstance(v, str))
            raise ValueError(f"{given} names a column, but {TextsInMemory.no_columns}")
        return TextsInMemory(X), y, weight
    if text is None:
        raise ValueError(f"X is a table; text= should name its column of texts: {listed(names)}")
    columns = (column_of(X, one, name) if isinstance(one, str) else one for name, one in (("y", y), ("weight", weight)))
    y, weight = (np.asarray(one) if hasattr(one, "to_numpy") else one for one in columns)
    return TextsInMemory(column_of(X, text, "text"), X), y, weight
