"""Statistics and tallies, which rows are added to: their fields, or parts, say how two of them merge."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass, replace
from typing import Any, ClassVar, Self, get_type_hints

import numpy as np

from streamnb.core import arguments, persistence
from streamnb.passes.contract import total_of
from streamnb.rows.row_blocks import Block


class Statistic:
    """What rows are added to; a dataclass whose fields say how two of them become one.

    A field that merges names the function in its type, such as ``total: Annotated[np.ndarray, np.add]``: any function
    of two values whose result does not depend on their order and grouping. A field may hold another statistic, which
    merges by ``operator.add``. Other fields are parameters. An object with the values that merged fields begin with is
    a request: rows are added to copies of it, which are merged. A subclass defines `add`, and nothing else has to be
    written to run it in threads, on a cluster, by fold or with a checkpoint.

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
        parts = self._merging()
        for name, value in parts.items():
            parts[name] = _finished(value)
        return replace(self, **parts)  # type: ignore[type-var]

    def arrays(self) -> dict[str, Any]:
        """The fields that merge, by name, as files keep them."""
        parts = self._merging()
        for name, value in parts.items():
            parts[name] = _kept(value)
        return parts

    def of_arrays(self, arrays: Mapping[str, Any]) -> Self:
        """The statistic whose `arrays` these are, with the parameters of this one."""
        parts = self._merging()
        for name, value in parts.items():
            if name in arrays:  # older files lack some
                parts[name] = _total_of(value, arrays[name])
        return replace(self, **parts)  # type: ignore[type-var]

    def _merging(self) -> dict[str, Any]:
        parts = {}
        for name in merges_of(type(self)):
            parts[name] = getattr(self, name)
        return parts

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


def _finished(value: Any) -> Any:
    if isinstance(value, list):
        return [_finished(each) for each in value]
    return value.finish() if hasattr(value, "finish") else value


def _kept(value: Any) -> Any:
    if isinstance(value, list):
        return [_kept(each) for each in value]
    return value.arrays() if _is_total(value) else value


def _total_of(empty: Any, kept: Any) -> Any:
    if isinstance(empty, list):
        return [_total_of(*pair) for pair in zip(empty, kept, strict=True)]
    return total_of(empty, kept) if _is_total(empty) else kept


def bytes_of(value: Any) -> int:
    """Bytes of arrays and of all that lists, dicts and objects hold, each counted once; 8 of anything else."""
    left, seen, n_bytes = [value], set(), 0
    while left:
        each = left.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        parts = each if isinstance(each, dict) else getattr(each, "__dict__", None)
        if isinstance(each, list | tuple):
            left.extend(each)
        elif hasattr(each, "nbytes") and not isinstance(each, type):
            n_bytes += int(each.nbytes)
        elif parts is None or isinstance(each, type):
            n_bytes += 8
        else:
            left.extend(parts.values())
    return n_bytes


def merges_of(cls: type) -> dict[str, Callable[[Any, Any], Any]]:
    """The functions that merge the fields of a statistic, by name."""
    if not is_dataclass(cls):
        raise TypeError(f"{cls.__name__} should be a dataclass, whose fields say how they merge")
    merges: dict[str, Callable[[Any, Any], Any]] = {}
    for name, hint in get_type_hints(cls, include_extras=True).items():
        for each in getattr(hint, "__metadata__", ()):
            if callable(each):
                merges.setdefault(name, each)
    if not merges:
        raise TypeError(f"{cls.__name__} has no field that merges, such as n_rows: Annotated[int, np.add] = 0")
    return merges


# ---- tallies ---------------------------------------------------------------------------------------------------------


class Tally:
    """Sums over rows: a subclass names the attributes that add up, its `parts`, and says how rows are added.

    Parts are arrays, numbers, other tallies, lists and dicts of parts, or None where nothing is kept. From them follow
    merging and the state in files with its checks. Other attributes are settings, which tallies that merge share.
    """

    parts: ClassVar[tuple[str, ...]]

    def __add__(self, other: Self) -> Self:
        """The tally of the rows of both; neither is changed."""
        total = copy.copy(self)
        vars(total).update(added(self._parts(), other._parts()))
        return total

    def _to_state(self) -> Any:
        return state_of(self._parts())

    def restore(self, state: Any) -> None:
        """Fill an empty tally from the state that `_to_state` returned; refuse parts of another type or shape."""
        vars(self).update(restored(type(self).__name__, self._parts(), state))

    def _parts(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.parts}


def added(a: Any, b: Any) -> Any:
    """The sum of two parts of tallies."""
    if isinstance(a, dict):
        return {name: added(part, b[name]) for name, part in a.items()}
    if isinstance(a, list):
        return [added(*pair) for pair in zip(a, b, strict=True)]
    return None if a is None or b is None else a + b


def state_of(part: Any) -> Any:
    """A part of a tally as files keep it."""
    if isinstance(part, dict):
        return {name: state_of(each) for name, each in part.items()}
    if isinstance(part, list):
        return [state_of(each) for each in part]
    return part._to_state() if hasattr(part, "_to_state") else part


def restored(name: str, empty: Any, state: Any) -> Any:
    """An empty part of a tally, filled from its state in a file."""
    if isinstance(empty, dict):
        if not isinstance(state, dict) or state.keys() != empty.keys():
            raise ValueError(f"{name} is {state!r:.100}; it should be a dict of {', '.join(empty)}")
        return {each: restored(each, part, state[each]) for each, part in empty.items()}
    if isinstance(empty, list):
        return [restored(name, part, each) for part, each in zip(empty, state, strict=True)]
    if (empty is None) != (state is None):
        raise ValueError(f"{name} is missing, or there should be none")
    if isinstance(empty, int):
        return arguments.whole_number(name, state)
    if isinstance(empty, np.ndarray):
        empty[...] = persistence.array(name, state, [empty.dtype.str[1:]], empty.shape)  # kernels need its layout
    elif empty is not None:
        empty.restore(state)
    return empty
