"""Tables of checks: what each check takes, and that every classifier names a parameter that is wrong."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.estimators.classifier import Classifier, check_parameters
from streamnb.estimators.parameters import (
    boolean,
    check_each,
    integer_from,
    number_above_0,
    number_from_0,
    one_of,
    optional,
)

REQUIRED = {"HierarchyNB": {"hierarchy": {"dog": "animal"}}, "StackedNB": {"families": ["poisson"]}}
CLASSES = {name: value for name in snb.__all__ if isinstance(value := getattr(snb, name), type)}
CLASSIFIERS = [name for name, value in CLASSES.items() if issubclass(value, Classifier)]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_parameter_with_a_check_is_named_where_it_is_wrong(name):
    kind, required = CLASSES[name], REQUIRED.get(name, {})
    check_parameters(kind(**required))  # defaults are right
    for parameter in kind._checks.keys() & kind(**required).get_params().keys():
        with pytest.raises((ValueError, TypeError), match=f"^{parameter}='wrong'"):
            check_parameters(kind(**required, **{parameter: "wrong"}))


@pytest.mark.parametrize(
    ("check", "right", "wrong", "message"),
    [
        (one_of(None, "a"), [None, "a"], "b", "p='b' is unknown; it should be one of None, 'a'$"),
        (integer_from(2), [2, np.int64(7)], 1, "p=1 should be at least 2"),
        (number_above_0("which is nothing"), [1e-9, 3], 0, "p=0 should be above 0: which is nothing"),
        (number_from_0, [0, 0.5], -1.0, "p=-1.0 should be finite and at least 0"),
        (optional(integer_from(1)), [None, 1], 0, "p=0 should be at least 1"),
        (boolean, [True, False], 1, "p=1 is unknown; it should be one of False, True"),
    ],
)
def test_what_a_check_takes(check, right, wrong, message):
    for value in right:
        check("p", value)
    with pytest.raises(ValueError, match=message):
        check("p", wrong)


def test_checks_of_parameters_that_an_estimator_lacks_are_passed_over():
    check_each(snb.Bins(), {"n_bins": integer_from(2), "n_trees": integer_from(2)})
    with pytest.raises(ValueError, match="n_bins=1"):
        check_each(snb.Bins(1), {"n_trees": integer_from(2), "n_bins": integer_from(2)})


def test_a_parameter_that_is_no_attribute():
    model = snb.LinearNB(transform="sqrt")
    assert model.get_params()["transform"] == "sqrt" and not hasattr(model, "transform")


TAUS = {"no tau": snb.L1(), "a grid of 2 taus": snb.L2(1.0) + snb.L1([1.0, 2.0])}


@pytest.mark.parametrize("what", TAUS)
def test_one_model_has_one_tau(what):
    for kind in (snb.LinearNB, snb.TreeNB):
        with pytest.raises(ValueError, match=f"has {what}, but {kind.__name__} fits one model; give one tau"):
            check_parameters(kind(penalty=TAUS[what]))
