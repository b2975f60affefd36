"""Attributes that cannot be computed are missing, with the error of the cause."""

import pytest

from streamnb.core.guesses import attribute, missing


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
