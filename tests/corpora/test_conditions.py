"""Conditions over scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamnb.corpora.choosing import Condition

NUMBERS = st.floats(0, 1).map(lambda number: round(number, 2))
COMPARISONS = st.builds("{} {} {}".format, st.sampled_from("abc"), st.sampled_from(["<", "<=", ">", ">="]), NUMBERS)
CONDITIONS = st.recursive(
    COMPARISONS,
    lambda inner: (
        st.builds("({} {} {})".format, inner, st.sampled_from(["and", "or"]), inner) | st.builds("not {}".format, inner)
    ),
    max_leaves=5,
)


@given(CONDITIONS, st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), max_size=5))
def test_it_holds_as_in_python(text, rows):
    scores = np.array(rows).reshape(-1, 3)
    found = Condition(text).holds(dict(zip("abc", scores.T)))
    assert found.tolist() == [bool(eval(text, {}, dict(zip("abc", row)))) for row in rows]


def test_labels_may_be_quoted_or_of_a_model():
    condition = Condition("'zh-cn' > .5 and quality.good >= -1 and 0.1 < en < 0.2 and True > 0")
    assert condition.names == ("zh-cn", "quality.good", "en", "True")


@pytest.mark.parametrize(
    "text", ["", "en", "en >", "en = 1", "f(en) > 1", "en > 'x' + 1", "en in [1]", "en > 1j", "en == 1"]
)
def test_what_is_no_condition_is_refused(text):
    with pytest.raises(ValueError, match="where="):
        Condition(text)
    with pytest.raises(TypeError, match="where=3"):
        Condition(3)
