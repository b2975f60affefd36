"""Methods that exist only where a condition holds."""

from collections.abc import Callable
from functools import update_wrapper
from typing import Any


class available_if:
    """Decorates a method that exists only where `condition(object)` is true, so that `hasattr` works."""

    def __init__(self, condition: Callable[[Any], bool]):
        self._condition = condition

    def __call__(self, method: Callable) -> Any:
        self._method = method
        update_wrapper(self, method)
        return self

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self._method
        if not self._condition(instance):
            raise AttributeError(f"This {type(instance).__name__!r} has no attribute {self._name!r}")
        return self._method.__get__(instance, owner)
