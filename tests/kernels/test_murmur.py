"""MurmurHash3 of parts of a line, as scikit-learn computes it."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils import murmurhash3_32

from streamnb.kernels.compiler import kernel
from streamnb.kernels.ngrams import hash_bytes, hash_ngrams, hash_of

SPARE = 8


@kernel
def hashed(line, units, n_units, longest, seed, wholes, parts, every):
    n = hash_ngrams(line, units, n_units, 2, longest, seed, parts)
    n_bytes = len(line) - SPARE
    wholes[0] = hash_of(line, 0, n_bytes, seed)
    return n, hash_bytes(line, n_bytes, 1, longest, seed, every)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.binary(min_size=1, max_size=9), min_size=1, max_size=6), st.integers(1, 7), st.integers(0, 2**31 - 1)
)
def test_hypothesis_finds_no_part_with_another_hash(units, longest, seed):
    text = b"".join(units)
    ends = np.cumsum([len(unit) for unit in units])
    bounds, most = np.array([np.append(0, ends[:-1]), ends]), len(text) * longest
    line = np.frombuffer(text + bytes(range(1, SPARE + 1)), np.uint8).copy()
    wholes, parts, every = np.empty(1, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    n, m = hashed(line, bounds, len(units), longest, seed, wholes, parts, every)
    assert int(wholes[0]) == murmurhash3_32(text, seed, positive=True)
    lengths = range(1, longest + 1)
    expected = [b"".join(units[k : k + i]) for k in range(len(units)) for i in lengths if 1 < i <= len(units) - k]
    assert parts[:n].tolist() == [murmurhash3_32(part, seed, positive=True) for part in expected]
    expected = [text[k : k + i] for k in range(len(text)) for i in lengths if i <= len(text) - k]
    assert every[:m].tolist() == [murmurhash3_32(part, seed, positive=True) for part in expected]
