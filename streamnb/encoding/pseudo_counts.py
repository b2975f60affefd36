"""Pseudo-counts of classes in the forms that users may give them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from streamnb.core import arguments, messages


def several(c: Any) -> list[Any]:
    """A list of the given pseudo-counts."""
    return c if isinstance(c, list) else [c]


def check(c: Any, above_zero: bool) -> None:
    """Refuse anything that is not a valid pseudo-count."""
    if isinstance(c, list) and not c:
        raise ValueError("c is an empty list; give at least one")
    for each in several(c):
        for number in each.values() if isinstance(each, Mapping) else [_scale(each)]:
            if arguments.finite_number("c", number, minimum=0.0) == 0.0 and above_zero:
                raise ValueError("c=0 with log_odds=True: shares of 0 and 1 have no log-odds; take c > 0")


def of_classes(c: Any, classes: np.ndarray) -> Any:
    """Pseudo-counts as an array (K,), or the number s where they are s times the class shares."""
    labels = classes.tolist()
    if isinstance(c, Mapping):
        if {*c} != {*labels}:
            raise ValueError(f"c={c!r} should have a number for each class: {messages.listed(classes)}")
        return np.array([float(c[label]) for label in labels])
    return float(_scale(c)) if _is_prior(c) else np.full(len(labels), float(c))


def _to_state(c: Any) -> Any:
    """The state saved in a file: the kind of each and its value."""
    if isinstance(c, list):
        return ["several", [_to_state(each) for each in c]]
    if isinstance(c, Mapping):
        return ["labels", [[*pair] for pair in c.items()]]
    return ["prior" if _is_prior(c) else "number", _scale(c)]


def _from_state(kept: Any) -> Any:
    """The pseudo-counts as they were given, from their saved state."""
    kind, value = kept
    if kind == "several":
        return [_from_state(each) for each in value]
    if kind == "labels":
        return dict(map(tuple, value))
    return ("prior", value) if kind == "prior" else value


def _is_prior(c: Any) -> bool:
    if isinstance(c, str):
        arguments.one_of("c", c, ["prior", "a number", "a dict {label: number}", "('prior', number)"])
        return True
    return isinstance(c, tuple) and len(c) == 2 and c[0] == "prior"


def _scale(c: Any) -> Any:
    """The number itself, or the scale s of a prior."""
    if not _is_prior(c):
        return c
    return 1.0 if isinstance(c, str) else c[1]
