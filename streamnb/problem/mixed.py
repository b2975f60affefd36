"""Mixed: a family for each group of columns, whose scores add up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, NoReturn, Self

import numpy as np

from streamnb.core import persistence, row_checks
from streamnb.problem.families import FAMILIES, Dirichlet, as_family
from streamnb.problem.family import EMPIRICAL_BAYES, Family
from streamnb.problem.multinomial import Categorical
from streamnb.rows.boundary import Domain, Survey
from streamnb.rows.row_blocks import Chunk
from streamnb.stats.moment_sums import MOMENTS

ColumnNames = slice | np.ndarray
SHOWN = 5  # columns listed in a message or a repr
_LIST_FORM = "a family with several groups of columns takes a list of pairs: Mixed([(family, columns), ..])"


class Mixed(Family):
    """A family for each group of columns; the score of a row is the sum over all columns, class priors count once.

    Every penalty acts on all columns: `TopK` ranks them together. Multinomial columns are coupled only among
    themselves: their probabilities sum to one over their own columns.

    Parameters
    ----------
    columns : dict, or list of pairs (family, columns)
        From families, by name or object, to their columns: numbers, a slice, a mask of bools, names (in
        `LinearNB.fit` on a data frame), or ``...`` for all columns that no other family claims. Use a list if a family
        has several groups of columns, such as two multinomials, as a dict keeps only the last of equal keys.

    Examples
    --------
    >>> import streamnb as snb
    >>> mixed = snb.Mixed({"gaussian": [0], "bernoulli": ...})
    >>> model = snb.LinearNB(mixed).fit([[1.5, 0, 1], [1.0, 1, 1], [4.0, 1, 0]], ["cat", "cat", "dog"])
    >>> model.predict([[1.0, 0, 1], [3.5, 0, 0]]).tolist()
    ['cat', 'dog']
    >>> titles_and_texts = snb.Mixed([("multinomial", slice(0, 100)), ("multinomial", ...)])

    Raises
    ------
    ValueError, TypeError
        There is no family, a family is a `Mixed`, or columns are invalid. Once the data is known: a column does not
        exist, or belongs to no family or to several.
    """

    name = "mixed"

    def __init__(self, columns: Mapping[Any, Any] | Iterable[tuple[Any, Any]]):
        self._given = tuple((_member(family), _checked(family, which)) for family, which in _pairs(columns))
        self._parts: dict[int, list[tuple[Family, ColumnNames]]] = {}
        if isinstance(columns, Mapping) and self._repeated is not None:
            raise ValueError(f"columns names {self._repeated!r} twice, by its name and as an object; {_LIST_FORM}")
        if any(isinstance(family, Mixed) for family in self.members):
            raise TypeError("columns has a Mixed for a family; list its families and columns in the one dict")
        rest = [family for family, which in self._given if which is ...]
        if len(rest) > 1:
            raise ValueError(f"columns gives the rest (...) to {rest[0]!r} and to {rest[1]!r}; one family can have it")
        centres = {family.centre for family in self.members if "deviation" in family.moments}
        if len(centres) > 1:
            raise ValueError(f"columns has Laplace families of the centres {sorted(centres)}; one scan has one centre")

    def _with_groups(self, given: Iterable[tuple[Family, Any]]) -> Self:
        """The same with other columns."""
        changed = copy(self)
        changed._given, changed._parts = tuple(given), {}
        return changed

    # ---- what a scan needs -------------------------------------------------------------------------------------------

    @property
    def members(self) -> tuple[Family, ...]:
        return tuple(family for family, _ in self._given)

    @property
    def _repeated(self) -> Family | None:
        """A family that has several groups of columns, which a dict cannot express."""
        return next((family for family in self.members if self.members.count(family) > 1), None)

    @property
    def moments(self) -> tuple[str, ...]:  # type: ignore[override]
        needed = {moment for family in self.members for moment in family.moments}
        return tuple(moment for moment in MOMENTS if moment in needed)

    @property
    def centre(self) -> float:  # type: ignore[override]
        return next((family.centre for family in self.members if "deviation" in family.moments), 0.0)

    @property
    def coupled(self) -> bool:  # type: ignore[override]
        return any(family.coupled for family in self.members)

    @property
    def coded(self) -> bool:  # type: ignore[override]
        return any(family.coded for family in self.members)

    @property
    def by_number(self) -> bool:
        """Whether columns are given by their numbers."""
        return any(isinstance(which, slice | np.ndarray) for _, which in self._given)

    # ---- columns -----------------------------------------------------------------------------------------------------

    def named(self, names: Any, kinds: Any = None) -> Mixed:
        """The same family with column numbers in place of names; `names` (n_features,) is None where X has none."""
        if not any(isinstance(which, list) for _, which in self._given):
            return self
        numbers = {} if names is None else {name: j for j, name in enumerate(names)}
        return self._with_groups((family, _numbers(family, which, numbers)) for family, which in self._given)

    def parts(self, n_features: int) -> list[tuple[Family, ColumnNames]]:
        if n_features not in self._parts:
            self._parts[n_features] = self._divided(n_features)
        return self._parts[n_features]

    def coded_columns(self, n_features: int) -> np.ndarray:
        every = np.arange(n_features)
        coded = [every[columns] for family, columns in self._divided(n_features) if family.coded]
        return np.sort(np.concatenate([np.zeros(0, np.int64), *coded]))

    def widened(self, firsts: np.ndarray) -> Mixed:
        every, given = np.arange(len(firsts) - 1), []
        for family, columns in self._divided(len(every)):
            own = every[columns]
            ends = np.cumsum([0, *np.diff(firsts)[own]])
            wide = np.concatenate([np.arange(firsts[j], firsts[j + 1]) for j in own])
            given.append((family.widened(ends), wide))
        return self._with_groups(given)

    def _divided(self, n_features: int) -> list[tuple[Family, ColumnNames]]:
        owner = np.full(n_features, -1)
        for k, (family, which) in enumerate(self._given):
            if which is ...:
                continue
            columns = _within(family, which, n_features)
            for j in columns[owner[columns] >= 0][:1]:
                _raise_twice(j, self.members[owner[j]], family)
            owner[columns] = k
            if np.count_nonzero(owner == k) < len(columns):
                _raise_twice(np.sort(columns)[:-1][np.diff(np.sort(columns)) == 0][0], family, family)
        rest = next((k for k, (_, which) in enumerate(self._given) if which is ...), None)
        if rest is not None:
            owner[owner < 0] = rest
        unclaimed = np.flatnonzero(owner < 0)
        if unclaimed.size:
            raise ValueError(
                f"family={self!r}: no family claims the columns {_listed(unclaimed)} of {n_features}; "
                f"list them, or give one family the rest (...); {_LIST_FORM}"
            )
        divided = [(family, np.flatnonzero(owner == k)) for k, family in enumerate(self.members)]
        for family, columns in divided:
            if isinstance(family, Dirichlet) and columns.size == 1:
                raise ValueError(
                    f"columns of {family!r} are column {columns[0]} alone; a composition has two or more (a single "
                    "share takes family='beta')"
                )
        return [(family, _compact(columns)) for family, columns in divided if columns.size]

    # ---- saving and comparing ----------------------------------------------------------------------------------------

    def _to_state(self) -> dict[str, Any]:
        return {"columns": [[family, _encoded(which)] for family, which in self._given]}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Mixed:
        (columns,) = persistence.parts(cls, state, columns=list[list[Any]])
        if not all(isinstance(family, Family) for family, _ in columns):
            raise ValueError("columns should be those of families")
        return cls([(family, _decoded(which)) for family, which in columns])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mixed) or len(self._given) != len(other._given):
            return False
        pairs = zip(self._given, other._given, strict=True)
        return all(f == g and type(a) is type(b) and np.array_equal(a, b) for (f, a), (g, b) in pairs)

    def __hash__(self) -> int:
        return hash(self.members)

    def __repr__(self) -> str:
        if self._repeated is not None:
            return f"Mixed([{', '.join(f'({family!r}, {_shown(which)})' for family, which in self._given)}])"
        return f"Mixed({{{', '.join(f'{family!r}: {_shown(which)}' for family, which in self._given)}}})"


class Auto(Family):
    """Chooses a family for each column of a table by its kind; it becomes a `Mixed` once the table is known.

    Each column of categories or of binned numbers is a multinomial variable over its indicators, as in `Categorical`.
    Numbers without bins, ``snb.table(bins=None)``, are Gaussian, words multinomial, and indicators of missing values
    Bernoulli. Unless another smoothing is given, it is "empirical_bayes".
    """

    name = "auto"
    smoothing = EMPIRICAL_BAYES

    def named(self, names: Any, kinds: Any = None) -> Family:
        if kinds is None:
            raise ValueError(
                "family='auto' goes by the kinds of columns of a table, and X are numbers of no known kind; name a "
                "family, or open X with snb.table(X, y=..)"
            )
        ends = np.cumsum([width for _, width in kinds])
        groups = [(kind, np.arange(end - width, end)) for (kind, width), end in zip(kinds, ends, strict=True)]
        of_kind = {kind: [columns for other, columns in groups if other == kind] for kind, _ in groups}
        pairs: list[tuple[Any, Any]] = [("multinomial", columns) for columns in of_kind.pop("multinomial", [])]
        for kind, several in of_kind.items():
            family = Categorical([len(one) for one in several]) if kind == "categorical" else kind
            pairs.append((family, np.concatenate(several)))
        mixed = Mixed(pairs)
        mixed.smoothing = self.smoothing
        return mixed


FAMILIES.update({Auto.name: Auto})


@dataclass(frozen=True)
class FamilyDomain:
    """The values of x that a family accepts; for a `Mixed`, each of its families in its own columns."""

    who: str
    family: Family
    what: str = "X"
    argument: str = field(default="family", repr=False)  # that named the family

    def check(self, chunk: Chunk, survey: Survey) -> None:
        """Raise an error for the first value outside the domain."""
        for family, columns in self.family.parts(chunk.shape[1]):
            who = f"{self.who}({self.argument}={family.name!r})"
            Domain(who, family.lowest, family.highest, columns, self.what).check(chunk, survey)


def grouped_parts(family: Family, n_features: int) -> list[tuple[Family, ColumnNames]]:
    """The parts of a family, with columns of categories apart, as probabilities sum to one within each of them."""
    found: list[tuple[Family, ColumnNames]] = []
    for member, columns in family.parts(n_features):
        every = np.arange(n_features)[columns]
        groups = member.groups(len(every))
        found += [(one, _compact(every[group])) for one, group in groups] if len(groups) > 1 else [(member, columns)]
    return found


# ---- columns in one of four forms: a slice, an array of numbers or bools, a list of names, or ... --------------------


def _pairs(columns: Any) -> list[tuple[Any, Any]]:
    """Pairs of a family and its columns, as given."""
    pairs = list(columns.items()) if isinstance(columns, Mapping) else columns
    if not isinstance(pairs, (list, tuple)) or not all(isinstance(p, (list, tuple)) and len(p) == 2 for p in pairs):
        raise TypeError(
            f"columns={columns!r} should be a dict from families to their columns, or a list of pairs (family, columns)"
        )
    if not pairs:
        raise ValueError(f"columns={columns!r} names no family; give a dict from families to their columns")
    return [(family, which) for family, which in pairs]


def _member(family: Any) -> Family:
    try:
        return as_family(family)
    except (TypeError, ValueError) as error:
        raise type(error)(f"columns should be a dict from families to their columns, but {error}") from None


def _checked(family: Any, which: Any) -> Any:
    if which is ...:
        return which
    if isinstance(which, slice) and all(
        isinstance(v, (int, np.integer, NoneType)) and not isinstance(v, bool) for v in _ends(which)
    ):
        return which
    if isinstance(which, str):
        return [which]
    try:
        columns = np.atleast_1d(np.asarray(which if np.ndim(which) == 0 else list(which)))
    except (TypeError, ValueError):
        _raise_no_columns(family, which)
    if columns.size == 0:
        return np.zeros(0, np.int64)
    if columns.ndim != 1 or columns.dtype.kind not in "biuUO":
        _raise_no_columns(family, which)
    if columns.dtype.kind in "UO":
        names = list(which) if np.ndim(which) else [which]  # the array would turn numbers among strings into strings
        if not all(isinstance(name, str) for name in names):
            _raise_no_columns(family, which)
        return [str(name) for name in names]
    return columns if columns.dtype.kind == "b" else columns.astype(np.int64)


def _ends(which: slice) -> tuple[Any, Any, Any]:
    """Start, stop and step."""
    return which.start, which.stop, which.step


def _raise_no_columns(family: Any, which: Any) -> NoReturn:
    raise TypeError(
        f"columns of {family!r} are {which!r}; they should be numbers, a slice of numbers, a mask of bools, names, or "
        "... for the rest"
    )


def _numbers(family: Family, which: Any, numbers: dict[Any, int]) -> Any:
    """Column numbers in place of names."""
    if not isinstance(which, list):
        return which
    unknown = [name for name in which if name not in numbers]
    if unknown and not numbers:
        raise ValueError(
            f"columns of {family!r} are named ({unknown[0]!r}), but X has no names; "
            "give their numbers, fit LinearNB on a data frame, or name the columns of statistics: family.named(names)"
        )
    if unknown:
        names = _listed(list(numbers))
        raise ValueError(f"columns of {family!r} name {unknown[0]!r}, which X does not have; its columns are {names}")
    return np.array([numbers[name] for name in which], np.int64)


def _within(family: Family, which: Any, n_features: int) -> np.ndarray:
    """Column numbers, each from 0 to n_features - 1."""
    if isinstance(which, list):
        which = _numbers(family, which, {})
    if isinstance(which, slice):
        return np.arange(n_features)[which]
    if which.dtype == bool:
        if len(which) != n_features:
            raise ValueError(
                f"columns of {family!r} are a mask of {len(which)} entries; X has {n_features} columns, so it should "
                f"have {n_features}"
            )
        return np.flatnonzero(which)
    outside = which[(which < -n_features) | (which >= n_features)]
    if outside.size:
        raise ValueError(
            f"columns of {family!r} have {outside[0]}; X has {n_features} columns, from 0 to {n_features - 1}"
        )
    return np.where(which < 0, which + n_features, which)


def _raise_twice(column: int, first: Family, second: Family) -> NoReturn:
    by = f"by {first!r} and by {second!r}" if first is not second else f"twice by {first!r}"
    raise ValueError(f"column {int(column)} is claimed {by}; each column should belong to one family, once")


def _compact(columns: np.ndarray) -> ColumnNames:
    """Sorted column numbers, as a slice if they are contiguous."""
    if columns[-1] - columns[0] + 1 == len(columns):
        return slice(int(columns[0]), int(columns[-1]) + 1)
    return columns


def _listed(items: Any) -> str:
    few = list(map(row_checks.plain, items[:SHOWN]))
    return str(few) if len(items) <= SHOWN else f"{str(few)[:-1]}, ..] ({len(items)} of them)"


def _shown(which: Any) -> str:
    if which is ...:
        return "..."
    return repr(which) if isinstance(which, slice) else _listed(which)


def _encoded(which: Any) -> Any:
    if which is ...:
        return "rest"
    return {"slice": [None if v is None else int(v) for v in _ends(which)]} if isinstance(which, slice) else which


def _decoded(which: Any) -> Any:
    if isinstance(which, str):
        return ...
    if isinstance(which, dict):
        return slice(*which["slice"])
    return which if persistence.is_a(list[str], which) else persistence.array("columns", which, ["i8", "b1"], (None,))
