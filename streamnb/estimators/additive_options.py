"""Checks the parameters of additive classifiers, by themselves and against the features of the rows."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from streamnb.core import arguments, messages
from streamnb.selection.additive_fit import CodedRows


def choices(name: str, given: Any, default: Sequence[float]) -> list[float]:
    """The positive numbers to choose from, descending."""
    if given is None:
        return sorted(default, reverse=True)
    values = [
        arguments.number_above_0(*one, "at 0 scores of steps grow without bound") for one in arguments.each(name, given)
    ]
    if not values:
        raise ValueError(f"{name}={given!r} should be a number above 0, or a list of one at least")
    return sorted(set(values), reverse=True)


def check_feature(argument: str, name: Any, features: Sequence[str]) -> str:
    """The name of a feature, given by name or number."""
    if isinstance(name, Integral) and not isinstance(name, bool) and 0 <= int(name) < len(features):
        return features[int(name)]
    if name not in features:
        raise ValueError(
            f"{argument} has {name!r}, which is not a feature; they are {messages.listed(np.array(features, object))}"
        )
    return name


def check_resolutions(name: str, given: Any) -> None:
    """Refuse what is no list of numbers of steps."""
    if not isinstance(given, list | tuple) or not given:
        raise TypeError(f"{name}={given!r} should be numbers of steps, such as (4, 16, 64)")
    for number in given:
        arguments.positive_integer(name, number, 2)


def check_interactions(name: str, given: Any) -> None:
    """Refuse what is neither "auto", a number of pairs, nor a list of pairs."""
    if isinstance(given, str):
        arguments.one_of(name, given, ["auto"])
    elif isinstance(given, Sequence):
        for pair in given:
            if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
                raise TypeError(f"{name} has {pair!r}, which should be a pair of features")
            if pair[0] == pair[1]:
                raise ValueError(f"{name} has {pair!r}, a pair of a feature with itself")
    elif isinstance(given, Integral):
        arguments.positive_integer(name, given, 0)
    else:
        raise TypeError(f"{name}={given!r} should be 'auto', a number of pairs, or a list of pairs of features")


def check_monotone(name: str, given: Any) -> None:
    """Refuse what is no dict of features and directions."""
    if given is None:
        return
    if not isinstance(given, dict):
        raise TypeError(f"{name}={given!r} should be a dict, such as {{'age': 1}}")
    for feature, direction in given.items():
        if not isinstance(direction, Integral) or direction not in (1, -1):
            raise ValueError(f"{name} has {direction!r} for {feature!r}; it should be 1 to rise or -1 to fall")


def named_terms(interactions: Any, monotone: Any, coded: CodedRows) -> tuple[Any, dict[str, int]]:
    """Interactions and the directions of monotone features, by the names of features, checked against the rows."""
    features = coded.features
    directions = {check_feature("monotone", name, features): direction for name, direction in (monotone or {}).items()}
    for name in directions:
        if not coded.ordered[features.index(name)]:
            raise ValueError(f"monotone has {name!r}, whose values are categories, in no order that rises or falls")
    if isinstance(interactions, str | Integral):
        return interactions if isinstance(interactions, str) else int(interactions), directions
    pairs = [tuple(check_feature("interactions", name, features) for name in pair) for pair in interactions]
    for place, pair in enumerate(pairs):
        if pair[0] == pair[1]:
            raise ValueError(f"interactions has {pair}, a pair of a feature with itself")
        if {*pair} in [{*other} for other in pairs[:place]]:
            raise ValueError(f"interactions has {pair} twice")
        for name in {*pair} & directions.keys():
            raise ValueError(f"interactions has {name!r}, which is monotone; a pair could bend its curve")
    return pairs, directions
