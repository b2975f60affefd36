"""What every class promises that keeps a contract: found by walking the package, tried on its examples.

The examples stand in tests/support/examples_of_contracts.py; a class that has none there fails here by its name.
"""

import copy
import pickle
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from importlib import import_module
from itertools import pairwise
from math import fsum
from pkgutil import walk_packages

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import streamnb as snb
from streamnb.core import persistence
from streamnb.passes.checkpoint import Checkpoint
from streamnb.passes.contract import PassTask
from streamnb.passes.options import RunOptions
from streamnb.passes.report import Report
from streamnb.passes.run import run
from streamnb.problem.families import FAMILIES, as_family
from streamnb.problem.family import Family
from streamnb.problem.penalties import Penalty
from streamnb.problem.pull import Pull
from streamnb.problem.together import Together
from streamnb.rows import sizes
from streamnb.rows.source import Source, row_ranges
from streamnb.scanning.class_scan import ClassScan
from streamnb.stats.moments import MOMENTS
from streamnb.stats.sparse_tables import SparseTable
from streamnb.stats.tables import Table
from tests.support import examples_of_contracts as examples
from tests.support.examples_of_contracts import BASES, GROUPS, SHARES, WEIGHT, N, Y

QUIET = RunOptions(progress=False)


def walked():
    """Every class that the package defines."""
    modules = [import_module(found.name) for found in walk_packages(snb.__path__, "streamnb.")]
    return [
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__ and not getattr(value, "_is_protocol", False)
    ]


CLASSES = walked()


def names(cls):
    """Attributes that the classes of the package give to objects of this one, also those that are only annotated."""
    own = [base for base in cls.__mro__ if base.__module__.startswith("streamnb.")]
    return {name for base in own for name in (*vars(base), *vars(base).get("__annotations__", ()))}


def subclasses(base):
    return {cls for cls in CLASSES if issubclass(cls, base)} - BASES


PARTIALS = {cls for cls in CLASSES if {"finish", "nbytes"} <= names(cls)}
TOTALS = {cls for cls in CLASSES if {"__add__", "arrays", "nbytes"} <= names(cls)}
MERGED = {cls for cls in CLASSES if "__add__" in names(cls)} - TOTALS - subclasses(Penalty) - BASES


def tables(table):
    """The examples of a table, each under the name of its class."""
    every = [(f"{cls.__name__}-{name}", example) for cls, named in table.items() for name, example in named.items()]
    return pytest.mark.parametrize("example", [each for _, each in every], ids=[name for name, _ in every])


@pytest.mark.parametrize(
    ("found", "table"),
    [
        (subclasses(PassTask), examples.TASKS),
        (subclasses(Source), examples.SOURCES),
        (subclasses(Family), examples.FAMILIES),
        (subclasses(Penalty), examples.PENALTIES),
        (MERGED, {cls: named for cls, named in examples.MERGED.items() if cls not in TOTALS}),
    ],
    ids=["tasks", "sources", "families", "penalties", "merged"],
)
def test_every_class_of_a_contract_has_an_example(found, table):
    assert found, "the walk finds nothing"
    lack, gone = found - table.keys(), table.keys() - found
    assert not lack, f"{[cls.__name__ for cls in lack]}: give each an example in tests/support/examples_of_contracts.py"
    assert not gone, f"{[cls.__name__ for cls in gone]} keep no such contract"


def test_every_moment_has_a_definition():
    assert set(examples.MOMENTS) == set(MOMENTS)
    assert {*MOMENTS} <= {*examples.TASKS[ClassScan]}


# ---- what a value says -----------------------------------------------------------------------------------------------


def said(value):
    """What a value says, to the last bit of what is rounded: low parts and the order of rows may differ."""
    if isinstance(value, Table | SparseTable):
        return value.value()
    if isinstance(value, list | tuple):
        return [said(part) for part in value]
    if isinstance(value, Mapping):
        return {name: said(part) for name, part in value.items()}
    if not type(value).__module__.startswith("streamnb.") and not isinstance(value, examples.HighestValues):
        return value
    parts = {f.name: getattr(value, f.name) for f in fields(value)} if is_dataclass(value) else dict(vars(value))
    if {"_hi", "_lo"} <= parts.keys():  # pairs
        parts["_hi"] = parts["_hi"] + parts.pop("_lo")
    if parts.get("_blocks"):  # scored rows
        rows = [np.column_stack([np.atleast_2d(part.T).T for part in block]) for block in parts["_blocks"]]
        rows = np.concatenate(rows)
        parts["_blocks"] = rows[np.lexsort(rows.T)]
    return {name: said(part) for name, part in parts.items()}


