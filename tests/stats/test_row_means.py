"""Weighted means over rows, whatever the blocks, rounded once."""

import math

import numpy as np
import pytest

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


def test_without_weight_there_is_no_mean():
    for means in RowMeans.of_values(["loss"]), means_of(slice(None), np.zeros(60)):
        assert means.weight == 0.0 and math.isnan(means.mean("loss"))
