"""KMerVectorizer: sequences of nucleotides to counts of k-mers, in scikit-learn's pipelines."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin

from streamnb.core.threads import check_n_threads
from streamnb.core.types import PerRow, Rows
from streamnb.encoding.sequences import KMers
from streamnb.estimators.hashed import matrix_of, numbered
from streamnb.rows.texts import TextsInMemory


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
        return matrix_of(kmers.applied(sequences, None, None, n_threads))

    def _kmers(self) -> KMers:
        return KMers(self.k, self.both_strands)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The k-mer of each column; column numbers for k above 8."""
        kmers = self._kmers()
        names = kmers.names()
        return numbered(kmers.n_columns) if names is None else names

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.requires_fit = False
        return tags
