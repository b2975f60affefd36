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


def part(family="poisson", stats=STATS, columns=EVERY, scheme="ovr", smoothing=0.0, idf=False, estimate=None):
    family = as_family(family)
    if columns == EVERY:
        columns = slice(0, stats.n_features)
    smoothing = Smoothing(family, smoothing, estimate or "posterior_mean")
    return Part(stats, family, columns, as_scheme(scheme, stats.classes, None, stats.multilabel), smoothing, idf)


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
