"""Transformers that count: words of texts, values of categorical columns, and k-mers of sequences."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import validate_data

from streamnb.core import arguments
from streamnb.core.arguments import PerRow, Rows
from streamnb.core.row_checks import check_min_size
from streamnb.core.threads import check_n_threads
from streamnb.encoding.ngrams import NGrams, check_n_features, columns_of, hashes_of, names_of_hashed
from streamnb.encoding.sequences import KMers
from streamnb.encoding.text import text
from streamnb.rows.texts import TextsInMemory, TextSource


class HashedText(TransformerMixin, BaseEstimator):
    r"""Counts of words and n-grams of texts in hashed columns, as scikit-learn's HashingVectorizer counts them.

    Parameters
    ----------
    words, chars, bytes : (shortest, longest), optional
        Lengths of n-grams of words, ``(?u)\b\w\w+\b``, of characters and of bytes, as in `text`; at least one of them.
    n_features : int
        Columns, a power of two.
    lowercase : bool
        As ``str.lower`` does it.
    alternate_sign : bool
        Count with the sign of the hash; counts may then be negative, which naive Bayes does not accept.
    keep_tokens : int, optional
        Let `fit` learn this many tokens for `get_feature_names_out`.
    errors : {"strict", "replace", "ignore"}
        How bytes that are not UTF-8 are treated.
    n_threads : int, optional
        Threads; as many as there are cores by default.

    Attributes
    ----------
    feature_names_ : (n_features,) str
        Only with `keep_tokens`.

    Notes
    -----
    The matrix is that of ``HashingVectorizer(n_features=n_features, ngram_range=words, norm=None,
    alternate_sign=alternate_sign)``, or with ``analyzer="char", ngram_range=chars``: column abs(h) mod n_features with
    h the signed 32-bit MurmurHash3 of an n-gram's UTF-8 (Weinberger et al. 2009). See `snb.text` for files, and for
    texts that are read in blocks.

    Examples
    --------
    >>> import streamnb as snb
    >>> snb.HashedText(n_features=2**10).fit_transform(["green tea", "red wine, red tea"]).sum(axis=1)
    array([2., 4.])
    """

    def __init__(
        self,
        words: Any = (1, 1),
        chars: Any = None,
        *,
        bytes: Any = None,
        n_features: int = 1 << 18,
        lowercase: bool = True,
        alternate_sign: bool = False,
        keep_tokens: int | None = None,
        errors: str = "strict",
        n_threads: int | None = None,
    ):
        self.words = words
        self.chars = chars
        self.bytes = bytes
        self.n_features = n_features
        self.lowercase = lowercase
        self.alternate_sign = alternate_sign
        self.keep_tokens = keep_tokens
        self.errors = errors
        self.n_threads = n_threads

    def fit(self, X: Rows, y: PerRow = None) -> Self:
        """Check the parameters, and learn tokens for names with `keep_tokens`.

        Parameters
        ----------
        X : (n_rows,) str
            Texts: a list, an array, or a column of pandas, Polars or Arrow.
        y : ignored
        """
        grams = self._grams()
        self.__dict__.pop("feature_names_", None)
        if self.keep_tokens is not None:
            n_tokens = arguments.positive_integer("keep_tokens", self.keep_tokens)
            rows = text(X, n_threads=self.n_threads).with_step(None, 1, "texts")
            self.feature_names_ = names_of_hashed(rows, grams, n_tokens, "text")
        return self

    def transform(self, X: Rows) -> sp.csr_array:
        """Count the n-grams of texts in hashed columns.

        Parameters
        ----------
        X : (n_rows,) str
            As in `fit`.

        Returns
        -------
        (n_rows, n_features) SciPy CSR, float64

        Raises
        ------
        ValueError, TypeError
            A row is not a text: the message names it.
        """
        grams, n_threads = self._grams(), check_n_threads(self.n_threads)
        if not TextsInMemory(X).n_rows:
            return sp.csr_array((0, grams.n_features))
        rows = text(X, n_threads=n_threads).with_step(grams, grams.n_features, "")
        return _matrix_of(rows)

    def _grams(self) -> NGrams:
        options = self.n_features, self.lowercase, self.alternate_sign, None, self.errors
        return NGrams(self.words, self.chars, *options, self.bytes)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns: tokens found by `fit`, else column numbers."""
        return getattr(self, "feature_names_", _numbered(check_n_features(self.n_features)))

    def __sklearn_tags__(self) -> Any:
        return _of_texts(super().__sklearn_tags__())


