"""What (6.2) needs to know of the data: sums of both sides, counts and dispersion, whole and in blocks."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.problem.families import as_family
from streamnb.problem.schemes import as_scheme
from streamnb.problem.smoothing import Smoothing
from streamnb.solving.parts import Part

rng = np.random.default_rng(0)
Y = rng.integers(0, 4, 40)
X = rng.poisson(0.7 + (Y[:, None] == np.arange(9) % 4)).astype(float)
X[:, 5] = 0.0
STATS = snb.scan(X, Y)
EVERY = slice(None)
SUMS = np.stack([X[k == Y].sum(axis=0) for k in range(4)])


def part(family="poisson", stats=STATS, columns=EVERY, scheme="ovr", smoothing=0.0, idf=False, estimate=None):
    family = as_family(family)
    if columns == EVERY:
        columns = slice(0, stats.n_features)
    smoothing = Smoothing(family, smoothing, estimate or "posterior_mean")
    return Part(stats, family, columns, as_scheme(scheme, stats.classes, None, stats.multilabel), smoothing, idf)


def test_idf_multiplies_columns():
    weighted = part(idf=True)
    df = np.count_nonzero(X, axis=0)
    np.testing.assert_allclose(weighted.scale, np.log(41.0 / (1.0 + df)) + 1.0)
    np.testing.assert_allclose(weighted.sides().positive, SUMS * weighted.scale)
    assert part().scale is None


def test_each_label_of_an_indicator_has_its_own_dispersion():
    labels = np.stack([Y == 0, X[:, 1] > 1], axis=1).astype(int)
    shared, each = part("gaussian"), part("gaussian", snb.scan(X, labels))
    assert shared.phi().shape == (9,) and each.phi().shape == (2, 9)
    for k in range(2):
        own = part("gaussian", snb.scan(X, labels[:, k]))
        np.testing.assert_allclose(each.phi(slice(2, 6), slice(k, k + 1))[0], own.phi(slice(2, 6)))


class Tumbling(snb.Poisson):
    name = "falling link"

    def link(self, m):
        return -m


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: part(stats=snb.scan(-X, Y)), "Negative values .*family='poisson'"),
        (lambda: part(stats=snb.scan(-X, Y), columns=slice(2, 4)), r"feature 2 has a sum below 0 in class 0"),
        (
            lambda: part("bernoulli", idf=True),
            "idf=True means nothing for family='bernoulli', which sees presence only",
        ),
        (lambda: part(snb.Binomial(1)), r"family=Binomial\(k=1\) takes values of at most 1, but feature 0 has a mean"),
        (lambda: part(Tumbling()), "link that falls between the means"),
        (
            lambda: part("chi_squared", snb.scan(X, Y, moments=["log_sum"])),
            "takes values above 0, but feature 0 has others",
        ),
        (lambda: part(snb.Laplace(2.0), snb.scan(X, Y, moments=["deviation"])), "needs deviations from its centre"),
        (lambda: part("multinomial", smoothing=snb.DirichletPrior(0.5), estimate="map"), "has no mode"),
    ],
)
def test_data_that_do_not_go_with_the_family(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()
