"""Transformers: bins of numbers, hashed words and categories, and counts of k-mers."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from streamnb.core import arguments, persistence, row_checks
from streamnb.core.arguments import Bytes, PerRow, Rows
from streamnb.core.row_checks import check_min_size
from streamnb.core.threads import check_n_threads
from streamnb.encoding.bins import STRATEGIES, BinEdges, check_edges
from streamnb.encoding.learning import LearnsBins, counted_values, matrix, prepared
from streamnb.encoding.ngrams import NGrams, check_n_features, columns_of, hashes_of, names_of_hashed
from streamnb.encoding.sequences import KMers
from streamnb.encoding.text import text
from streamnb.estimators.preparation import check_features, loaded_names
from streamnb.passes.contract import RunOptions
from streamnb.passes.passes import StatisticTask
from streamnb.passes.run import run
from streamnb.rows.opening import opened
from streamnb.rows.source import Source
from streamnb.rows.texts import TextsInMemory, TextSource
from streamnb.stats.value_counts import ValueCounts


@persistence.register
class Bins(LearnsBins, TransformerMixin, BaseEstimator):
    """One column for each bin of each feature: 1 where the value lies in the bin, else 0.

    Followed by `LinearNB("bernoulli")` this is naive Bayes with a histogram of each feature in each class, which makes
    no assumption about the shape of distributions.

    Parameters
    ----------
    n_bins : int
        Bins of each feature, at least 2. A feature with at most this many distinct values has one bin per value.
    strategy : {"quantile", "uniform"}
        Bins of about equal numbers of rows, or of equal width between the smallest and the largest value.
    edges : list of numbers, or a list for each feature, optional
        Inner borders, ascending, in place of learned ones: m of them make m + 1 bins.
    missing : {"auto"} or bool
        Whether features get a further bin, the last, for missing values (NaN): "auto" if `fit` has seen any in the
        feature, True for all, False for none. NaN in a feature without such a bin is an error.

    Attributes
    ----------
    edges_ : list of (n_edges,) float64
        Inner borders of the bins of each feature; bin i holds values above border i - 1 and up to border i.
    precision_ : (n_features,) float64
        Largest relative error of a learned quantile, which is never below the true one; 0 where it is exact.
    missing_ : (n_features,) bool
        Which features have a bin for missing values.
    n_features_in_ : int
    feature_names_in_ : (n_features,) str
        Only where X is a data frame with string column names.
    report_ : Report
        Rows, bytes, blocks and seconds of the scan.

    Notes
    -----
    One pass counts the values of each feature in cells of values that agree in their leading bits, with so few bits
    that at most 4,096 cells remain. Counts add up and are the same for any order of rows, threads and workers. A
    quantile is the true one, ``np.quantile(x, q, method="inverted_cdf")``, rounded up to the last number of its cell.
    It is exact for a feature with at most 4,096 distinct values; for others its relative error is below 2 b / 4,096,
    where b is the number of powers of two, of either sign, that the values span. The border lies half way to the next
    values, so that a value stays in its bin when it is stored in another precision. Up to 64 kB per feature are needed.

    Examples
    --------
    >>> import streamnb as snb
    >>> bins = snb.Bins(n_bins=2).fit([[1.0], [2.0], [3.0], [4.0]])
    >>> bins.get_feature_names_out().tolist()
    ['x0 in (-inf, 2.5]', 'x0 in (2.5, inf)']
    >>> bins.transform([[2.0], [3.0]]).toarray()
    array([[1., 0.],
           [0., 1.]])
    """

    def __init__(self, n_bins: int = 16, strategy: str = "quantile", *, edges: Any = None, missing: Any = "auto"):
        self.n_bins = n_bins
        self.strategy = strategy
        self.edges = edges
        self.missing = missing

    def fit(
        self,
        X: Rows,
        y: PerRow = None,
        *,
        progress: bool | None = None,
        n_threads: int | None = None,
        memory_limit: Bytes = None,
        client: Any = None,
        checkpoint: Any = None,
    ) -> Self:
        """Learn the borders of the bins in one pass.

        Parameters
        ----------
        X : (n_rows, n_features)
            Anything that `scan` takes, including a stream of chunks; dense rows may contain NaN.
        y : ignored
        progress, n_threads, memory_limit, client, checkpoint
            As in `scan`.

        Raises
        ------
        ValueError, TypeError
            A parameter or a value is wrong: the message names it.
        DataError
            Data cannot be read.
        MemoryError
            The counts would take more than `memory_limit`.
        """
        self._check_params()
        options = RunOptions(progress, n_threads, memory_limit, client, checkpoint)
        rows = opened(X, labelled=False, look=partial(check_features, self, reset=True))
        total, report = run(StatisticTask(counted_values(options)), rows, options)
        counts = total.whole()
        self._bins = self.learned(counts)
        exact = self.edges is not None or self.strategy == "uniform"
        shifts = [0 if exact else cells.shift for cells in counts.features]
        self.precision_ = np.array([2.0 ** (shift - 52) if shift else 0.0 for shift in shifts])
        self.n_features_in_, self.report_ = counts.n_features, report
        return self

    def learned(self, counts: ValueCounts) -> BinEdges:
        """The borders, from counts of values; checks parameters and values."""
        self._check_params()
        learned = BinEdges.learned(counts, self.n_bins, self.strategy, self.missing)
        if not self.missing and counts.missing.any():
            column = int(np.argmax(counts.missing > 0))
            raise ValueError(
                f"X has {counts.missing[column]} NaN in column {column}, and missing=False leaves no bin for them; "
                "use missing='auto' (Input X contains NaN.)"
            )
        given = check_edges(self.edges, counts.n_features)
        return learned if given is None else BinEdges(given.edges, learned.missing)

    def check_for(self, n_features: int) -> None:
        """Raise where parameters do not fit this number of features."""
        self._check_params()
        check_edges(self.edges, n_features)

    def _check_params(self) -> None:
        arguments.positive_integer("n_bins", self.n_bins, 2)
        arguments.one_of("strategy", self.strategy, STRATEGIES)
        if not isinstance(self.missing, bool | np.bool_):
            arguments.one_of("missing", self.missing, ["auto", True, False])

    def _opened(self, X: Any, *beside: Any) -> Source:
        """Rows with the fitted columns; `beside` are their labels and weights."""
        check_is_fitted(self, "_bins")
        rows = opened(X, *beside, labelled=False, look=partial(check_features, self))
        row_checks.check_n_features(rows.n_features, self.n_features_in_, type(self).__name__)
        return rows

    @property
    def edges_(self) -> list[np.ndarray]:
        """Inner borders of the bins of each feature."""
        return self._bins.edges

    @property
    def missing_(self) -> np.ndarray:
        """Which features have a bin for missing values."""
        return self._bins.missing

    def transform(self, X: Rows) -> Any:
        """The bins of rows.

        Parameters
        ----------
        X : (n_rows, n_features)
            Anything that `fit` takes.

        Returns
        -------
        (n_rows, n_columns) SciPy CSR
            float64, with n_features ones in each row; for Dask a lazy array of such blocks.
        """
        return matrix(self._bins, self._opened(X))

    def rows(self, X: Rows, y: PerRow = None, sample_weight: PerRow = None) -> Source:
        """Rows whose columns are bins, computed as the rows are read, for use as X in scans, fits and predictions.

        `transform` returns a matrix of all rows. This method bins each block when it is read, from stores, streams and
        Dask arrays of any size, and again in each pass.

        Parameters
        ----------
        X, y, sample_weight
            As in `scan`; give y and weights here, with the rows.

        Examples
        --------
        >>> import streamnb as snb
        >>> X, y = [[1.0], [2.0], [3.0], [9.0]], [0, 1, 1, 0]  # or a store
        >>> bins = snb.Bins(n_bins=4).fit(X)
        >>> snb.LinearNB("bernoulli").fit(bins.rows(X, y)).predict(bins.rows([[2.5], [8.0]])).tolist()
        [1, 0]
        """
        return prepared(self._bins, self._opened(X, y, sample_weight))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns, such as "x3 in (509, 733]" and "x3 is missing"."""
        check_is_fitted(self, "_bins")
        return np.array(self._bins.names(_check_feature_names_in(self, input_features)), object)

    def save(self, path: Any) -> None:
        """Write to one file, no pickle; read it with `snb.load`."""
        check_is_fitted(self, "_bins")
        persistence.save(path, self)

    def _to_state(self) -> dict[str, Any]:
        names = getattr(self, "feature_names_in_", None)
        if not hasattr(self, "_bins"):  # a parameter of a classifier, which keeps what it learned for it
            return {"params": self.get_params(), "bins": None}
        return {"params": self.get_params(), "bins": self._bins, "precision": self.precision_, "names": names}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        persistence.known(cls, state, "params", "bins", "precision", "names")
        self, bins = cls(**state["params"]), state["bins"]
        if bins is None:
            self._check_params()
            check_edges(self.edges, len(self.edges) if np.ndim(self.edges) > 1 else 1)
            return self
        if not isinstance(bins, BinEdges):
            raise ValueError(f"bins are of type {type(bins).__name__}")
        self._bins, self.n_features_in_ = bins, len(bins.edges)
        self.check_for(self.n_features_in_)
        self.precision_ = persistence.array("precision", state["precision"], ["f8"], (len(bins.edges),))
        if state["names"] is not None:
            self.feature_names_in_ = loaded_names(state["names"], self.n_features_in_)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags


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
        Count with the sign of the hash. Counts may then be negative, which naive Bayes does not accept.
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
        return _matrix_of(text(X, n_threads=n_threads).with_step(grams, grams.n_features, ""))

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
        return list(np.asarray(given, object).T)

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
