"""Statistics, which rows are added to: their fields declare how two of them merge."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass, replace
from typing import Any, Self, get_type_hints

from streamnb.core import persistence
from streamnb.rows.block import Block


class Statistic:
    """What rows are added to; a dataclass whose fields say how two of them become one.

    A field that merges names the function in its type, such as ``total: Annotated[np.ndarray, np.add]``: any function
    of two values whose result does not depend on their order and grouping. Other fields are parameters. An object with
    the values that merged fields begin with is a request: rows are added to copies of it, which are merged. A subclass
    defines `add`, and nothing else has to be written to run it in threads, on a cluster, by fold or with a checkpoint.

    Examples
    --------
    The mean and the largest value of each column:

    >>> from dataclasses import dataclass
    >>> from typing import Annotated
    >>> import numpy as np, streamnb as snb
    >>> @dataclass
    ... class Ranges(snb.Statistic):
    ...     n_rows: Annotated[int, np.add] = 0
    ...     total: Annotated[np.ndarray, np.add] = 0.0
    ...     largest: Annotated[np.ndarray, np.maximum] = -np.inf
    ...
    ...     def add(self, rows):
    ...         self.n_rows += rows.n_rows
    ...         self.total += rows.X.sum(axis=0)
    ...         self.largest = np.maximum(self.largest, rows.X.max(axis=0))
    >>> found = snb.accumulate([[1.0, 5.0], [2.0, 3.0]], task=Ranges())
    >>> (found.total / found.n_rows).tolist(), found.largest.tolist()
    ([1.5, 4.0], [2.0, 5.0])
    """

    def add(self, rows: Block) -> None:
        """Add a block of rows: `X` (n_rows, n_features), `y`, `weight` (n_rows,) or None for 1 each, `first_row`."""
        raise NotImplementedError

    def begun(self) -> Self:
        """A copy to which rows can be added."""
        return replace(self, **copy.deepcopy(self._merging()))  # type: ignore[type-var]

    def finish(self) -> Self:
        """The statistic, once all rows are added."""
        finished = {name: value.finish() for name, value in self._merging().items() if hasattr(value, "finish")}
        return replace(self, **finished)  # type: ignore[type-var]

    def arrays(self) -> dict[str, Any]:
        """The fields that merge, by name, as files keep them."""
        return {name: value.arrays() if _is_total(value) else value for name, value in self._merging().items()}

    def of_arrays(self, arrays: Mapping[str, Any]) -> Self:
        """The statistic whose `arrays` these are, with the parameters of this one."""
        parts = {name: arrays.get(name, value) for name, value in self._merging().items()}  # older files lack some
        totals = {name: type(value)(**parts[name]) for name, value in self._merging().items() if _is_total(value)}
        return replace(self, **(parts | totals))  # type: ignore[type-var]

    def _merging(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in merges_of(type(self))}

    @property
    def nbytes(self) -> int:
        """Bytes of the fields that merge."""
        return bytes_of(self._merging())

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes

    def __add__(self, other: Self) -> Self:
        merges = merges_of(type(self))
        merged = {name: merge(getattr(self, name), getattr(other, name)) for name, merge in merges.items()}
        return replace(self, **merged)  # type: ignore[type-var]


def _is_total(value: Any) -> bool:
    """Whether files keep this by its arrays, since its class cannot be loaded by itself."""
    return hasattr(value, "arrays") and not persistence.registered(value)


def bytes_of(value: Any) -> int:
    """Bytes of arrays and of all that lists, dicts and objects hold; 8 of anything else."""
    if isinstance(value, type):
        return 8
    if hasattr(value, "nbytes"):
        return int(value.nbytes)
    if isinstance(value, list | tuple):
        return sum(map(bytes_of, value))
    parts = value if isinstance(value, dict) else getattr(value, "__dict__", None)
    return 8 if parts is None else sum(map(bytes_of, parts.values()))


def merges_of(cls: type) -> dict[str, Callable[[Any, Any], Any]]:
    """The functions that merge the fields of a statistic, by name."""
    if not is_dataclass(cls):
        raise TypeError(f"{cls.__name__} should be a dataclass, whose fields say how they merge")
    merges = {}
    for name, hint in get_type_hints(cls, include_extras=True).items():
        functions = [each for each in getattr(hint, "__metadata__", ()) if callable(each)]
        if functions:
            merges[name] = functions[0]
    if not merges:
        raise TypeError(f"{cls.__name__} has no field that merges, such as n_rows: Annotated[int, np.add] = 0")
    return merges
