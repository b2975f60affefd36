"""Sums of sites add to those of all rows, and refuse, or name, what does not fit."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import streamnb as snb
from tests.support.sites import SITES, in_rounds, parts_of, table

ROWS = table(60)
FAMILIES = ["poisson", "bernoulli", "gaussian", "multinomial", "geometric", "laplace"]
PENALTIES = [None, snb.L1(0.3), snb.L2(0.5), snb.TopK(3), snb.L1([0.0, 0.1, 1.0]), snb.L1(0.2) + snb.L2(0.1)]
MOMENTS = ["sum", "sum_sq", "nonzero", "above", "deviation"]


def schema(**options):
    return snb.schema(ROWS, "late", bins=3, **options)


BY = schema(moments=MOMENTS)
TOGETHER = snb.table(ROWS, "late", bins=3)
WHOLE = snb.scan(TOGETHER, moments=MOMENTS)


def sums(by, parts):
    return sum(by.scan(rows, site=name) for name, rows in parts.items())


@settings(max_examples=10)
@given(
    st.lists(st.integers(2, 58), min_size=2, max_size=2, unique=True),
    st.sampled_from(FAMILIES),
    st.sampled_from(PENALTIES),
)
def test_every_family_and_penalty_is_that_of_all_rows(cuts, family, penalty):
    found = sums(BY, parts_of(ROWS, sorted(cuts)))
    for name in MOMENTS:
        np.testing.assert_array_equal(getattr(found.stats, name), getattr(WHOLE, name))
    of_sites, of_all = (snb.solve(stats, family, penalty) for stats in (found.stats, WHOLE))
    assert of_sites.grid == of_all.grid
    for one, other in zip(of_sites, of_all, strict=True):
        np.testing.assert_array_equal(one.coef_, other.coef_)
        np.testing.assert_array_equal(one.intercept_, other.intercept_)
    if len(of_all) == 1:
        model, together = snb.LinearNB(family, penalty), snb.LinearNB(family, penalty).fit(TOGETHER)
        np.testing.assert_array_equal(found.fit(model).decision_function(ROWS), together.decision_function(ROWS))


def test_sites_are_folds(tmp_path):
    parts = parts_of(ROWS, (20, 40))
    found = sums(schema(sites=SITES), parts)
    numbers = np.repeat(np.arange(3), 20)
    expected = snb.scan(TOGETHER, folds=numbers)
    for one, other in zip(found.stats.folds, expected.folds, strict=True):
        np.testing.assert_array_equal(one.sum, other.sum)
    model, n_rounds = in_rounds(found.fit(snb.LinearNBCV("bernoulli"), snb.LinearNBCV("auto")), parts, tmp_path)
    each = [snb.LinearNBCV(family, folds=numbers).fit(TOGETHER) for family in ("bernoulli", "auto")]
    best = max(each, key=lambda one: one.best_score_)
    assert n_rounds == 2 and model.best_params_ == best.best_params_ and model.best_score_ == best.best_score_
    np.testing.assert_array_equal(model.coef_, best.coef_)


def test_sites_that_are_missing_are_named():
    by, parts = schema(sites=SITES), parts_of(ROWS)
    found = by.scan(parts["north"], site="north") + by.scan(parts["west"], site="west")
    assert found.missing == ["south"] and found.stats.folding is None
    with pytest.raises(ValueError, match="sums of site 'south' are missing"):
        found.fit(snb.LinearNBCV())
    with pytest.raises(ValueError, match="site='east' should be one of 'north', 'south', 'west'"):
        by.scan(parts["north"], site="east")


def test_the_same_site_twice_is_warned_of():
    by, parts = schema(), parts_of(ROWS)
    north = by.scan(parts["north"], site="north")
    with pytest.warns(snb.StreamnbWarning, match="'north' has the same sums as 'north'"):
        north + by.scan(parts["north"], site="north")
    with pytest.warns(snb.StreamnbWarning, match="'north' is there twice, with different sums"):
        both = north + by.scan(parts["south"], site="north")
    assert both.sites["north"].rows == len(parts["north"]) + len(parts["south"])


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (schema(folds=2), "differ in their folds"),
        (schema(classes=["maybe", "no", "yes"]), "differ in their declared classes"),
        (snb.schema(ROWS, "late", bins=2), "make other columns: .* Scan every site with the same schema file"),
        (replace(schema(), sums=0), "way of summing, which is that of the version of streamnb"),
    ],
)
def test_sums_by_other_schemas_are_refused(other, message):
    ours = schema().scan(ROWS[:30], site="here")
    theirs = replace(schema().scan(ROWS[30:], site="there"), schema=other.without_counts())
    with pytest.raises(ValueError, match=message):
        ours + theirs


def test_sums_that_lack_what_a_model_asks_for_are_refused():
    plain = schema(moments="sum").scan(ROWS, site="here")
    for model, message in (
        (snb.LinearNB("gaussian"), "lack the moment 'sum_sq'"),
        (snb.LinearNB("poisson", transform="log1p"), "transform='log1p' is applied in the scan"),
        (snb.LinearNBCV("poisson", folds=4), "have the folds None"),
        (snb.SoftmaxRegression(), "begin with fit of the schema"),
    ):
        with pytest.raises(ValueError, match=message):
            (schema() if "begin" in message else schema(moments="sum")).scan(ROWS, site="here").fit(model)
    assert "here 60 rows" in repr(plain)
