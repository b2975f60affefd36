"""What every family and every penalty promises; the examples of test_contracts.py."""

import copy
import pickle
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone

import streamnb as snb
from streamnb.core import persistence
from streamnb.problem import families
from streamnb.problem.families import Together, as_family
from streamnb.problem.penalties import Pull
from streamnb.stats.moment_sums import MOMENTS
from tests.support import examples_of_problems as examples
from tests.support.contracts import same, tables
from tests.support.examples_of_contracts import SHARES, WEIGHT, Y
from tests.support.examples_of_problems import FAMILIES, PENALTIES, _Sum

# ---- families: values that stand for themselves ----------------------------------------------------------------------

every_family = tables(FAMILIES)
SUM_TO_ONE = SHARES / SHARES.sum(axis=1, keepdims=True)  # takes every family
ALL_FAMILIES = [family for named in FAMILIES.values() for family in named.values()]


def means(family):
    """Means that a family may have, ascending."""
    low, high = family.mean_range
    low, high = max(low, -3.0), min(high, 1.0 if family.coupled else 5.0)
    return low + (high - low) * np.linspace(0.02, 0.98, 49)


@cache
def scanned(family):
    return snb.scan(SUM_TO_ONE, Y, sample_weight=WEIGHT, moments=MOMENTS, centre=family.centre)


def copies(value, path):
    """A value that was copied, sent, saved, and written down."""
    persistence.save(path, value)
    yield copy.deepcopy(value)
    yield pickle.loads(pickle.dumps(value))
    yield persistence.load(path, type(value))
    yield eval(repr(value), {**vars(snb), **{name: getattr(snb, name) for name in snb.__all__}})


@every_family
def test_families_are_their_parameters(example, tmp_path):
    for again in copies(example, tmp_path / "family.snb"):
        assert type(again) is type(example) and again == example and hash(again) == hash(example)
        assert repr(again) == repr(example)
    assert [family for family in ALL_FAMILIES if family == example] == [example]
    assert example != 3 and clone(snb.LinearNB(example)).family == example


@pytest.mark.parametrize("cls", FAMILIES, ids=lambda cls: cls.__name__)
def test_families_that_need_no_parameter_have_a_name(cls):
    try:
        family = cls()
    except TypeError:
        assert cls.name not in families.FAMILIES
    else:
        assert families.FAMILIES[cls.name] is cls and as_family(cls.name) == family == as_family(family)


@every_family
def test_families_say_what_they_take_and_what_they_need(example):
    assert example.moments and {*example.moments} <= {*MOMENTS}
    assert example.name and example.lowest < example.highest and example.nonnegative == (example.lowest >= 0.0)
    for member in example.members:
        low, high = member.mean_range
        assert low < high and member.moment in member.moments
    owned = np.zeros(5, int)
    for member, columns in example.parts(5):
        assert member in example.members
        owned[columns] += 1
    assert (owned == 1).all()


FUNCTIONS = {cls: named for cls, named in FAMILIES.items() if cls.link is not snb.Family.link}


@tables(FUNCTIONS)
def test_functions_of_the_mean_belong_together(example):
    """dtheta = dm / c'', and dc = m dtheta; where means are coupled c is 0."""
    m = means(example)
    assert (np.diff(example.link(m)) > 0.0).all() and (example.variance(m) > 0.0).all()
    h = 1e-5 * np.minimum(m - m[0] + 0.1, 1.0) * min(m[1] - m[0], 1.0)
    dtheta = example.link(m + h) - example.link(m - h)
    np.testing.assert_allclose(2.0 * h / dtheta, example.mean_slope(m), rtol=1e-5)
    dc = example.cumulant(m + h) - example.cumulant(m - h)
    np.testing.assert_allclose(dc / dtheta, 0.0 * m if example.coupled else m, rtol=1e-4)
    change = example.cumulant_change(m[:-1], m[1:])
    np.testing.assert_allclose(change, np.diff(example.cumulant(m)), rtol=1e-9, atol=1e-12)


def test_families_without_functions_of_the_mean_are_fitted_together():
    without = {cls for cls in FAMILIES if cls not in FUNCTIONS}
    assert without == {cls for cls in without if issubclass(cls, Together)} | {snb.Mixed}


@every_family
def test_weights_are_finite_and_saved_with_their_family(example, tmp_path):
    path = snb.solve(scanned(example), example)
    assert np.isfinite(path[0].coef_).all() and np.isfinite(path[0].intercept_).all()
    path.save(tmp_path / "path.snb")
    again = snb.load(tmp_path / "path.snb")
    assert np.array_equal(again[0].coef_, path[0].coef_) and np.array_equal(again.intercepts, path.intercepts)


