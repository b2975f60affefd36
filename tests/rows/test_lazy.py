"""Dask collections are recognised, and computed where they are."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

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