def same(a, b):
    np.testing.assert_equal(said(a), said(b))


# ---- tasks: whatever the blocks, whoever adds them -------------------------------------------------------------------


def copied(block, n_rows=None):
    """A block of its own memory, as sources may use theirs again; of its first rows."""
    X, rows = block.X, slice(n_rows)
    if isinstance(X, dict):
        X = {name: values[rows].copy() for name, values in X.items()}
    elif isinstance(X, tuple):
        indptr = X[2][: None if n_rows is None else n_rows + 1].copy()
        X = (*(part if part is None else part[: indptr[-1] - indptr[0]].copy() for part in X[:2]), indptr, X[3])
    else:
        X = X[rows].copy()
    beside = {name: getattr(block, name) for name in ("y", "weight", "split")}
    return replace(block, X=X, **{name: part if part is None else part[rows].copy() for name, part in beside.items()})


@cache
def made(example):
    """A pass, made once, and the total of all its rows in one block."""
    of_example = example()
    return of_example, total_of(of_example, [0, of_example.rows.n_rows])


def total_of(example, cuts, n_rows=None):
    """The total of blocks between cuts, of each its first rows."""
    partial = example.task.partial()
    for start, stop in pairwise(cuts):
        for block in example.rows.blocks(start, stop):
            example.task.add(partial, copied(block, n_rows))
    assert isinstance(partial.nbytes, int) and partial.nbytes >= 0
    return partial.finish()


def parts_of(example, n_parts=3):
    """Totals of some runs of rows."""
    cuts = np.linspace(0, example.rows.n_rows, n_parts + 1).astype(int).tolist()
    return [total_of(example, cut) for cut in pairwise(cuts)]


every_task = tables(examples.TASKS)


def test_every_partial_and_total_is_met():
    every = [made(example) for named in examples.TASKS.values() for example in named.values()]
    partials, totals = {type(each.task.partial()) for each, _ in every}, {type(total) for _, total in every}
    for found, met in ((PARTIALS, partials), (TOTALS, totals)):
        assert found
        lack = [cls.__name__ for cls in found - met]
        assert not lack, f"{lack}: give an example of a task that makes them, in tests/support/examples_of_contracts.py"


@every_task
def test_blocks_of_any_size_leave_the_same_total(example):
    example, whole = made(example)
    n = example.rows.n_rows
    for seed in range(3):
        inner = np.random.default_rng(seed).integers(0, n + 1, 2 + 4 * seed)
        same(total_of(example, [0, *sorted(inner.tolist()), n]), whole)


@every_task
def test_totals_add_up_in_any_order_and_grouping_and_stay_as_they_are(example):
    example, whole = made(example)
    a, b, c = parts_of(example)
    before = copy.deepcopy([said(part) for part in (a, b, c)])
    same((a + b) + c, a + (b + c))
    same(c + (a + b), whole)
    same(b + a, a + b)
    np.testing.assert_equal([said(part) for part in (a, b, c)], before)
    assert isinstance(whole.nbytes, int) and whole.nbytes >= 0


@every_task
def test_rows_that_are_none_change_nothing(example):
    example, whole = made(example)
    nothing = total_of(example, [0, example.rows.n_rows], n_rows=0)
    same(nothing + whole, whole)
    same(whole + nothing, whole)
    without_blocks = example.task.partial().finish()
    assert isinstance(without_blocks.nbytes, int) and isinstance(dict(without_blocks.arrays()), dict)


@every_task
def test_tasks_are_sent_elsewhere_and_are_the_same_there(example):
    example, whole = made(example)
    there = replace(example, task=pickle.loads(pickle.dumps(example.task)))
    same(total_of(there, [0, example.rows.n_rows]), whole)
    assert there.task.about() == example.task.about() and there.task.name == example.task.name


@every_task
def test_totals_are_made_again_of_their_arrays(example, tmp_path):
    example, whole = made(example)
    first, *others = parts_of(example)
    kept = Checkpoint({}, [], None, Report(), tmp_path / "c.snb", example.task)
    kept.add(first, Report(), [(0, 1)])
    stats = snb.load(tmp_path / "c.snb").stats
    again = stats if persistence.registered(stats) else example.task.total(stats)
    same(example.task.unpacked(again), first)
    same(again + others[0] + others[1], whole)
    same(example.task.total(dict(first.arrays())), first)


