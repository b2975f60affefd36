"""Sources that make their blocks of those of another leave to it what is beside the rows, and their order."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.rows.opening import opened
from streamnb.rows.prepared import PreparedSource
from streamnb.rows.tiles import in_tiles

X = np.arange(24.0).reshape(12, 2)
Y, WEIGHT = np.arange(12) % 3, np.arange(1.0, 13.0)


def in_squares(rows):
    return PreparedSource(rows, lambda chunk: chunk.to_matrix() ** 2, 2, "squares")


@pytest.mark.parametrize(("made", "values"), [(lambda rows: in_tiles(rows, 5), X), (in_squares, X**2)])
def test_rows_and_what_is_beside_them_are_those_of_the_other(made, values):
    rows, right = made(opened(X, Y, WEIGHT)), snb.scan(values, Y, sample_weight=WEIGHT)
    assert (snb.scan(rows).sum == right.sum).all() and (snb.scan(rows).weight == right.weight).all()
    part = rows.cut(3, 9)
    assert sum(block.n_rows for block in part.blocks(3, 9)) == 6 and part.group is None
    assert list(rows.layout())[: len(opened(X, Y).layout())] == list(opened(X, Y).layout())


def test_a_stream_that_is_read_once_is_refused_by_both():
    for made in (lambda rows: in_tiles(rows, 5), in_squares):
        with pytest.raises(ValueError, match="LinearNBCV reads the rows twice"):
            made(opened(iter([(X, Y)]))).check_read_again("LinearNBCV")
