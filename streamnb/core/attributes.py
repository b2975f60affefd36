"""Attributes that some objects of a class lack, and the error that explains why.

Python, and tools that list attributes, expect an AttributeError for a missing attribute; a user who reads it expects
the error of the cause. These errors are both.
"""

from collections.abc import Callable
from functools import update_wrapper
from typing import TYPE_CHECKING, Any


class AttributeValueError(AttributeError, ValueError):
    """The attribute does not exist for the values that the object was given."""


class AttributeTypeError(AttributeError, TypeError):
    """The attribute does not exist for objects of this type."""


class AttributeMemoryError(AttributeError, MemoryError):
    """The value would not fit into memory."""


CAUSES = (ValueError, TypeError, MemoryError)


def missing(cause: Exception) -> AttributeError:
    """An AttributeError with the message and, where possible, the type of the cause."""
    if isinstance(cause, AttributeError):
        return cause
    kinds = {MemoryError: AttributeMemoryError, TypeError: AttributeTypeError}
    kind = next((error for base, error in kinds.items() if isinstance(cause, base)), AttributeValueError)
    return kind(str(cause))


if TYPE_CHECKING:
    attribute = property  # whose return type is known to type checkers
else:

    class attribute(property):
        """A property that does not exist (`hasattr` is False) where it cannot be computed."""

        def __get__(self, instance, owner=None):
            try:
                return super().__get__(instance, owner)
            except CAUSES as cause:
                raise missing(cause) from cause


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
