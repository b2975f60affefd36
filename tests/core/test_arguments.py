"""Arguments, checked: what is right comes back in one kind, what is wrong is named beside what would be right."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamnb.core import arguments
from tests.support.refusals import refuses

CLASSES = np.array(["ash", "fir", "oak"])


def test_one_of_takes_equal_words_and_the_very_objects():
    assert arguments.one_of("how", np.str_("a"), ["a", None]) == "a"
    assert arguments.one_of("how", None, iter(["a", None])) is None
    for wrong in ("b", 1, ["a"], np.array(["a", "b"])):  # 1 equals True, and an array no one thing
        with pytest.raises(ValueError, match=r"^how=.* is unknown; it should be one of 'a', None, True$"):
            arguments.one_of("how", wrong, ["a", None, True])


def test_a_family_is_a_name_without_parameters():
    assert arguments.family_name("poisson", ["gaussian", "poisson"]) == "poisson"
    for wrong, error, cure in (
        (Fraction, TypeError, r"is a class; give an instance: Fraction\(\)"),
        (3, TypeError, "should be a name"),
        ("binomial", ValueError, r"snb\.Binomial\(k\)"),
        ("negative_binomial", ValueError, r"snb\.NegativeBinomial\(r\)"),
        ("cauchy", ValueError, "one of 'gaussian', 'poisson'"),
    ):
        refuses(error, f"^family=.*{cure}", arguments.family_name, wrong, ["gaussian", "poisson"])


@pytest.mark.parametrize("kind", [int, float, Fraction, np.int8, np.uint64, np.float32])
def test_numbers_of_every_kind(kind):
    for check, result in (
        (lambda value: arguments.finite_number("n", value, minimum=3), float),
        (lambda value: arguments.numbers_for_features("n", value), float),
        (lambda value: arguments.positive_numbers("n", value), float),
        (lambda value: arguments.positive_integer("n", value, minimum=3), int),
        (lambda value: arguments.whole_number("n", value), int),
    ):
        if result is int and kind in (float, Fraction, np.float32):
            refuses(TypeError, r"^n=.* should be a whole number$", check, kind(3))
        else:
            assert check(kind(3)) == 3 and type(check(kind(3))) is result


@pytest.mark.parametrize("wrong", [True, np.True_, "3", None, 3j, np.complex64(3)])
def test_what_is_no_number(wrong):
    for check in (arguments.finite_number, arguments.positive_integer, arguments.whole_number):
        refuses(TypeError, r"^n=.* should be a (whole )?number$", check, "n", wrong)


def test_numbers_out_of_range():
    for wrong in (np.nan, np.inf, -1, 2.999):
        with pytest.raises(ValueError, match=f"^n={wrong} should be finite and at least 3$"):
            arguments.finite_number("n", wrong, minimum=3)
    refuses(ValueError, r"^n=-inf should be finite$", lambda: arguments.finite_number("n", -np.inf))
    for huge in (10**400, -(10**400), Fraction(10**400, 3)):
        for check in (arguments.finite_number, arguments.numbers_for_features, arguments.tau_grid):
            refuses(ValueError, r"^n is a number larger than float64 holds", check, "n", huge)
    refuses(ValueError, r"^n=0 should be at least 1$", lambda: arguments.positive_integer("n", 0))
    assert arguments.whole_number("n", 2**63 - 1) == 2**63 - 1 and arguments.whole_number("n", 0) == 0
    for wrong in (-1, 2**63):
        with pytest.raises(ValueError, match=f"^n={wrong} should be at least 0 and fit into 64 bits$"):
            arguments.whole_number("n", wrong)


def test_numbers_for_features_are_one_or_one_each():
    found = arguments.positive_numbers("r", [1, 2, 3])
    assert found.dtype == np.float64 and found.tolist() == [1, 2, 3]
    with pytest.raises(TypeError, match=r"^r has dtype <U1; it should be a number, or one number for each feature$"):
        arguments.numbers_for_features("r", ["a"])
    for wrong in ([], [[1.0]]):
        with pytest.raises(ValueError, match=r"^r has shape \(.*\); .* of shape \(n_features,\)$"):
            arguments.numbers_for_features("r", wrong)
    with pytest.raises(ValueError, match=r"^r has masked entries"):
        arguments.numbers_for_features("r", np.ma.array([1.0, 2.0], mask=[False, True]))
    refuses(ValueError, r"^r\[1\]=nan should be finite$", arguments.numbers_for_features, "r", [1.0, np.nan, np.inf])
    refuses(ValueError, r"^r\[1\]=0.0 should be greater than 0$", arguments.positive_numbers, "r", [1.0, 0.0, -1.0])
    refuses(ValueError, r"^r=0.0 should be greater than 0$", lambda: arguments.positive_numbers("r", 0))


@given(st.lists(st.floats(0, 1e300) | st.integers(0, 9), min_size=1))
def test_a_grid_of_taus_rises_without_repeats(taus):
    assert arguments.tau_grid("tau", taus).tolist() == sorted({float(tau) for tau in taus})
    assert arguments.tau_grid("tau", taus[0]).tolist() == [taus[0]]


def test_taus_that_are_none():
    refuses(ValueError, r"^tau is an empty grid", lambda: arguments.tau_grid("tau", []))
    refuses(ValueError, r"^tau\[1\]=-2 should be finite and at least 0$", lambda: arguments.tau_grid("tau", [1, -2]))


@given(st.lists(st.sampled_from([0.0, 0.25, 1.0, 7.0]), min_size=3, max_size=3).filter(any))
def test_balanced_classes_weigh_the_same_and_together_as_before(weight):
    weight = np.array(weight)
    balanced = weight * arguments.class_factors("balanced", CLASSES, weight)
    np.testing.assert_allclose(balanced.sum(), weight.sum(), rtol=1e-12)
    assert np.ptp(balanced[weight > 0]) <= 1e-12 * weight.sum()


def test_class_weights_name_classes():
    assert arguments.check_class_weight(None, CLASSES) is None
    given = arguments.check_class_weight({"oak": 2, "ash": 0}, CLASSES)
    assert given == {"oak": 2.0, "ash": 0.0}
    assert arguments.class_factors(given, CLASSES, np.ones(3)).tolist() == [0, 1, 2]
    for wrong, error, words in (
        ("even", ValueError, "unknown; it should be one of None, 'balanced'"),
        ([1, 2, 3], TypeError, "should be None, 'balanced' or a dict"),
        ({"elm": 1}, ValueError, r"'elm', which is not a class; those are \['ash', 'fir', 'oak'\]"),
        ({"oak": -1}, ValueError, r"\['oak'\]=-1 should be finite and at least 0"),
    ):
        refuses(error, f"^class_weight.*{words}", arguments.check_class_weight, wrong, CLASSES)


def test_out_holds_the_whole_answer_as_it_is():
    f4 = np.dtype(np.float32)
    for fits in (np.empty((4, 2), f4), np.empty((4, 2)), np.empty((4, 2), object)):
        arguments.check_out(fits, 4, (2,), f4)
        arguments.check_out(fits, None, (2,), f4)
    arguments.check_out(np.empty(4, np.dtypes.StringDType()), 4, (), np.dtype("U5"))
    refuses(TypeError, r"^out=\[0\.0\] should be an array", lambda: arguments.check_out([0.0], 1, (), f4))
    for n_rows, beside, shape in ((5, (2,), r"\(5, 2\)"), (None, (3,), r"\(4, 3\)"), (4, (), r"\(4,\)")):
        with pytest.raises(ValueError, match=rf"^out has shape \(4, 2\); the answer has shape {shape}$"):
            arguments.check_out(np.empty((4, 2)), n_rows, beside, f4)
    with pytest.raises(ValueError, match=r"^out has shape \(\); the answer has shape \(0,\)$"):
        arguments.check_out(np.empty(()), None, (), f4)
    with pytest.raises(ValueError, match=r"^out has dtype float32, which cannot hold an answer of dtype float64$"):
        arguments.check_out(np.empty(4, f4), 4, (), np.dtype(np.float64))


@pytest.mark.parametrize("multilabel", [False, True])
def test_priors(multilabel):
    shares, check = np.array([0.0, 0.25, 0.75]), partial(arguments.check_priors, multilabel=multilabel)
    assert check(None, CLASSES, shares) is shares
    uniform = [0.5] * 3 if multilabel else [0.0, 0.5, 0.5]  # a class without rows keeps none
    assert check("uniform", CLASSES, shares).tolist() == uniform
    assert check((0.5, 0.25, 0.25), CLASSES, shares).tolist() == [0.5, 0.25, 0.25]
    for wrong, error, words in (
        ("even", ValueError, "one of None, 'uniform'"),
        (["a", "b", "c"], TypeError, "numbers in the order of the classes"),
        ([0.5, 0.5], ValueError, r"has shape \(2,\); Number of priors must match number of classes: 3"),
        ([1.5, -0.5, 0.0], ValueError, "non-negative and finite"),
        ([np.nan, 0.5, 0.5], ValueError, "non-negative and finite"),
    ):
        refuses(error, f"^priors.*{words}", check, wrong, CLASSES, shares)


def test_priors_of_classes_sum_to_one_and_those_of_labels_need_not():
    priors = [1.0, 1.0, 0.5]
    assert arguments.check_priors(priors, CLASSES, np.ones(3), True).tolist() == priors
    with pytest.raises(ValueError, match=r"^priors sum to 2\.5; The sum of the priors should be 1$"):
        arguments.check_priors(priors, CLASSES, np.ones(3))
    with pytest.raises(ValueError, match=r"the probability of a label should be at most 1$"):
        arguments.check_priors([1.0, 1.5, 0.5], CLASSES, np.ones(3), True)


class Refusing:
    """What other libraries hand to NumPy, and refuse to."""

    def __array__(self, *_, **__):
        raise RuntimeError("it needs its gradient")


@pytest.mark.parametrize("odd", [[[1], [1, 2]], [np.arange(2), 3], Refusing()], ids=["lists", "arrays", "refusing"])
def test_what_makes_no_array_is_named(odd):
    for check in (arguments.as_array, arguments.numbers_for_features, arguments.tau_grid):
        refuses(ValueError, r"^n should be an array, or lists of one length: .*(shape|gradient)", check, "n", odd)
    assert arguments.as_array("n", [[1, 2]]).tolist() == [[1, 2]]
