"""Checks the candidates on each axis of a search and combines them into settings."""

import numbers
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from streamnb.core import arguments
from streamnb.encoding.learning import to_learn
from streamnb.estimators.preparation import check_coded
from streamnb.problem.families import as_family
from streamnb.problem.family import Family
from streamnb.problem.penalties import L1, Penalty, as_penalty
from streamnb.problem.smoothing import Smoothing
from streamnb.rows.preparing import NORMS, RowOptions
from streamnb.searching.contest import Judging
from streamnb.selection.score_table import check_choice
from streamnb.solving.own_variances import is_own

SCHEMES = ("joint", "ovr", "ovo")
DEFAULTS: dict[str, list[Any]] = {
    "families": ["multinomial", "bernoulli", "gaussian"],
    "transforms": [None],
    "normalize": [None],
    "idf": [False],
    "smoothing": ["auto"],
    "penalties": [None, L1(scale="score")],
    "schemes": ["joint"],
}


@dataclass(frozen=True, eq=False)
class Setting:
    """A setting of naive Bayes: a family, a penalty whose whole grid is judged, and the preparation of rows."""

    family: Family
    penalty: Penalty | None
    scheme: str
    smoothing: Any
    transform: Any
    normalize: str | None
    idf: bool
    words: dict[str, str]

    def on(self, names: Any, kinds: Any) -> "Setting":
        """The setting for columns of these names and kinds, if there are any; refused where it does not fit them."""
        family = self.family.named(names, kinds)
        for member in family.members:
            Smoothing.of(member, self.smoothing, "posterior_mean")
        return replace(self, family=family)

    @property
    def rows(self) -> RowOptions:
        """The preparation of rows."""
        return RowOptions(self.transform, self.normalize, 0.0, self.family.centre)

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of `solve` other than family and penalty."""
        return {"scheme": self.scheme, "smoothing": self.smoothing, "idf": self.idf}

    @property
    def name(self) -> str:
        """The setting as text, without defaults."""
        usual = {"scheme": "joint", "smoothing": "'auto'", "transform": "none", "normalize": "none", "idf": "False"}
        usual["encoding"] = "none"
        parts = [self.words["family"], *([] if self.penalty is None else [self.words["penalty"]])]
        named = (f"{name}={value}" for name, value in self.words.items() if name in usual and usual[name] != value)
        return ", ".join([*parts, *named])


def settings_of(
    given: dict[str, Any], how: Judging, words: dict[str, str] | None = None
) -> tuple[list[Setting], dict[str, str]]:
    """Every valid combination, and the reasons why others are invalid; `words` describe earlier steps on the rows."""
    axes = {name: given[name] for name in DEFAULTS}
    found, left_out = [], {}
    for values in product(*axes.values()):
        chosen = dict(zip(axes, values, strict=True))
        setting = _setting(chosen, words or {})
        if _takes_no_penalty(setting.family) and any(
            chosen[name] is not axes[name][0] for name in ("penalties", "smoothing")
        ):
            continue  # it takes neither, and should be in the table once
        try:
            check_coded(setting.family, chosen["transforms"], setting.normalize, setting.idf or None)
            check_choice(setting.scheme, how.folds, 1, how.seed, how.scoring, "best")
            found.append(setting)
        except ValueError as error:
            left_out[setting.name] = str(error)
    return found, left_out


def checked(given: dict[str, Any]) -> dict[str, list[Any]]:
    """The given candidates, and defaults for the other axes; "learned" has the transforms learned from rows."""
    every = {name: _checked(name, DEFAULTS[name] if given[name] is None else given[name]) for name in DEFAULTS}
    of_values = [one for one in every["transforms"] if to_learn(one) is None]
    return {**every, "transforms": of_values, "learned": [one for one in every["transforms"] if one not in of_values]}


def _setting(chosen: dict[str, Any], before: dict[str, str]) -> Setting:
    family = as_family(chosen["families"])
    penalty = None if _takes_no_penalty(family) else chosen["penalties"]
    words = {"family": _word(chosen["families"]), "penalty": _word(penalty), "scheme": chosen["schemes"]}
    words |= {"smoothing": repr(chosen["smoothing"]), "transform": _word(chosen["transforms"])}
    words |= {"normalize": _word(chosen["normalize"]), "idf": repr(chosen["idf"]), **before}
    of_rows = chosen["transforms"], chosen["normalize"], chosen["idf"]
    return Setting(family, penalty, chosen["schemes"], chosen["smoothing"], *of_rows, words)


def _takes_no_penalty(family: Family) -> bool:
    """Whether a family takes neither penalties nor smoothing: Gaussian features whose variances differ by class."""
    return family.covariant or is_own(family)


def _word(value: Any) -> str:
    return "none" if value is None else value if isinstance(value, str) else repr(value)


def _checked(name: str, given: Any) -> list[Any]:
    """The candidates of one axis, each of them checked."""
    also = "; to leave out naive Bayes, give models= or others=" if name == "families" else ""
    check_list(name, given, repr(DEFAULTS[name]), also)
    for value in given:
        _check(name, value)
    check_once(name, [_word(value) for value in given])
    return given


def check_list(name: str, given: Any, example: str, also: str = "") -> None:
    """Refuse anything but a list of at least one candidate."""
    if not isinstance(given, list):
        raise TypeError(f"{name}={given!r} should be a list of candidates, such as {name}={example}")
    if not given:
        should = f"give at least one candidate, such as {name}={example}, or leave it out"
        raise ValueError(f"{name}=[] is empty; {should}{also}")


def check_once(name: str, words: list[str]) -> None:
    """Refuse candidates, given as text, if one occurs more than once."""
    twice = [word for word in words if words.count(word) > 1]
    if twice:
        raise ValueError(f"{name} has {twice[0]} twice; give each once")


def _check(name: str, value: Any) -> None:
    if name == "families":
        if as_family(value).map_names:
            raise ValueError(
                f"families has {value!r}, whose maps are learned from rows; give models=[snb.LinearNBCV(family)], and "
                "families without maps, or transforms"
            )
    elif name == "transforms":
        if to_learn(value) is None:
            RowOptions(value)
    elif name == "penalties":
        as_penalty(value, "penalties")
    elif name == "smoothing" and isinstance(value, numbers.Real):
        arguments.finite_number(name, value, minimum=0.0)
    elif name in ("schemes", "normalize", "idf"):
        choices: Iterable[Any] = {"schemes": SCHEMES, "normalize": [None, *NORMS], "idf": [False, True]}[name]
        arguments.one_of(name, value, choices)
