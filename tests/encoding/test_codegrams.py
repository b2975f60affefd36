"""Codegrams: the example by hand, a naive twin, streams cut anywhere, scales, and what is refused."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import streamnb as snb
from streamnb.encoding import codegrams
from tests.support import naive
from tests.support.refusals import cases, refused

R, T = [1.0, 1.2, 1.1, 1.3, 1.3, 1.0], [0.8, 0.9, 0.7, 0.7, 0.8, 0.85]  # ABAED


def told(counts, order=3):
    """Rows of counts by word."""
    names = snb.codegram_names(order)
    return [{str(names[j]): int(row[j]) for j in np.flatnonzero(row)} for row in counts.toarray()]


def same(a, b):
    return a.shape == b.shape and all(
        np.array_equal(getattr(a, p), getattr(b, p)) for p in ("data", "indices", "indptr")
    )


# ---- what is counted -------------------------------------------------------------------------------------------------


def test_the_example_by_hand():
    counts = snb.codegram(R, T)
    assert isinstance(counts, sp.csr_array) and counts.dtype == np.int32 and counts.shape == (1, 216)
    assert np.flatnonzero(counts.toarray()[0]).tolist() == [6, 27, 40]
    assert told(counts) == [{"ABA": 1, "BAE": 1, "AED": 1}]


def test_names_are_the_words_in_the_order_of_the_alphabet():
    names = snb.codegram_names()
    assert names.shape == (216,) and names[[0, 6, 40, 27, 215]].tolist() == ["AAA", "ABA", "BAE", "AED", "FFF"]
    assert snb.codegram_names(1).tolist() == list("ABCDEF") and sorted(names) == names.tolist()
    frame = pd.DataFrame(snb.codegram(R, T).toarray(), columns=names)
    assert frame["BAE"].item() == 1


beats = st.tuples(st.integers(1, 6), st.integers(1, 6))
records = st.lists(st.lists(beats, min_size=1, max_size=30), min_size=1, max_size=4)


@given(records, st.integers(1, 5), st.integers(1, 4), st.integers(0, 9), st.data())
def test_counts_are_those_of_the_naive_twin_for_any_cut(given_records, order, stride, more, data):
    length = None if more == 9 else order + more
    kept = [record for record in given_records if length is None or len(record) > length]
    if not kept:
        return
    both = np.array([beat for record in kept for beat in record]).T
    groups = np.repeat(np.arange(len(kept))[::-1], [len(record) for record in kept])
    expected = naive.codegram([list(zip(*record)) for record in kept], order, stride, length)
    whole = snb.codegram(*both, order, stride, length, groups)
    assert told(whole, order) == expected
    assert whole.has_sorted_indices and whole.has_canonical_format and whole.indices.dtype == np.int32
    edges = [0, *sorted(data.draw(st.lists(st.integers(0, both.shape[1]), max_size=4))), both.shape[1]]
    cut = [slice(*edge) for edge in pairwise(edges)]
    parts = ((*both[:, part], groups[part]) for part in cut)
    assert same(snb.codegram(parts, None, order, stride, length), whole)
    parts = [list(both[:, part]) for part in cut]
    assert same(snb.codegram(parts, None, order, stride, length, groups), whole)


@given(st.lists(beats, min_size=1, max_size=40), st.integers(1, 1000), st.integers(1, 1000), st.integers(-40, 40))
def test_units_do_not_matter(given_beats, a, b, power):
    amplitudes, intervals = np.array(given_beats).T
    expected = snb.codegram(amplitudes, intervals)
    assert same(snb.codegram(a * amplitudes, b * intervals), expected)
    assert same(snb.codegram(amplitudes * 2.0**power, intervals * 0.25), expected)


@pytest.mark.parametrize("dtype", [np.int16, np.uint8, np.uint64, np.float32, np.float64])
def test_numbers_of_any_kind_give_the_same_counts(dtype):
    amplitudes, intervals = np.random.default_rng(0).integers(60, 250, (2, 80))
    expected = snb.codegram(amplitudes, intervals)
    assert same(snb.codegram(amplitudes.astype(dtype), pd.Series(intervals).astype(dtype)), expected)
    assert same(snb.codegram(amplitudes.astype(dtype), (intervals / 256.0).tolist()), expected)
    mixed = [(amplitudes[:30], intervals[:30]), (amplitudes[30:].astype(dtype), intervals[30:])]
    assert same(snb.codegram(iter(mixed)), expected)


def test_whole_numbers_are_compared_exactly():
    large = 3_037_000_499
    assert told(snb.codegram([large - 1, large], [large - 2, large - 1], 1), 1) == [{"E": 1}]
    assert told(snb.codegram([large - 2, large - 1], [large - 1, large], 1), 1) == [{"A": 1}]
    assert float(large) * (large - 2) == float(large - 1) ** 2  # which rounding would take for a tie


# ---- what is refused -------------------------------------------------------------------------------------------------

ONE = [1.0, 2.0, 3.0]
VALUES = {
    "NaN": (np.nan, "finite and above 0"),
    "infinity": (np.inf, "finite and above 0"),
    "zero": (0.0, "finite and above 0"),
    "negative": (-1.0, "finite and above 0"),
    "too large": (1e200, "another unit"),
    "too small": (1e-200, "another unit"),
    "a whole number too large": (2**40, "3.037e\\+09.*another unit"),
    "a whole zero": (0, "finite and above 0"),
}


@cases(VALUES)
@pytest.mark.parametrize("name", ["R", "T"])
def test_values_that_are_none_are_refused_with_their_beat(case, name):
    value, cure = case
    good = np.full(12, 5, type(value))
    bad = good.copy()
    bad[9] = value
    pair = (bad, good) if name == "R" else (good, bad)
    what = "amplitudes" if name == "R" else "intervals"
    with refused(ValueError, f"^{name} has ", "at beat 9;", what, cure):
        snb.codegram(*pair)
    with refused(ValueError, f"^{name} has ", "at beat 9;", what, cure):
        snb.codegram(
            (part[:8], other[:8]) if k == 0 else (part[8:], other[8:]) for k, (part, other) in enumerate([pair] * 2)
        )


REFUSED = [
    ({"order": 0}, ValueError, "order=0", "at least 1"),
    ({"order": 2.5}, TypeError, "order=2.5", "whole number"),
    ({"order": True}, TypeError, "order=True", "whole number"),
    ({"order": 9}, ValueError, "order=9", "at most 8"),
    ({"stride": 0}, ValueError, "stride=0", "at least 1"),
    ({"stride": -1}, ValueError, "stride=-1", "at least 0|at least 1"),
    ({"stride": "1"}, TypeError, "stride='1'", "whole number"),
    ({"length": 2}, ValueError, "length=2", "at least order=3"),
    ({"length": 0}, ValueError, "length=0", "at least order=3"),
    ({"length": 3.5}, TypeError, "length=3.5", "whole number"),
    ({"length": 6}, ValueError, "length=6", "record", "5 letters", "shorter"),
    ({"length": 2**70}, ValueError, "length=", "64 bits"),
    ({"R": ONE, "T": ONE[:2]}, ValueError, "R has 3, T has 2", "one for each beat"),
    ({"R": [(ONE, ONE), (ONE, ONE[:2])], "T": None}, ValueError, "R has 3, T has 2", "from beat 3 on"),
    ({"R": np.array(ONE), "T": None}, TypeError, "T is missing", "pieces \\(R, T\\)"),
    ({"R": ONE, "T": None}, TypeError, "T is missing", "piece 0 of R is a float"),
    ({"R": [(ONE, ONE, ONE, ONE)], "T": None}, TypeError, "piece 0", "tuple of 4", "\\(R, T, groups\\)"),
    ({"R": [], "T": []}, ValueError, "R holds no beats"),
    ({"R": iter([]), "T": None}, ValueError, "R holds no beats", "generator"),
    ({"R": [ONE], "T": [ONE]}, ValueError, "R has shape \\(1, 3\\)", "1-D"),
    ({"R": [ONE, ONE[:2]], "T": [1.0, 2.0]}, ValueError, "R should be 1-D"),
    ({"R": ONE, "T": list("abc")}, TypeError, "T has dtype <U1", "numbers"),
    ({"R": [True] * 3, "T": ONE}, TypeError, "R has dtype bool", "numbers"),
    ({"R": np.ma.array(ONE, mask=[0, 1, 0]), "T": ONE}, ValueError, "R has masked entries", "leave such beats out"),
    ({"groups": ["x"] * 5}, ValueError, "R has 6, T has 6, groups has 5"),
    ({"groups": [["x"] * 6]}, ValueError, "groups", "1d array"),
    ({"groups": ["x", "x", None, "x", "x", "x"]}, ValueError, "groups has a missing label at row 2"),
    ({"groups": list("xxyyxx")}, ValueError, "groups has 'x' at beat 4 once more", "sort by record"),
    ({"groups": [1, 2, 2, 2, 2, 1]}, ValueError, "groups has 1 at beat 5 once more", "stand together"),
]


@pytest.mark.parametrize("case", REFUSED)
def test_beats_groups_and_options_that_are_refused(case):
    given_options, error, *words = case
    with refused(error, *words):
        snb.codegram(**{"R": R, "T": T, **given_options})


def test_names_refuse_the_same_orders():
    with refused(ValueError, "order=9", "at most 8"):
        snb.codegram_names(9)


def test_groups_that_return_in_a_later_piece_are_refused():
    pieces = [(ONE, ONE, list("xxy")), (ONE, ONE, list("yyx"))]
    with refused(ValueError, "groups has 'x' at beat 5 once more"):
        snb.codegram(pieces)
    with refused(ValueError, "R has 6, groups has 7 entries from beat 0"):
        snb.codegram([piece[:2] for piece in pieces], groups=list("xxyyyyy"))
    with refused(ValueError, "R has 3, T has 3, groups has 2 entries from beat 3"):
        snb.codegram([piece[:2] for piece in pieces], groups=list("xxyyy"))


def test_groups_come_in_one_way():
    with refused(ValueError, "groups is given", "piece 1 of R brings groups", "leave one of them out"):
        snb.codegram([(ONE, ONE), (ONE, ONE, ONE)], groups=[1] * 6)
    with refused(ValueError, "piece 1 has groups, unlike"):
        snb.codegram([(ONE, ONE), (ONE, ONE, [1, 1, 1])])
    with refused(ValueError, "piece 1 has no groups, unlike"):
        snb.codegram([(ONE, ONE, [1, 1, 1]), (ONE, ONE)])


def test_the_record_that_is_shorter_than_a_window_is_named():
    for groups, length, record in (("xxyyyy", 2, "'x' from beat 0"), ("xxxxyy", 2, "'y' from beat 4")):
        for pieces in ([(R, T, list(groups))], [(R[:3], T[:3], list(groups[:3])), (R[3:], T[3:], list(groups[3:]))]):
            with refused(
                ValueError, f"length={length}", f"record {record} on: 2 beats are 1 letters", "leave that record"
            ):
                snb.codegram(pieces, order=1, length=length)


def test_a_row_of_more_letters_than_its_counts_hold_is_refused(monkeypatch):
    monkeypatch.setattr(codegrams, "MOST", 4)
    assert snb.codegram(R, T, length=5).sum() == 3
    with refused(ValueError, "the record from beat 0 on has 5 letters", "length="):
        snb.codegram(R, T)
