"""Texts that repeat an earlier one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamnb.corpora.repeats import Seen, hashes_of
from streamnb.rows.texts import of_strings


def test_spaces_and_case_of_ascii_letters_do_not_matter():
    texts = of_strings(["Red wine", "red\n wine ", "red wines", "É", "é", "", "  "])
    hashes = hashes_of(texts)
    assert hashes[0] == hashes[1] != hashes[2] and hashes[3] != hashes[4] and hashes[5] == hashes[6]
    np.testing.assert_array_equal(hashes_of(texts.picked(slice(2, 5))), hashes[2:5])


@given(st.lists(st.lists(st.integers(0, 30), max_size=12), max_size=8))
def test_the_first_of_each_is_no_repeat_whatever_the_parts(parts):
    seen, before = Seen(), set()
    for part in parts:
        expected = [one in before or one in part[:k] for k, one in enumerate(part)]
        assert seen.repeated(np.array(part, np.uint64)).tolist() == expected
        before |= set(part)


def test_more_texts_than_memory_holds_are_refused():
    with pytest.raises(MemoryError, match=r"drop_repeats: 100 different texts take 2.4 kB; give a larger memory_limit"):
        Seen(1000).repeated(np.arange(100, dtype=np.uint64))