@every_task
def test_a_pass_that_was_broken_off_goes_on(example, tmp_path):
    example, whole = made(example)
    n_done, path = example.rows.n_rows // 3, tmp_path / "c.snb"
    expected, _ = run(example.task, example.rows, QUIET)
    same(expected, whole)
    kept = Checkpoint.open(path, pickle.loads(pickle.dumps(example.task)), example.rows)
    kept.add(total_of(example, [0, n_done]), Report(n_done), [(0, n_done)])
    for _ in range(2):
        found, report = run(example.task, example.rows, replace(QUIET, checkpoint=path))
        same(found, expected)
        assert report.rows == example.rows.n_rows


@every_task
def test_totals_that_subtract_and_fade_are_those_of_the_rows_left(example):
    example, whole = made(example)
    a, b, c = parts_of(example)
    if hasattr(whole, "__sub__"):
        zero = whole - whole  # with room for all that was seen
        same(whole + zero, whole)
        same((whole - c) + zero, (a + b) + zero)
        same((whole - a) - b + zero, c + zero)
    if hasattr(whole, "__mul__"):
        same(whole * 0.5, a * 0.5 + (b + c) * 0.5)
        same(whole * 0.5 * 2.0, whole)


@pytest.mark.parametrize("moment", MOMENTS)
def test_moments_are_what_they_are_defined_as(moment):
    _, stats = made(examples.TASKS[ClassScan][moment])
    values = examples.MOMENTS[moment](SHARES).astype(float) * WEIGHT[:, None]
    for k, label in enumerate(stats.classes):
        sums = [fsum(column) for column in values[label == Y].T]
        np.testing.assert_allclose(getattr(stats, moment)[k], sums, rtol=1e-15, atol=0.0)


# ---- what else merges ------------------------------------------------------------------------------------------------


@tables(examples.MERGED)
def test_what_merges_adds_up_in_any_order_and_grouping(example):
    a, b, c = parts = [example(seed) for seed in range(3)]
    before = copy.deepcopy([said(part) for part in parts])
    same((a + b) + c, a + (b + c))
    same(b + a, a + b)
    np.testing.assert_equal([said(part) for part in parts], before)
    with pytest.raises(AssertionError):
        same(a + b, a + c)  # so that these laws say something


# ---- sources: every row once, from any row on ------------------------------------------------------------------------


def dense(X):
    if isinstance(X, tuple):
        data, indices, indptr, n_features = X
        data = np.ones(len(indices)) if data is None else data
        indptr = indptr - indptr[0]
        return sp.csr_array((data, indices, indptr), shape=(len(indptr) - 1, n_features)).toarray()
    return X.toarray() if sp.issparse(X) else np.asarray(X)


def table_of(blocks, first_row=0):
    """The rows of blocks, which follow each other, by name."""
    found = {}
    for block in blocks:
        assert block.first_row == first_row and block.nbytes >= 0
        first_row += block.n_rows
        parts = dict(block.X) if isinstance(block.X, dict) else {"X": dense(block.X)}
        parts |= {name: part for name in ("y", "weight", "split") if (part := getattr(block, name)) is not None}
        for name, part in parts.items():
            assert len(part) == block.n_rows
            found.setdefault(name, []).append(np.array(part))
    return {name: np.concatenate(parts) for name, parts in found.items()}


def cut(table, start, stop):
    return {name: column[start:stop] for name, column in table.items()}


@pytest.fixture
def short_blocks(monkeypatch):
    monkeypatch.setattr(sizes, "BLOCK_ROWS", 7)


def goes_on(source):
    """Whether it declares that its rows can be read from any row on."""
    try:
        source.check_resumable()
    except ValueError as refusal:
        assert "checkpoint" in str(refusal)
        return False
    return True


every_source = tables(examples.SOURCES)


@every_source
def test_sources_say_their_shape_and_size(example, tmp_path):
    make, table = example
    source = make(tmp_path)
    if source.n_rows is not None:
        assert source.n_rows == N and source.n_features == (5 if "X" in table else None)
        ranges = row_ranges(source, 64)
        assert ranges[0][0] == 0 and ranges[-1][1] == N and all(a[1] == b[0] for a, b in pairwise(ranges))
    assert source.nbytes >= 0 and isinstance(source.layout(), dict) and len(source.arrays) >= len(source.stored)
    if not source.lazy and source.n_rows is not None:
        assert all(0 < source.rows_near(n) < 2 * n + N for n in (1, 7, 20)) and source.n_blocks > 0


@every_source
def test_blocks_are_all_rows_once_and_in_order(example, tmp_path, short_blocks):
    make, table = example
    source = make(tmp_path)
    if source.lazy:
        with pytest.raises((TypeError, NotImplementedError)):
            next(iter(source.blocks()))
        return
    np.testing.assert_equal(table_of(source.blocks()), table)
    try:
        source.check_read_again("the law")
    except ValueError as refusal:
        assert "the law reads the rows twice" in str(refusal)
    else:
        np.testing.assert_equal(table_of(source.blocks()), table)


