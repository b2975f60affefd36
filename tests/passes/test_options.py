"""How a pass is run: checked when it is said."""

import pytest

from streamnb.core.threads import n_cores
from streamnb.passes.contract import RunOptions


def test_what_is_not_said():
    options = RunOptions()
    assert options.threads == n_cores() and options.memory_limit is None and options.client is None


def test_sizes_in_words_are_bytes():
    assert RunOptions(memory_limit="2kB").memory_limit == 2000
    assert RunOptions(n_threads=3).threads == 3


@pytest.mark.parametrize(("name", "value"), [("n_threads", 0), ("n_threads", 1.5), ("memory_limit", "many")])
def test_mistakes_are_named(name, value):
    with pytest.raises((ValueError, TypeError), match=name):
        RunOptions(**{name: value})
