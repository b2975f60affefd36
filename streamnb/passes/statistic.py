"""Statistics, which rows are added to: their fields say how two of them merge."""

import copy
from collections.abc import Callable
from dataclasses import is_dataclass, replace
from functools import cache
from typing import Any, ClassVar, Self, get_type_hints

from streamnb.core import persistence, row_checks
from streamnb.core.memory import bytes_of
from streamnb.core.persistence import shown
from streamnb.passes.contract import Report, Wants, total_of
from streamnb.rows.boundary import checked
from streamnb.rows.row_blocks import Block


class Mergeable:
    """A dataclass whose fields say how two objects become one.

    A field that merges names the function in its type, such as ``total: Annotated[np.ndarray, np.add]``: any function
    of two values whose result does not depend on their order and grouping. A field may hold another such object, which
    merges by ``operator.add``, or lists and dicts of them, which merge by `added`. Other fields are parameters. The
    fields also give the size in memory and the state in files.
    """

    def begun(self) -> Self:
        """A copy to which rows can be added."""
        return replace(self, **copy.deepcopy(self._merging()))  # type: ignore[type-var]

    def finish(self) -> Self:
        """The statistic, once all rows are added."""
        return replace(self, **_finished(self._merging()))  # type: ignore[type-var]

    def arrays(self) -> Any:
        """The fields that merge, by name, as files keep them."""
        return state_of(self._merging())

    def of_arrays(self, arrays: Any) -> Self:
        """The statistic whose `arrays` these are, with the parameters of this one, which has no rows."""
        parts = self._merging()
        persistence.known(type(self), arrays, *parts)
        for name, merge in self._merges().items():
            if name in arrays:  # older files lack some
                parts[name] = restored(name, parts[name], arrays[name], fixed=merge is added)
        return replace(self, **parts)  # type: ignore[type-var]

    @classmethod
    def _merges(cls) -> dict[str, Callable[[Any, Any], Any]]:
        return merges_of(cls)  # type: ignore[arg-type]

    def _merging(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._merges()}

    @property
    def nbytes(self) -> int:
        """Bytes of the fields that merge."""
        return bytes_of(self._merging())

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes

    def __add__(self, other: Self) -> Self:
        merges = self._merges()
        merged = {name: merge(getattr(self, name), getattr(other, name)) for name, merge in merges.items()}
        return replace(self, **merged)  # type: ignore[type-var]


class Statistic(Mergeable):
    """A statistic that rows are added to: a dataclass whose fields say how two objects merge.

    A field that merges names the function in its type, such as ``total: Annotated[np.ndarray, np.add]``: any function
    of two values whose result does not depend on their order and grouping. A field may hold another statistic, such as
    ``mean: Annotated[Mean, operator.add]``. Other fields are parameters, which `add` does not change. An object with
    the values that merged fields begin with is a request: rows are added to copies of it, which are merged. A subclass
    defines `add`, and nothing else has to be written to run it in threads, on a cluster, by fold or with a checkpoint.

    Attributes
    ----------
    title : str
        Title of progress bars, a variable of the class.
    weighs : bool
        Whether rows of weight 0 add nothing, a variable of the class.

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

    title: ClassVar[str] = "pass"
    weighs: ClassVar[bool] = False  # as of `PassTask`

    def add(self, rows: Block) -> None:
        """Add a block of rows: `X` (n_rows, n_features), `y`, `weight` (n_rows,) or None for 1 each, `first_row`."""
        raise NotImplementedError

    def add_block(self, block: Block) -> None:
        """Check a block of rows as a source gives it, and add it."""
        parameters = {name: value for name, value in vars(self).items() if name not in self._merges()}
        self.add(as_matrix(block))
        for name, value in parameters.items():
            if getattr(self, name) is not value:
                raise TypeError(
                    f"{type(self).__name__}.add changes {name}, which does not merge, so that what other threads and "
                    f"workers add to it would be lost; say how it merges, such as {name}: Annotated[.., np.add]"
                )

    def wants(self, n_rows: int | None, n_features: int | None) -> Wants:
        """How rows of this shape should come, as of `PassTask`: the place to refuse them."""
        return Wants()

    def ended(self, report: Report) -> Any:
        """What a pass returns, from the sum over all rows; the place for checks that need all rows."""
        row_checks.check_min_size(report.rows, 1)
        return self

    def about(self) -> dict[str, str]:
        """What is computed, as of `PassTask`."""
        return {name: shown(value) for name, value in vars(self).items()}


def as_matrix(block: Block) -> Block:
    """A block as users' tasks take it: a NumPy or CSR array, and labels, all checked."""
    y = None if block.y is None else row_checks.check_y(block.y, block.first_row)
    return replace(block, X=checked(block)[0].to_matrix(), y=y)


# ---- lists and dicts -----------------------------------------------------------------------------------


def added(a: Any, b: Any) -> Any:
    """The sum of two parts, or of lists and dicts of them; None where nothing is kept."""
    if isinstance(a, dict):
        return {name: added(part, b[name]) for name, part in a.items()}
    if isinstance(a, list):
        return [added(*pair) for pair in zip(a, b, strict=True)]
    return None if a is None or b is None else a + b


def united(a: dict[Any, Any], b: dict[Any, Any]) -> dict[Any, Any]:
    """The union of two dicts, in which parts of the same name are added."""
    return a | {name: a[name] + part if name in a else part for name, part in b.items()}


def _finished(value: Any) -> Any:
    if type(value) is dict:
        return {name: _finished(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_finished(part) for part in value]
    return value.finish() if hasattr(value, "finish") else value


def state_of(value: Any) -> Any:
    """A field as files keep it: what cannot be loaded by itself is kept by its arrays."""
    if isinstance(value, dict):
        return {name: state_of(part) for name, part in value.items()}
    if isinstance(value, list):
        return [state_of(part) for part in value]
    return value.arrays() if _is_total(value) else value


def restored(name: str, empty: Any, state: Any, fixed: bool = True) -> Any:
    """A field from its state in a file; `fixed` ones have the parts of the empty one, and no others."""
    if not fixed:
        return total_of(empty, state) if _is_total(empty) else state
    if isinstance(empty, dict):
        if not isinstance(state, dict) or state.keys() != empty.keys():
            raise ValueError(f"{name} is {state!r:.100}; it should be a dict of {', '.join(empty)}")
        return {each: restored(each, part, state[each]) for each, part in empty.items()}
    if isinstance(empty, list):
        return [restored(name, part, each) for part, each in zip(empty, state, strict=True)]
    if (empty is None) != (state is None):
        raise ValueError(f"{name} is missing, or there should be none")
    return restored(name, empty, state, fixed=False)


def _is_total(value: Any) -> bool:
    return hasattr(value, "arrays") and not persistence.registered(value)


@cache
def merges_of(cls: type) -> dict[str, Callable[[Any, Any], Any]]:
    """The functions that merge the fields of a class, by name."""
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
