"""The best rows, exactly, whatever the parts, and conditions over scores."""

import io
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from streamnb.corpora.predictions import Folder
from streamnb.corpora.reading import CorpusPart
from streamnb.corpora.scoring import ScoredLabels
from streamnb.corpora.selecting import Condition, RankedRows, Seen, cut_of, gumbel, hashes_of
from streamnb.passes.contract import RunOptions
from streamnb.rows.texts import of_strings
from tests.support.refusals import refuses

NUMBERS = st.sampled_from([-np.inf, -2.0, -0.0, 0.0, 1e-300, 1.0, np.nextafter(1.0, 2.0), 7.5, np.inf, np.nan])


class InMemory(Folder):
    """Scores of parts, by the name of their file."""

    files: ClassVar[dict] = {}

    def read(self, name):
        return self.files[name]


def ranked_rows(odds, cuts, **options):
    folder, bounds = InMemory(""), [0, *sorted(cuts), len(odds)]
    for k, (start, stop) in enumerate(pairwise(bounds)):
        file = io.BytesIO()
        np.save(file, odds[start:stop])
        folder.files[f"{k}"] = file.getvalue()
    parts = [CorpusPart(k) for k in range(len(bounds) - 1)]
    return RankedRows(folder, "{}", firsts=tuple(bounds[:-1]), **options), parts


def chosen(rows, parts, wanted):
    cut = cut_of(rows, parts, wanted, RunOptions(n_threads=1))
    return np.concatenate([cut.chosen(*rows.ranked(rows.stored(part), part), part) for part in parts])


def labels(n_wanted=1, names=("a",)):
    return ScoredLabels(names, tuple(("", k) for k in range(len(names))), (True,) * len(names), n_wanted, "score")


@given(st.lists(NUMBERS, min_size=1, max_size=12), st.lists(st.integers(0, 12), max_size=3), st.integers(0, 14))
def test_the_best_are_chosen_and_the_first_of_those_that_are_alike(numbers, cuts, n):
    odds = np.array(numbers)[:, None]
    rows, parts = ranked_rows(odds, [min(cut, len(odds)) for cut in cuts], labels=labels())
    found = chosen(rows, parts, lambda there: np.full(1, n))
    order = [k for k in np.argsort(-(odds[:, 0] + 0.0), kind="stable") if not np.isnan(odds[k, 0])]
    assert np.flatnonzero(found).tolist() == sorted(order[:n])


def test_noise_is_gumbel_and_samples_are_by_the_odds():
    assert stats.kstest(gumbel(3, 0, 20_000), "gumbel_r").pvalue > 0.01
    odds = np.log(np.tile([1.0, 2.0, 5.0], 1))
    draws = np.array([np.argmax(odds + gumbel(seed, 0, 3)) for seed in range(4000)])
    expected = 4000 * np.array([1, 2, 5]) / 8
    assert stats.chisquare(np.bincount(draws, minlength=3), expected).pvalue > 0.01
    assert gumbel(0, 0, 3).tolist() != pytest.approx(gumbel(1, 0, 3).tolist())


def test_spaces_and_case_of_ascii_letters_do_not_matter():
    texts = of_strings(["Red wine", "red\n wine ", "red wines", "É", "é", "", "  "])
    hashes = hashes_of(texts)
    assert hashes[0] == hashes[1] != hashes[2] and hashes[3] != hashes[4] and hashes[5] == hashes[6]
    np.testing.assert_array_equal(hashes_of(texts.picked(slice(2, 5))), hashes[2:5])


def test_more_texts_than_memory_holds_are_refused():
    with pytest.raises(MemoryError, match=r"drop_repeats: 100 different texts take 2.4 kB; give a larger memory_limit"):
        Seen(1000).repeated(np.arange(100, dtype=np.uint64))


SHARES = st.floats(0, 1).map(lambda number: round(number, 2))
COMPARISONS = st.builds("{} {} {}".format, st.sampled_from("abc"), st.sampled_from(["<", "<=", ">", ">="]), SHARES)
CONDITIONS = st.recursive(
    COMPARISONS,
    lambda inner: (
        st.builds("({} {} {})".format, inner, st.sampled_from(["and", "or"]), inner) | st.builds("not {}".format, inner)
    ),
    max_leaves=5,
)


@given(CONDITIONS, st.lists(st.tuples(SHARES, SHARES, SHARES), max_size=5))
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
    refuses(ValueError, "where=", lambda: Condition(text))
    refuses(TypeError, "where=3", lambda: Condition(3))
