"""Tables of what the parameters of estimators may be, and fitted attributes that are computed on first access."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, wraps
from inspect import signature
from typing import Any, ParamSpec

import numpy as np

from streamnb.core import arguments
from streamnb.core.guesses import CAUSES, missing
from streamnb.problem.penalties import Penalty

P = ParamSpec("P")
Check = Callable[[str, Any], Any]  # raises unless a parameter, given its name and value, is right


def one_of(*allowed: Any) -> Check:
    """Any of these values."""
    return partial(arguments.one_of, allowed=allowed)


def integer_from(minimum: int) -> Check:
    """A whole number of at least `minimum`."""
    return partial(arguments.positive_integer, minimum=minimum)


def number_above_0(why: str) -> Check:
    """A finite number above 0; `why` says what 0 would do."""
    return partial(arguments.number_above_0, why=why)


def optional(check: Check) -> Check:
    """None, or what passes the check."""
    return lambda name, value: None if value is None else check(name, value)


boolean = one_of(False, True)
number_from_0: Check = partial(arguments.finite_number, minimum=0.0)


def check_each(estimator: Any, checks: Mapping[str, Check]) -> None:
    """Raise for the first parameter that does not pass its check; names that the estimator lacks are passed over."""
    params = estimator.get_params(deep=False)
    for name, check in checks.items():
        if name in params:
            check(name, params[name])


def check_one_tau(penalty: Penalty, who: str, cure: str) -> None:
    """Raise for a penalty whose parts have no tau, or a grid of them, where one model is fitted."""
    for part in penalty.parts:
        if part.tau is None or len(part.tau) > 1:
            what = "no tau" if part.tau is None else f"a grid of {len(part.tau)} taus"
            raise ValueError(f"penalty={part!r} has {what}, but {who} fits one model; {cure}")


def keeps_parameters(init: Callable[P, None]) -> Callable[P, None]:
    """A constructor that keeps each of its parameters as the attribute of this name; raises TypeError as it does."""
    known = signature(init)

    @wraps(init)
    def keeping(*args: P.args, **given: P.kwargs) -> None:
        try:
            parameters = known.bind(*args, **given)
        except TypeError:
            init(*args, **given)  # says so with the name of the class
            raise
        parameters.apply_defaults()
        estimator, *values = parameters.arguments.values()
        for name, value in zip(list(known.parameters)[1:], values, strict=True):
            setattr(estimator, name, value)

    return keeping


class Parameter:
    """A constructor parameter but no attribute, as scikit-learn takes any object with `transform` for a transformer."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        raise AttributeError(f"{self._name!r} is a parameter, not a method; read it from get_params()")

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)[self._name] = value


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
