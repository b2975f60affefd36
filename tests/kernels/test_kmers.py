"""K-mers counted from bytes are those that a loop over strings counts, whatever the letters, lines and pieces."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamnb.encoding.sequences import KINDS, KMers
from streamnb.kernels import ngrams
from streamnb.kernels.ngrams import DIGIT
from streamnb.rows.texts import of_strings
from tests.support.reference_kmers import counted

SEQUENCES = st.lists(st.text("ACGTUacgtuNnRy\n\r", min_size=1).filter(str.strip), min_size=1, max_size=5)


@given(SEQUENCES, st.integers(1, 5), st.booleans())
def test_counts_are_those_of_a_loop_over_strings(sequences, k, both_strands):
    encoding = KMers(k, both_strands)
    found, names = encoding(of_strings(sequences)), encoding.names()
    for row, sequence in enumerate(sequences):
        here = slice(*found.indptr[row : row + 2])
        assert (np.diff(found.indices[here]) > 0).all()
        counts = dict(zip(names[found.indices[here]], found.data[here].tolist()))
        assert counts == counted(sequence, k, both_strands)


@pytest.mark.parametrize("k", range(1, 9))
def test_columns_are_numbered_in_the_order_of_their_names(k):
    for both_strands in (False, True):
        encoding = KMers(k, both_strands)
        names = encoding.names()
        assert len(names) == encoding.n_columns == len(set(names)) and list(names) == sorted(names)


@pytest.mark.parametrize(("sequence", "at"), [("ACGT", -1), ("ACJT", 2), ("AC-GT", 2), ("\xe9", 0), ("", -1)])
def test_the_first_wrong_byte_is_found(sequence, at):
    texts = of_strings([sequence])
    n = len(texts.buffer)
    keys, places = np.empty((2, n), np.uint32), np.empty(1 << DIGIT, np.int64)
    lengths, indptr, indices, data = np.zeros(1, int), np.zeros(2, int), np.empty(n, np.int32), np.empty(n, np.float32)
    numbers = np.empty(0, np.int32)
    arguments = texts.buffer, texts.starts, texts.stops, KINDS, 2, numbers, 16, *keys, places
    assert ngrams.count_kmers(*arguments, lengths, indptr, indices, data) == at