class Hashed(TransformerMixin, BaseEstimator):
    """Feature hashing of categorical columns: each cell is a 1 in the column given by the hash of "column=value".

    Only column names are learned, so that unseen values have a column as well, and columns with millions of values take
    no memory.

    Parameters
    ----------
    n_features : int
        Columns, a power of two.
    alternate_sign : bool
        Use the sign of the hash instead of 1.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : (`n_features_in_`,) str
        Only where X is a data frame with string column names; the columns are called x0, x1, .. otherwise.

    Notes
    -----
    The matrix is that of scikit-learn's FeatureHasher for dicts of strings. A missing value, None or NaN, is a value
    of its own. A value shares its column with one of v others with probability 1 - (1 - 1 / n_features)^v.

    Examples
    --------
    >>> import streamnb as snb
    >>> snb.Hashed(n_features=2**10).fit_transform([["AA", "JFK"], ["AA", "LGA"]]).sum(axis=1)
    array([2., 2.])
    """

    def __init__(self, n_features: int = 1 << 18, *, alternate_sign: bool = False):
        self.n_features = n_features
        self.alternate_sign = alternate_sign

    def fit(self, X: Rows, y: PerRow = None) -> Self:
        """Store the names of the columns.

        Parameters
        ----------
        X : (n_rows, n_columns)
            A data frame, an array or a list of lists; values are compared by their ``str``.
        y : ignored
        """
        check_n_features(self.n_features)
        self._columns(X, reset=True)
        return self

    def transform(self, X: Rows) -> sp.csr_array:
        """Hash the columns of X.

        Parameters
        ----------
        X : (n_rows, n_columns)
            As in `fit`.

        Returns
        -------
        (n_rows, n_features) SciPy CSR, float64
            Values in the same column add up.
        """
        n_features = check_n_features(self.n_features)
        cells = self._columns(X, reset=not hasattr(self, "n_features_in_"))
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(len(cells))])
        hashed_columns = [self._hashed(name, values, n_features) for name, values in zip(names, cells, strict=True)]
        n_rows = len(cells[0])
        columns, signs = (np.stack(parts, axis=1).reshape(-1) for parts in zip(*hashed_columns, strict=True))
        indptr = np.arange(n_rows + 1) * len(cells)
        hashed = sp.csr_array((signs.astype(np.float64), columns, indptr), shape=(n_rows, n_features))
        hashed.sum_duplicates()
        return hashed

    def _columns(self, X: Any, reset: bool) -> list[np.ndarray]:
        """The columns of X, each an array of objects."""
        if sp.issparse(X):
            raise TypeError("X is sparse; Hashed takes a data frame, an array or a list of lists: X.toarray()")
        if getattr(getattr(X, "dtype", None), "kind", None) == "c":
            raise ValueError("Complex data not supported: X should hold strings, whole numbers or other categories")
        given = X if hasattr(X, "columns") else np.asarray(X, object)
        if len(given.shape) != 2:
            raise ValueError(
                f"X has shape {given.shape}; it should be a table of shape (n_rows, n_columns). Reshape your data: "
                "X.reshape(-1, 1) is one column"
            )
        if reset:
            check_min_size(*given.shape)
        validate_data(self, given, reset=reset, skip_check_array=True)
        table = np.asarray(given, object)
        return list(table.T)

    def _hashed(self, name: Any, values: np.ndarray, n_features: int) -> tuple[np.ndarray, np.ndarray]:
        known: dict[str, int] = {}
        cells = [f"{name} is missing" if v is None or v != v else f"{name}={v}" for v in values.tolist()]
        codes = np.array([known.setdefault(cell, len(known)) for cell in cells], np.int64)
        columns, signs = columns_of(hashes_of(list(known)), n_features)
        return columns[codes], signs[codes] if self.alternate_sign else np.ones(len(codes), np.int64)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Column numbers as names."""
        return _numbered(check_n_features(self.n_features))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = tags.input_tags.allow_nan = True
        tags.requires_fit = False
        return tags


class KMerVectorizer(TransformerMixin, BaseEstimator):
    """Counts of the k-mers of nucleotide sequences, for pipelines of scikit-learn.

    In the pipelines of q2-feature-classifier it takes the place of HashingVectorizer.

    Parameters
    ----------
    k : int
        Letters of a k-mer, from 1 to 12. There are 4^k columns, 16,384 for 7.
    both_strands : bool
        Count each k-mer and its reverse complement in one column: 8,192 for 7.
    n_threads : int, optional
        Threads; as many as there are cores by default.

    Notes
    -----
    The counts are those of `snb.sequences`, which reads files, too, and passes over the sequences in blocks.

    Examples
    --------
    >>> import streamnb as snb
    >>> kmers = snb.KMerVectorizer(k=2)
    >>> kmers.fit_transform(["ACGTAC", "ccgn"]).sum(axis=1)
    array([5., 2.])
    >>> kmers.get_feature_names_out()[:5].tolist()
    ['AA', 'AC', 'AG', 'AT', 'CA']
    """

    def __init__(self, k: int = 7, both_strands: bool = False, *, n_threads: int | None = None):
        self.k = k
        self.both_strands = both_strands
        self.n_threads = n_threads

    def fit(self, X: Rows, y: PerRow = None) -> Self:
        """Check the parameters; nothing is learned.

        Parameters
        ----------
        X, y : ignored
        """
        self._kmers()
        return self

    def transform(self, X: Rows) -> sp.csr_array:
        """Count the k-mers of sequences.

        Parameters
        ----------
        X : (n_rows,) str or bytes
            Sequences: a list, an array, or a column of pandas, Polars or Arrow. Letters are treated as in
            `snb.sequences`.

        Returns
        -------
        (n_rows, n_columns) SciPy CSR, float64

        Raises
        ------
        DataError
            A sequence is empty, or has a letter that is none of DNA or RNA: the message names it.
        ValueError, TypeError
            A parameter is wrong, or a row is no sequence.
        """
        kmers, n_threads, sequences = self._kmers(), check_n_threads(self.n_threads), TextsInMemory(X)
        if not sequences.n_rows:
            return sp.csr_array((0, kmers.n_columns))
        return _matrix_of(kmers.applied(sequences, None, None, n_threads))

    def _kmers(self) -> KMers:
        return KMers(self.k, self.both_strands)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The k-mer of each column; column numbers for k above 8."""
        kmers = self._kmers()
        names = kmers.names()
        return _numbered(kmers.n_columns) if names is None else names

    def __sklearn_tags__(self) -> Any:
        return _of_texts(super().__sklearn_tags__())


def _of_texts(tags: Any) -> Any:
    """The tags of a transformer of texts that needs no fit."""
    tags.input_tags.string, tags.input_tags.two_d_array = True, False
    tags.requires_fit = False
    return tags


def _matrix_of(rows: TextSource) -> sp.csr_array:
    """All rows as one matrix, (n_rows, n_features) float64."""
    parts = [sp.csr_array(block.X[:3], shape=(block.n_rows, rows.n_features)) for block in rows.blocks()]
    return sp.vstack(parts, format="csr", dtype=np.float64)


def _numbered(n_columns: int) -> np.ndarray:
    """Names of columns by their numbers: x0, x1, .."""
    return np.array([f"x{column}" for column in range(n_columns)], object)
