"""Weighted means over rows, whatever the blocks, rounded once."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamnb.stats.row_means import RowMeans

rng = np.random.default_rng(0)
VALUES = rng.normal(size=(2, 60)) * 10.0 ** rng.integers(-8, 9, (2, 60))
WEIGHT = rng.uniform(0.1, 3.0, 60)


def means_of(rows, weight=WEIGHT):
    means = RowMeans.of_values(("loss", "right"))
    means.add(VALUES[:, rows], weight[rows])
    return means


def shown(means):
    return [means.mean(name) for name in ("loss", "right")], means.weight


def test_sums_are_rounded_once():
    found, weight = shown(means_of(slice(None), np.ones(60)))
    assert weight == 60.0
    assert found == [math.fsum(values) / 60.0 for values in VALUES]
    found, weight = shown(means_of(slice(None)))
    assert weight == math.fsum(WEIGHT)
    for mean, values in zip(found, VALUES):
        assert mean == pytest.approx(math.fsum(values * WEIGHT) / math.fsum(WEIGHT), rel=1e-13)


@given(st.lists(st.integers(0, 60), max_size=4))
def test_blocks_and_their_order_do_not_matter(cuts):
    edges = [0, *sorted(cuts), 60]
    parts = [slice(*edge) for edge in pairwise(edges)]
    whole, one = shown(means_of(slice(None))), RowMeans.of_values(("loss", "right"))
    for part in reversed(parts):
        one.add(VALUES[:, part], WEIGHT[part])
    assert shown(one.finish()) == whole
    assert shown(sum(map(means_of, parts), start=RowMeans.of_values(("loss", "right")))) == whole


def test_without_weight_there_is_no_mean():
    for means in RowMeans.of_values(["loss"]), means_of(slice(None), np.zeros(60)):
        assert means.weight == 0.0 and math.isnan(means.mean("loss"))
