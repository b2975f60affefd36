"""Labels are counted in the pass in which columns are learned."""

import numpy as np
import pytest

from streamnb.passes.options import RunOptions
from streamnb.passes.run import run
from streamnb.rows.opening import opened
from streamnb.sharing.learned_columns import (
    LabelCounts,
    LabelScan,
    LearnedTable,
    LearnedVocabulary,
    check_columns_alike,
)
from tests.support.sites import table


def test_labels_are_counted():
    counts, _ = run(LabelScan(), opened(np.eye(4), ["b", "a", "b", "c"]), RunOptions(False))
    assert counts.labels.tolist() == ["a", "b", "c"] and counts.rows == {"a": 1, "b": 2, "c": 1}
    both = counts + LabelCounts({"a": 1})
    assert both.rows["a"] == 2 and both.arrays()["rows"] == [2, 2, 1]


def test_ways_to_learn_columns_are_compared():
    here, _ = LearnedTable.of(table(9), "late", None, {"bins": 2})
    there, _ = LearnedTable.of(table(9).drop(columns="hour"), "late", None, {"bins": 2})
    check_columns_alike(here, here)
    with pytest.raises(ValueError, match=r"column 'hour' is 'number' in one schema, absent in the other"):
        check_columns_alike(here, there)
    texts, _ = LearnedVocabulary.of(["a b c"], None, None, {"vocabulary": 2})
    with pytest.raises(ValueError, match="of a table"):
        check_columns_alike(here, texts)
