"""Penalties that a family, a scheme or the number of classes leaves undefined."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.problem.schemes import as_scheme
from streamnb.solving.weight_problem import check_penalty

APART = snb.Decorrelation(1.0)
CUSTOM = snb.Custom(np.negative, 2.0)
COUPLED = snb.Mixed({"multinomial": [0, 1], "poisson": ...})
OWN = snb.Gaussian(covariance="own")


def check(penalty, family, scheme="joint", n_classes=3, multilabel=False):
    reference = {"reference": snb.UNLABELLED if multilabel else 1}.get(scheme)
    check_penalty(penalty, family, as_scheme(scheme, np.arange(n_classes), reference, multilabel), n_classes)


def test_what_is_defined_passes():
    for penalty, family in (
        (None, snb.Dirichlet()),
        (None, OWN),
        (snb.L1(1.0), snb.Multinomial()),
        (CUSTOM, snb.Poisson()),
    ):
        check(penalty, family)
    for scheme in ("joint", "ovr", "reference"):
        check(APART + snb.L2(1.0), snb.Poisson(), scheme)
    check(APART, snb.Poisson(), "reference", 2, multilabel=True)  # the rows without a label are the third class


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((snb.L2(1.0), snb.Dirichlet()), r"penalty=L2\(1\.0\) is not defined for family='dirichlet'"),
        ((snb.L2(1.0), snb.Mixed({"dirichlet": [0, 1], "poisson": [2]})), "not defined for family='dirichlet'"),
        ((snb.L1(0.5) + CUSTOM, snb.Multinomial()), r"penalty=Custom\(.*not defined for family='multinomial'"),
        ((CUSTOM, COUPLED), "family='multinomial', whose features are coupled already"),
        ((APART, COUPLED), r"penalty=Decorrelation\(.*family='multinomial', whose features are coupled already"),
        ((APART, snb.Poisson(), "joint", 2), "needs at least 3 classes to set apart; there are 2"),
        ((APART, snb.Poisson(), "ovo"), "not defined for scheme='ovo', whose rows are pairs"),
        ((snb.L1(1.0), OWN), r"covariance='own'\) takes no penalty, not penalty=L1"),
        ((None, OWN, "ovr"), "not for scheme='ovr'"),
    ],
)
def test_what_is_undefined_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        check(*given)
