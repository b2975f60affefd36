"""Values as text: complete, and the same in every process."""

import pickle
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

import streamnb as snb
from streamnb.core.persistence import described, shown


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclass(frozen=True)
class Judge:
    needs: Any
    names: tuple = field(default=(), repr=False)

    def asked(self):
        return self.needs


class Plain:
    def __init__(self):
        self.needs = {"b", "a"}


def test_values_are_shown_whole_or_told_by_a_digest():
    """The repr of a long array leaves its middle out, that of a model its weights; sets have no order."""
    one, two = np.zeros(5000), np.zeros(5000)
    two[2500] = 1.0
    assert shown(one) != shown(two) == shown(two.copy()) and shown(np.array([1, 2])) == "[1, 2]"
    assert shown(frozenset("cab")) == "['a', 'b', 'c']" == shown({"b", "c", "a"})
    models = [snb.solve(snb.scan(np.eye(3) * n, ["a", "b", "c"]), "poisson")[0] for n in (1, 2)]
    assert repr(models[0]) == repr(models[1]) and shown(models[0]) != shown(models[1])
    assert shown(models[0]) == shown(pickle.loads(pickle.dumps(models[0])))


BOTH = frozenset({"ranking", "pairs", "hits"})
SORTED = "frozenset({'hits', 'pairs', 'ranking'})"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Judge(BOTH), f"Judge(needs={SORTED})"),
        (Pair(BOTH, 1), f"Pair(first={SORTED}, second=1)"),
        ([{"a": (BOTH,)}], f"[{{'a': ({SORTED},)}}]"),
        (Plain(), "Plain(needs=set({'a', 'b'}))"),
        (Judge(Plain()).asked, f"<method Judge.asked of Judge(needs={described(Plain())})>"),
        (described, "<streamnb.core.persistence.described>"),
        (partial(shown, value=BOTH), f"partial((<streamnb.core.persistence.shown>, (), {{'value': {SORTED}}}))"),
        (Judge, f"<{__name__}.Judge>"),
        (snb.L1([0.5]), repr(snb.L1([0.5]))),
        (Judge(np.array(["a", "b"])), "Judge(needs=array(['a', 'b'], dtype='<U1'))"),
        (frozenset(), "frozenset({})"),
    ],
)
def test_values_are_described_without_addresses_and_in_one_order(value, text):
    assert described(value) == text


def test_arrays_inside_of_values_are_described_to_the_last_digit_whatever_is_set_for_printing():
    one = np.linspace(0.0, 1.0, 3000)
    other = one.copy()
    other[1500] += 1e-15
    text = described(Judge(one))
    assert text != described(Judge(other)) and repr(Judge(one)) == repr(Judge(other))
    with np.printoptions(precision=2, threshold=5, legacy="1.13"):
        assert described(Judge(one)) == text
