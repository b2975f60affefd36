"""Dask collections are recognised, and computed where they are."""

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import streamnb as snb
from streamnb.rows import lazy

LAZY = {
    "array": lambda x: da.from_array(x, chunks=2),
    "frame": lambda x: dd.from_pandas(pd.DataFrame({"a": x}), npartitions=2)["a"],
}


@pytest.mark.parametrize("make", LAZY.values(), ids=LAZY)
def test_dask_collections(make):
    values = np.arange(5)
    held = make(values)
    assert lazy.is_dask(held) and isinstance(lazy.dask_array(held), da.Array)
    assert lazy.computed(held).tolist() == values.tolist() and isinstance(lazy.computed(held), np.ndarray)


@pytest.mark.parametrize("held", [None, np.arange(5), [1, 2], pd.Series([1, 2])], ids=type)
def test_anything_else_stays_as_it_is(held):
    assert not lazy.is_dask(held) and lazy.computed(held) is held and lazy.dask_array(held) is held


X, Y = np.arange(12.0).reshape(6, 2), np.array([0, 1, 0, 1, 0, 1])
OF_UNKNOWN_SHAPE = {"delayed": dask.delayed, "call": lambda x: dask.delayed(np.array)(x), "bag": db.from_sequence}
DOORS = {  # where rows, and what is beside them, come in
    "X": lambda later: snb.scan(later(X), Y),
    "y": lambda later: snb.scan(X, later(Y)),
    "sample_weight": lambda later: snb.scan(X, Y, sample_weight=later(Y)),
    "folds": lambda later: snb.scan(X, Y, folds=later(Y)),
    "groups": lambda later: snb.scan(X, Y, folds=2, groups=later(Y)),
    "y_pred": lambda later: snb.evaluate(Y, later(Y)),
}


@pytest.mark.parametrize("later", OF_UNKNOWN_SHAPE.values(), ids=OF_UNKNOWN_SHAPE)
@pytest.mark.parametrize("name", DOORS)
def test_what_is_lazy_and_no_array_is_refused_at_the_door(name, later):
    """Of a delayed object any attribute is there, and gives another one."""
    assert not lazy.is_dask(later(X))
    with pytest.raises(TypeError, match=rf"^{name} is a \w+ of Dask, .*from_delayed\({name}, shape=.*{name}.compute"):
        DOORS[name](later)


def test_names_of_columns_do_not_make_a_delayed_object_a_frame():
    with pytest.raises(TypeError, match=r"^X is a Delayed\w* of Dask"):
        snb.LinearNB().fit(dask.delayed(pd.DataFrame({"a": [1, 2], "kind": ["b", "c"]})), "kind")
