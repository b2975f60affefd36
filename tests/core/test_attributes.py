"""Attributes that cannot be computed are missing, with the error of the cause; methods where a condition is false."""

import pytest

from streamnb.core.guesses import attribute, available_if, missing


class Held:
    def __init__(self, cause):
        self._cause = cause

    @attribute
    def value(self):
        if self._cause is not None:
            raise self._cause
        return 7


@pytest.mark.parametrize("cause", [ValueError("no"), TypeError("no"), MemoryError("no")])
def test_a_cause_is_both_errors(cause):
    held = Held(cause)
    assert not hasattr(held, "value")
    for kind in (AttributeError, type(cause)):
        with pytest.raises(kind, match="no"):
            _ = held.value


def test_other_errors_pass_and_values_come():
    assert Held(None).value == 7
    with pytest.raises(ZeroDivisionError):
        _ = Held(ZeroDivisionError()).value


def test_an_attribute_error_stays_itself():
    error = AttributeError("gone")
    assert missing(error) is error


class Model:
    def __init__(self, certain):
        self.certain = certain

    @available_if(lambda model: model.certain)
    def odds(self, factor=1):
        """What it is."""
        return factor, self.certain


class Heir(Model):
    pass


@pytest.mark.parametrize("kind", [Model, Heir])
def test_hasattr_tells(kind):
    model = kind("yes")
    assert hasattr(model, "odds") and model.odds(factor=2) == (2, "yes")
    model.certain = ""
    assert not hasattr(model, "odds")
    with pytest.raises(AttributeError, match=f"^This '{kind.__name__}' has no attribute 'odds'$"):
        _ = model.odds


def test_the_class_has_the_method_itself():
    assert Model.odds.__doc__ == "What it is." and Model.odds.__name__ == "odds"
    assert Model.odds(Model("yes"), 3) == (3, "yes")
    assert Model.__dict__["odds"].__doc__ == "What it is."  # where documentation is made of
