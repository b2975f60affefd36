"""Blocks of Dask arrays: packed with what belongs to their rows, added up in a tree."""

from functools import partial, reduce
from operator import add

import dask.array as da
import numpy as np
import pytest

import streamnb as snb
from streamnb.passes.dask_blocks import in_a_tree, map_rows
from streamnb.rows.opening import opened

X = np.arange(40.0).reshape(20, 2)
Y = np.arange(20) % 3


@pytest.mark.parametrize("chunk", [1, 3, 20])
def test_a_tree_merges_each_block_once(chunk):
    blocks = da.from_array(X, chunks=(chunk, 2))
    total = in_a_tree(lambda block: [block.sum()], [blocks], partial(reduce, add)).compute().item()
    assert len(total) == -(-20 // chunk) and sum(total) == X.sum()


@pytest.mark.parametrize("labels", [Y, da.from_array(Y, chunks=7)])
def test_what_is_beside_is_cut_as_the_rows_are(labels):
    lazy = da.from_array(X, chunks=(6, 2))
    assert np.array_equal(snb.scan(lazy, labels).sum, snb.scan(X, Y).sum)


def test_answers_have_the_chunks_of_the_rows():
    rows = opened(da.from_array(X, chunks=(6, 2)), labelled=False)
    lazy = map_rows(lambda chunk, survey: chunk.to_matrix()[:, :1], rows, (1,), np.dtype(float))
    assert lazy.chunks == ((6, 6, 6, 2), (1,)) and np.array_equal(lazy.compute(), X[:, :1])
