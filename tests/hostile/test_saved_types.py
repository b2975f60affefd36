"""Saved files of whose parts one is of another type, under a checksum made anew: refused when they are loaded."""

import io
import json
from contextlib import suppress
from functools import cache, reduce
from operator import getitem

import numpy as np
import pytest

import streamnb as snb
from tests.support.saved import members_of, sealed
from tests.support.saved_kinds import KINDS, answers

OTHER = {  # what stands in place of a value, by its kind
    "str": 3,
    "int": "joint",
    "bool": "joint",
    "NoneType": {"list": [1, "joint"]},
    "float": "joint",
    "list": "joint",
    "tuple": {"list": [3]},
    "dict": {"list": [3]},
    "object": "joint",
}
ARRAYS = {
    "another size": lambda a: a.astype({"f": "f4", "i": "i2", "b": "u1"}.get(a.dtype.kind, "U9")),
    "another kind": lambda a: np.arange(a.size).reshape(a.shape).astype({"f": "i8", "U": "f8"}.get(a.dtype.kind, "f8")),
    "a dimension more": lambda a: a[None],
    "one less": lambda a: a[:-1],
}


def values(node, name="", place=()):
    """The place of every value in the JSON of a file, with its name and what it is."""
    kind = next(iter(node)) if isinstance(node, dict) else type(node).__name__
    yield place, name, kind
    if kind == "object":
        yield from values(node["state"], f"{name}/{node['object']}", (*place, "state"))
    for i, part in enumerate(node[kind] if kind in ("list", "tuple") else ()):
        yield from values(part, name, (*place, kind, i))
    for i, (key, part) in enumerate(node[kind] if kind == "dict" else ()):
        yield from values(part, f"{name}/{key}", (*place, kind, i, 1))


def changed(members, place, other):
    """The members with another value in one place."""
    tree = json.loads(members["streamnb.json"])
    *there, last = "content", *place
    reduce(getitem, there, tree)[last] = other
    return {**members, "streamnb.json": json.dumps(tree).encode()}


def changes(members):
    """What is changed, and the members of the file then; of parts of one name, such as folds, the first is enough."""
    tree = json.loads(members["streamnb.json"])["content"]
    found = {(name, kind): place for place, name, kind in reversed([*values(tree)])}
    for (name, kind), place in found.items():
        if kind == "object" and "dict" in (node := reduce(getitem, place, tree))["state"]:
            more = [*node["state"]["dict"], ["unknown", None]]
            yield f"{name}/{node['object']}/unknown", "a part more", changed(members, (*place, "state", "dict"), more)
        if kind != "array":
            yield name, kind, changed(members, place, OTHER[kind])
            continue
        file = reduce(getitem, place, tree)["array"]
        old = np.load(io.BytesIO(members[file]))
        for what, change in ARRAYS.items():
            new = change(old) if old.size else old
            if (new.dtype, new.shape) != (old.dtype, old.shape):
                np.save(into := io.BytesIO(), new)
                yield name, what, {**members, file: into.getvalue()}


def may_be(name, what):
    """Whether another object has such a part: labels of another kind, another grid, rows or features that are fewer."""
    part = name.split("/")[-1]
    if name.startswith(("/Round/estimators/", "/Round/weights/", "/Answer/total/")):  # held against the next step
        return True
    of_folds = tuple(
        f"{who}/params/folds"
        for who in ("CV", "StackedNB", "AdditiveClassifier", "AdditiveRegressor", "ForwardRegression")
    )
    return {
        "classes": what in ("another size", "another kind"),
        "declared": what in ("another size", "another kind")
        or (what == "one less" and not name.startswith("/SiteSums")),
        "labels": what in ("another size", "another kind"),
        "lengths": what == "one less",
        "classes_": what in ("another size", "another kind"),
        "rows": name.endswith("/meta_/rows"),  # what users put there
        "tau": what in ("another size", "another kind", "one less"),
        "k": what in ("another size", "another kind", "one less", "dict"),  # one number for all rows of weights
        "b": what in ("another size", "another kind"),
        "columns": what == "one less",
        "chosen": what == "one less",  # a search may keep fewer features
        "folds": name.endswith(of_folds),  # the name of an array beside the rows
        "has_offset_": what == "bool",  # the name of a column
        "done": what == "one less",
        "decisions": name.endswith("/spread/sums/decisions"),  # of files of 0.3: what counts by class tell, too
        "priors": name.endswith(" of a LinearNB/priors"),  # of a member of a stack, which a fit holds against its rows
        "reference": name.endswith(("/params/reference", " of a LinearNB/reference")),  # which labels do not look at
        "interactions": True,  # names that only a fit holds against the rows
        "resolutions": what == "tuple",  # a list of others, which a fit would take
        "weights": name == "/LinearModel/weights" and what == "one less",
    }.get(part, False)


def of_its_object(name, what):
    """A part by its class, which looks at its type; arrays by the class around, too, which looks at their shape."""
    parts = name.split("/")
    classes = [0, 0, *(i for i, part in enumerate(parts) if part[:1].isupper())]
    return "/".join(parts[classes[-2 if what in ARRAYS else -1] :])


@cache
def changes_of_each_kind():
    """Of the changes of each kind of file that the kinds before it do not have every second, two of each array."""
    seen, found = set(), {}
    for kind in KINDS:
        made = [(of_its_object(name, what), name, what, members) for name, what, members in changes(members_of(kind))]
        found[kind] = [change for part, *change in made if (part, change[1]) not in seen][::2]
        seen |= {(part, what) for part, _, what, _ in made}
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_of_another_type_is_refused(kind, tmp_path):
    for name, what, members in changes_of_each_kind()[kind]:
        path = sealed(tmp_path / "changed.snb", members.items())
        if not may_be(name, what):
            with pytest.raises(snb.DataError, match=r"changed\.snb"):
                print(name, what, snb.load(path))
            continue
        with suppress(snb.DataError):
            value = snb.load(path)
            if not name.endswith("/weights"):
                answers(value)


def test_statistics_are_refused_by_their_own_load_too(tmp_path):
    for name, _, members in changes(members_of("stats-labels")):
        if name in ("/ClassStats/negatives", "/ClassStats/closed", "/ClassStats/options", "/ClassStats/folding/seed"):
            with pytest.raises(snb.DataError, match=r"changed\.snb"):
                snb.ClassStats.load(sealed(tmp_path / "changed.snb", members.items()))
