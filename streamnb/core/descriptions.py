"""Values as text: by these descriptions a pass, its rows and its parameters are recognised in another process."""

import hashlib
import sys
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np

from streamnb.core import persistence

# Arrays are written in full, whatever a user has set for printing.
_WHOLE: dict[str, Any] = {"threshold": sys.maxsize, "precision": 17, "floatmode": "maxprec", "suppress": False}
_WHOLE |= {"linewidth": 75, "sign": "-", "nanstr": "nan", "infstr": "inf", "formatter": None, "legacy": False}


def shown(value: Any) -> str:
    """A value as text, the same in every process; a long value is its beginning and a digest."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    elif isinstance(value, (set, frozenset)):
        value = sorted(value, key=described)
    text = described(value)
    if persistence.registered(value):
        return f"{text[:100]}.. ({persistence.digest(value)})"
    return text if len(text) <= 200 else f"{text[:100]}.. ({hashlib.sha256(text.encode()).hexdigest()[:16]})"


def described(value: Any) -> str:
    """A value as text, complete and the same in every process.

    It is the `repr` of the value, except that sets are sorted, arrays are not abbreviated, and functions and objects
    whose `repr` would be an address are described by their names and attributes; so are the values inside of them.
    """
    if isinstance(value, np.ndarray):
        with np.printoptions(**_WHOLE):
            return repr(value)
    if isinstance(value, (set, frozenset)):
        return f"{type(value).__name__}({{{', '.join(sorted(map(described, value)))}}})"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{described(key)}: {described(part)}' for key, part in value.items())}}}"
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return _with_attributes(value, zip(value._fields, value, strict=True))
    if isinstance(value, tuple):
        return f"({', '.join(map(described, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, list):
        return f"[{', '.join(map(described, value))}]"
    if isinstance(value, partial):
        return f"partial({described((value.func, value.args, value.keywords))})"
    if hasattr(value, "__func__"):
        return f"<method {value.__qualname__} of {described(value.__self__)}>"
    if hasattr(value, "__qualname__"):
        return f"<{value.__module__}.{value.__qualname__}>"
    of_class: Any = type(value).__repr__
    if is_dataclass(value) and hasattr(of_class, "__wrapped__"):  # dataclasses wrap what they generate
        return _with_attributes(value, [(f.name, getattr(value, f.name)) for f in fields(value) if f.repr])
    if of_class is object.__repr__:
        return _with_attributes(value, getattr(value, "__dict__", {}).items())
    return repr(value)


def _with_attributes(value: Any, attributes: Iterable[tuple[str, Any]]) -> str:
    return f"{type(value).__qualname__}({', '.join(f'{name}={described(part)}' for name, part in attributes)})"
