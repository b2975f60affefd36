"""Fitted attributes that are computed from the statistics on first access."""

from collections.abc import Callable
from typing import Any

import numpy as np

from streamnb.core.guesses import CAUSES, missing


class learned:
    """A fitted attribute, computed from the statistics on first access and cached until they change.

    If it cannot be computed, `hasattr` and `dir` see it as missing; the error explains why.
    """

    def __init__(self, compute: Callable[[Any], Any]):
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        if not hasattr(instance, "stats_"):
            raise AttributeError(f"{type(instance).__name__} has no {self._name!r} before fit")
        try:
            return self.of(instance)
        except CAUSES as cause:
            raise missing(cause) from cause

    def of(self, instance: Any) -> Any:
        """The value, for methods: raises the original error, not an AttributeError, if it cannot be computed."""
        fault: BaseException | None = None
        known = vars(instance)["_learned"]  # a cache, which predictions may fill without setting an attribute
        if self._name not in known:
            try:
                known[self._name] = self._compute(instance)
            except AttributeError as error:
                fault = error.__cause__  # the error of an attribute that this one depends on
                if fault is None:
                    raise
        if fault is not None:
            raise fault
        return known[self._name]

    def __set__(self, instance: Any, value: Any) -> None:
        raise AttributeError(f"{self._name!r} follows from the statistics; change the parameters with refit(...)")


def logs(values: np.ndarray) -> np.ndarray:
    """Natural logarithms; -inf for 0."""
    with np.errstate(divide="ignore"):
        return np.log(values)
