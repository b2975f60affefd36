"""Attributes that an object of this class may be without, and the error that says why.

Python, and whatever lists the names of an object, takes an AttributeError for a missing attribute and no other error;
a user who asks for the attribute expects the error of the cause. These are both.
"""

from typing import TYPE_CHECKING


class AttributeValueError(AttributeError, ValueError):
    """There is no such value for what the object was given."""


class AttributeTypeError(AttributeError, TypeError):
    """There is no such value for things of this type."""


class AttributeMemoryError(AttributeError, MemoryError):
    """The value would not fit into memory."""


CAUSES = (ValueError, TypeError, MemoryError)


def missing(cause: Exception) -> AttributeError:
    """The error of an attribute that is missing for this cause, with the same message."""
    if isinstance(cause, AttributeError):
        return cause
    kinds = {MemoryError: AttributeMemoryError, TypeError: AttributeTypeError}
    kind = next((error for of, error in kinds.items() if isinstance(cause, of)), AttributeValueError)
    return kind(str(cause))


if TYPE_CHECKING:
    attribute = property  # type checkers know what that returns
else:

    class attribute(property):
        """A property that an object is without where it cannot be computed."""

        def __get__(self, instance, owner=None):
            try:
                return super().__get__(instance, owner)
            except CAUSES as cause:
                raise missing(cause) from cause