@every_family
def test_a_grid_goes_from_all_weights_to_none(example):
    stats = scanned(example)
    if isinstance(example, Together):
        with pytest.raises(ValueError, match="penalty"):
            snb.solve(stats, example, snb.L1(1.0))
        return
    path = snb.solve(stats, example, snb.L1([0.0, 1.0, 1e9]))
    np.testing.assert_allclose(path[0].coef_, snb.solve(stats, example)[0].coef_, rtol=1e-9, atol=1e-12)
    assert not path[2].coef_.any() and path.n_features[0] >= path.n_features[1] >= path.n_features[2] == 0
    np.testing.assert_array_equal(path[1].coef_, snb.solve(stats, example, snb.L1(1.0))[0].coef_)


# ---- penalties -------------------------------------------------------------------------------------------------------

every_penalty = tables(PENALTIES)
ALL_PENALTIES = [penalty for named in PENALTIES.values() for penalty in named.values()]
SINGLE = {cls: named for cls, named in PENALTIES.items() if cls is not _Sum}


@every_penalty
def test_penalties_are_their_parameters(example, tmp_path):
    assert [penalty for penalty in ALL_PENALTIES if penalty == example] == [example]
    assert clone(snb.LinearNB(penalty=example)).penalty == example
    again = [copy.deepcopy(example), pickle.loads(pickle.dumps(example))]
    again.append(eval(repr(example), {name: getattr(snb, name) for name in snb.__all__} | vars(examples)))
    if {"separable", "custom"} & {part.kind for part in example.parts}:
        with pytest.raises(TypeError, match="cannot be saved"):
            persistence.save(tmp_path / "penalty.snb", example)
    else:
        again += copies(example, tmp_path / "penalty.snb")
    for each in again:
        assert type(each) is type(example) and each == example and hash(each) == hash(example)
        same(each, example)


def test_kinds_of_penalties_are_named_once():
    kinds = [cls.kind for cls in SINGLE]
    assert len({*kinds}) == len(kinds)


@tables(SINGLE)
def test_penalties_have_a_grid_of_taus_and_a_pull_at_each(example):
    assert example.parts == (example,)
    if example.tau is not None:
        assert example.tau.ndim == 1 and (np.diff(example.tau) > 0).all()
    before, changed = repr(example), example.with_taus([1, 2])
    assert type(changed) is type(example) and changed.tau.tolist() == [1, 2] and repr(example) == before
    assert changed.with_taus([1, 2]) == changed != example
    pulls = [example.pull(tau) for tau in changed.tau]
    assert all(isinstance(pull, Pull) and not pull.none for pull in pulls) and pulls[0] != pulls[1]
    assert example.pull(0).none or example.kind == "top_k"
    w = np.array([-2.0, -0.5, 0.5, 2.0])
    assert (pulls[0].of_weights(w) * w >= 0.0).all()  # towards 0


@pytest.mark.parametrize("one", SINGLE, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("two", SINGLE, ids=lambda cls: cls.__name__)
def test_penalties_add_up_in_any_order(one, two):
    a, b = SINGLE[one]["0"], SINGLE[two]["0"]
    if one is two and one is not snb.Separable:
        with pytest.raises(ValueError, match=r"^penalty has"):
            a + b
        return
    both, kinds = a + b, {a.kind, b.kind} if one is not two else {"separable", "separable_2"}
    assert both == b + a and hash(both) == hash(b + a) and {part.kind for part in both.parts} == kinds
    assert a.pull(1) + b.pull(1) == b.pull(1) + a.pull(1)
    third = next(each for each in (snb.L1(0.5), snb.L2(0.5), snb.TopK(2)) if each.kind not in (a.kind, b.kind))
    assert (a + b) + third == a + (b + third) == third + (b + a)
    with pytest.raises(TypeError):
        a + 3


@every_penalty
def test_a_point_of_a_grid_is_the_model_of_its_taus_alone(example):
    stats = scanned(snb.Poisson())
    path = snb.solve(stats, "gaussian", example)
    sizes_of_grids = [3 if part.tau is None else len(part.tau) for part in example.parts]
    assert len(path) == len(path.grid) == np.prod(sizes_of_grids)
    for number in (0, len(path) - 1):
        alone = [part.with_taus([path.grid[number][part.kind]]) for part in example.parts]
        model = snb.solve(stats, "gaussian", sum(alone[1:], alone[0]))[0]
        np.testing.assert_allclose(path[number].coef_, model.coef_, rtol=1e-9, atol=1e-12)
