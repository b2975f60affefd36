"""States that no fit leaves, in files whose checksum is right: refused when they are loaded, not when they are used."""

import io
import json

import numpy as np
import pytest

import streamnb as snb
from tests.support.saved import members_of, sealed


def load_changed(kind, path, change):
    """What `load` makes of a saved file of that kind, once `change` has had its tree and its arrays by name."""
    members = dict(members_of(kind))
    tree = json.loads(members.pop("streamnb.json"))
    arrays = {name: np.load(io.BytesIO(stored)) for name, stored in members.items()}
    change(tree, arrays)
    members = {"streamnb.json": json.dumps(tree).encode()}
    for name, array in arrays.items():
        np.save(into := io.BytesIO(), array)
        members[name] = into.getvalue()
    return snb.load(sealed(path / "changed.snb", members.items()))


def states(node, name):
    """The states of all objects of a class, each a list of pairs."""
    if isinstance(node, dict) and node.get("object") == name:
        yield node["state"]["dict"]
    for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from states(part, name)


def field(name, key, value):
    """A change of a field of every object of a class; `value` may be a function of what is there."""

    def change(tree, arrays):
        found = [pair for state in states(tree, name) for pair in state if pair[0] == key]
        assert found
        for pair in found:
            pair[1] = value(pair[1]) if callable(value) else value

    return change


def numbers(name, key, value):
    """A change of the array in a field of every object of a class."""

    def change(tree, arrays):
        found = [part["array"] for state in states(tree, name) for at, part in state if at == key]
        assert found
        for array in found:
            value(arrays[array])

    return change


def falls(ends):
    ends[-1] = 0


def put(number):
    def change(array):
        array.reshape(-1)[:] = number

    return change


def sparse_ends(tree, arrays):
    """The ends of the rows of sparse weights, the last of which is before the others."""
    (weights,) = [part for state in states(tree, "LinearModel") for at, part in state if at == "weights"]
    falls(arrays[weights["list"][2]["array"]])


CASES = {
    "pairs of labels whose rows end before they begin": ("linear-nb-reference", numbers("Overlaps", "ends", falls)),
    "sparse weights whose rows end before they begin": ("linear-model-sparse", sparse_ends),
    "a part of no column": ("linear-nb-table", field("ColumnPart", "columns", {"tuple": []})),
    "a part of three columns": ("linear-nb-table", field("ColumnPart", "columns", {"tuple": ["age"] * 3})),
    "a part of a column that is not read": ("linear-nb-table", field("ColumnPart", "columns", {"tuple": ["sex"]})),
    "a part of no role": ("linear-nb-table", field("ColumnPart", "role", "joint")),
    "a part of no date": ("linear-nb-table", field("ColumnPart", "date_part", "era")),
    "weights of categories beyond float64": ("categorical-nb", numbers("Table", "hi", put(1e308))),
    "sums without a number": ("linear-nb-decides", numbers("Table", "hi", put(np.nan))),
}


@pytest.mark.parametrize("case", CASES)
def test_states_that_no_fit_leaves_are_refused(case, tmp_path):
    kind, change = CASES[case]
    load_changed(kind, tmp_path, lambda tree, arrays: None)
    with pytest.raises(snb.DataError, match="changed"):
        load_changed(kind, tmp_path, change)
