"""Tables of checks: what each check takes, and that every classifier names a parameter that is wrong."""

import pytest

import streamnb as snb
from streamnb.estimators.classifier import Classifier, check_parameters

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


def test_a_parameter_that_is_no_attribute():
    model = snb.LinearNB(transform="sqrt")
    assert model.get_params()["transform"] == "sqrt" and not hasattr(model, "transform")


TAUS = {"no tau": snb.L1(), "a grid of 2 taus": snb.L2(1.0) + snb.L1([1.0, 2.0])}


@pytest.mark.parametrize("what", TAUS)
def test_one_model_has_one_tau(what):
    for kind in (snb.LinearNB, snb.TreeNB):
        with pytest.raises(ValueError, match=f"has {what}, but {kind.__name__} fits one model; give one tau"):
            check_parameters(kind(penalty=TAUS[what]))