@every_source
def test_rows_are_read_from_any_row_on(example, tmp_path, short_blocks):
    make, table = example
    source = make(tmp_path)
    if not goes_on(source) or source.lazy:
        return
    for start, stop in ((0, 1), (3, 20), (13, 14), (N - 1, N), (0, N)):
        np.testing.assert_equal(table_of(source.blocks(start, stop), start), cut(table, start, stop))
        sent = pickle.loads(pickle.dumps(source.cut(start, stop)))
        np.testing.assert_equal(table_of(sent.blocks(start, stop), start), cut(table, start, stop))
    beside = [{name: part for name, part in columns.items() if part is not None} for columns in source.beside(9)]
    columns = {name: np.concatenate([part[name] for part in beside]) for name in beside[0]}
    renamed = {"weight" if name == "sample_weight" else name: column for name, column in columns.items()}
    np.testing.assert_equal(renamed, {name: column for name, column in table.items() if name != "X"})


@every_source
def test_what_is_wanted_and_what_goes_beside_leave_the_source_as_it_was(example, tmp_path):
    make, table = example
    source = make(tmp_path)
    if "X" not in table or source.lazy:
        return
    other = source.wanted(False, 1 << 12).with_split("groups", GROUPS)
    assert source.values_matter and not other.values_matter and other.longer_blocks == 1 << 12
    found = table_of(other.blocks())
    assert np.array_equal(found.pop("X") != 0, table["X"] != 0)
    np.testing.assert_equal(found, {"y": table["y"], "weight": table["weight"], "split": GROUPS})
    if goes_on(source):
        np.testing.assert_equal(table_of(source.blocks()), table)


@every_source
def test_any_source_leaves_the_total_of_the_same_rows_in_memory(example, tmp_path, short_blocks):
    make, table = example
    in_memory = examples.over(table)
    found, report = run(in_memory.task, make(tmp_path), QUIET)
    expected, _ = run(in_memory.task, in_memory.rows, QUIET)
    same(found, expected)
    assert report.rows == N


# ---- families: values that stand for themselves ----------------------------------------------------------------------

every_family = tables(examples.FAMILIES)
SUM_TO_ONE = SHARES / SHARES.sum(axis=1, keepdims=True)  # takes every family
ALL_FAMILIES = [family for named in examples.FAMILIES.values() for family in named.values()]


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


@pytest.mark.parametrize("cls", examples.FAMILIES, ids=lambda cls: cls.__name__)
def test_families_that_need_no_parameter_have_a_name(cls):
    try:
        family = cls()
    except TypeError:
        assert cls.name not in FAMILIES
    else:
        assert FAMILIES[cls.name] is cls and as_family(cls.name) == family == as_family(family)


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


FUNCTIONS = {cls: named for cls, named in examples.FAMILIES.items() if cls.link is not Family.link}


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
    without = {cls for cls in examples.FAMILIES if cls not in FUNCTIONS}
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

every_penalty = tables(examples.PENALTIES)
ALL_PENALTIES = [penalty for named in examples.PENALTIES.values() for penalty in named.values()]
SINGLE = {cls: named for cls, named in examples.PENALTIES.items() if cls is not examples._Sum}


@every_penalty
def test_penalties_are_their_parameters(example, tmp_path):
    assert [penalty for penalty in ALL_PENALTIES if penalty == example] == [example]
    assert clone(snb.LinearNB(penalty=example)).penalty == example
    again = [copy.deepcopy(example), pickle.loads(pickle.dumps(example))]
    again.append(eval(repr(example), {name: getattr(snb, name) for name in snb.__all__} | vars(examples)))
    if "separable" in [part.kind for part in example.parts]:
        with pytest.raises(TypeError, match="cannot be saved"):
            persistence.save(tmp_path / "penalty.snb", example)
    else:
        again += copies(example, tmp_path / "penalty.snb")
    for each in again:
        assert type(each) is type(example) and each == example and hash(each) == hash(example)
        assert repr(each) == repr(example)


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
    if one is two or {a.kind, b.kind} == {"decorrelation", "separable"}:
        with pytest.raises(ValueError, match=r"^penalty (has|adds)"):
            a + b
        return
    both = a + b
    assert both == b + a and hash(both) == hash(b + a) and {part.kind for part in both.parts} == {a.kind, b.kind}
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
