"""Labels are counted in the pass in which columns are learned."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.passes.contract import RunOptions
from streamnb.passes.run import run
from streamnb.rows.opening import opened
from streamnb.sharing.learned_columns import LabelCounts, LabelScan, check_columns_alike
from tests.support.sites import table


def test_labels_are_counted():
    counts, _ = run(LabelScan(), opened(np.eye(4), ["b", "a", "b", "c"]), RunOptions(False))
    assert counts.labels.tolist() == ["a", "b", "c"] and counts.rows == {"a": 1, "b": 2, "c": 1}
    both = counts + LabelCounts({"a": 1})
    assert both.rows["a"] == 2 and both.arrays()["rows"] == [2, 2, 1]


def test_ways_to_learn_columns_are_compared():
    here = snb.schema(table(9), "late", bins=2).learned.columns
    there = snb.schema(table(9).drop(columns="hour"), "late", bins=2).learned.columns
    check_columns_alike(here, here)
    with pytest.raises(ValueError, match=r"column 'hour' is 'number' in one schema, absent in the other"):
        check_columns_alike(here, there)
    texts = snb.schema(["a b c"], ["x"], vocabulary=2).learned.columns
    with pytest.raises(ValueError, match="of a table"):
        check_columns_alike(here, texts)
