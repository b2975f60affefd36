"""A ranking as a value; what all searches have in common: rows twice, one label a row, an unknown name, files."""

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.selection.features import SEARCHES, as_search
from tests.support.strategies import example

ROWS = example("int")
X, Y = np.abs(ROWS.x), ROWS.y
SCORES = np.array([0.1, 0.4, 0.2])


def ranking(**changed):
    parts = {"by": "sfs", "scores": SCORES, "ranking": np.array([2, 1, 0]), "chosen": np.array([2])}
    return snb.FeatureRanking(**{**parts, "curve": np.array([[0.5, 0.7]]), **changed})


def test_it_says_what_is_kept():
    assert repr(ranking()) == "<FeatureRanking by 'sfs': 3 features, 1 kept, best 2, 1, 0>"
    again = snb.FeatureRanking._from_state(ranking()._to_state())
    assert again.chosen.tolist() == [2] and again.curve.tolist() == [[0.5, 0.7]]


@pytest.mark.parametrize(
    "wrong",
    [
        {"chosen": np.array([1])},
        {"chosen": np.arange(4)},
        {"chosen": np.array([2.0])},
        {"curve": np.zeros(2)},
        {"curve": np.zeros((0, 2))},
    ],
    ids=str,
)
def test_parts_that_do_not_go_together_are_refused(wrong):
    with pytest.raises(ValueError, match=r"chosen|curve"):
        snb.FeatureRanking._from_state(ranking(**wrong)._to_state())


def test_by_name_or_as_an_object():
    assert as_search("chi2") is None and {*SEARCHES} >= {"fcbf", "sfs", "iwss", "backward", "exhaustive"}
    for name, search in SEARCHES.items():
        assert as_search(name) == search() and as_search(search()) == search()
    with pytest.raises(ValueError, match=r"by='nothing' is unknown; it should be one of 'chi2', .*, 'sfs'"):
        snb.rank_features(snb.scan(X, Y), "nothing")
    with pytest.raises(ValueError, match="by='nothing' is unknown"):
        snb.FeatureSelector("nothing").fit(X, Y)


@pytest.mark.parametrize("by", SEARCHES)
def test_rows_are_read_twice_and_bear_one_label(by):
    selector = snb.FeatureSelector(by, 2)
    with pytest.raises(ValueError, match=r"once|again|callable"):
        selector.fit(iter([(X, Y)]), keep="no")
    with pytest.raises(ValueError, match="2-D indicator of labels; FeatureSelector takes one"):
        selector.fit(X, sp.csr_array(X[:, :3] > 1).astype(int))
    assert not hasattr(selector.fit(X, Y), "partial_fit") and hasattr(snb.FeatureSelector("chi2"), "partial_fit")
    stats = snb.scan(X, (Y[:, None] == np.unique(Y)).astype(int))
    with pytest.raises(ValueError, match=f"by='{by}' takes one label a row"):
        snb.rank_features(stats, by)
    with pytest.raises(ValueError, match=r"one class only with any weight .*ranking features needs at least 2 classes"):
        snb.FeatureSelector(by, 2).fit(X, np.zeros(len(X), int))


@pytest.mark.parametrize("by", ["fcbf", "sfs"])
def test_a_fitted_selector_is_saved_and_k_cuts_what_it_chose(by, tmp_path):
    selector = snb.FeatureSelector(SEARCHES[by](), 3).fit(X, Y)
    selector.save(tmp_path / "s.snb")
    loaded = snb.load(tmp_path / "s.snb")
    assert loaded.by == selector.by and np.array_equal(loaded.get_support(), selector.get_support())
    assert (loaded.curve_ is None) == (selector.curve_ is None)
    np.testing.assert_array_equal(loaded.transform(X), selector.transform(X))
    assert selector.set_params(k=1).get_support().sum() == 1
    assert selector.set_params(k="all").get_support().all()
    with pytest.raises(ValueError, match="k='auto'"):
        snb.FeatureSelector("chi2", "auto").fit(X, Y)
