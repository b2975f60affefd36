"""What every class promises that keeps a contract: found by walking the package, tried on its examples.

The examples stand in tests/support/examples_of_*.py; a class that has none there fails here by its name.
"""

import copy
import json
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from itertools import pairwise
from math import fsum

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.core import persistence
from streamnb.core.memory import bytes_of
from streamnb.estimators.one_record import OneRow
from streamnb.passes.checkpoint import Checkpoint, part_of
from streamnb.passes.contract import Report, RunOptions
from streamnb.passes.run import run
from streamnb.problem.penalties import Penalty
from streamnb.rows import row_blocks
from streamnb.rows.source import Source, row_ranges
from streamnb.scanning.class_scan import ClassScan
from streamnb.stats.moment_sums import MOMENTS
from tests.support import examples_of_contracts as examples
from tests.support.contracts import CLASSES, names, said, same, subclasses, tables
from tests.support.examples_of_contracts import BASES, GROUPS, SHARES, WEIGHT, N, Y
from tests.support.examples_of_problems import FAMILIES, PENALTIES
from tests.support.examples_of_totals import MERGED as MERGED_EXAMPLES
from tests.support.processes import python

QUIET = RunOptions(progress=False)
PARTIALS = {cls for cls in CLASSES if {"finish", "nbytes"} <= names(cls)} - BASES
TOTALS = {cls for cls in CLASSES if {"__add__", "arrays"} <= names(cls)} - BASES
MERGED = {cls for cls in CLASSES if "__add__" in names(cls)} - TOTALS - subclasses(Penalty) - BASES


@pytest.mark.parametrize(
    ("found", "table"),
    [
        (subclasses(snb.PassTask), examples.TASKS),
        (subclasses(Source) - {OneRow}, examples.SOURCES),  # whose one row each thread puts there
        (subclasses(snb.Family), FAMILIES),
        (subclasses(Penalty), PENALTIES),
        (MERGED, {cls: named for cls, named in MERGED_EXAMPLES.items() if cls not in TOTALS}),
    ],
    ids=["tasks", "sources", "families", "penalties", "merged"],
)
def test_every_class_of_a_contract_has_an_example(found, table):
    assert found, "the walk finds nothing"
    lack, gone = found - table.keys(), table.keys() - found
    assert not lack, f"{[cls.__name__ for cls in lack]}: give each an example in tests/support/examples_of_*.py"
    assert not gone, f"{[cls.__name__ for cls in gone]} keep no such contract"


def test_every_moment_has_a_definition():
    assert set(examples.MOMENTS) == set(MOMENTS)
    assert {*MOMENTS} <= {*examples.TASKS[ClassScan]}


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
        X = copy.copy(X[rows])
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
    assert bytes_of(partial) >= 0
    return partial.finish()


@cache
def parts_of(example):
    """The totals of three runs of rows, made once."""
    of_example, _ = made(example)
    cuts = np.linspace(0, of_example.rows.n_rows, 4).astype(int).tolist()
    return [total_of(of_example, cut) for cut in pairwise(cuts)]


every_task = tables(examples.TASKS)


def test_every_partial_and_total_is_met():
    every = [made(example) for named in examples.TASKS.values() for example in named.values()]
    partials, totals = {type(each.task.partial()) for each, _ in every}, {type(total) for _, total in every}
    for found, met in ((PARTIALS, partials), (TOTALS, totals)):
        assert found
        lack = [cls.__name__ for cls in found - met - MERGED_EXAMPLES.keys()]
        assert not lack, f"{lack}: give an example of a task that makes them, in tests/support/examples_of_contracts.py"


@every_task
def test_blocks_of_any_size_leave_the_same_total(example):
    example, whole = made(example)
    n = example.rows.n_rows
    for seed in range(2):
        inner = np.random.default_rng(seed).integers(0, n + 1, 2 + 4 * seed)
        same(total_of(example, [0, *sorted(inner.tolist()), n]), whole)


@every_task
def test_totals_add_up_in_any_order_and_grouping_and_stay_as_they_are(example):
    a, b, c = parts_of(example)
    example, whole = made(example)
    before = copy.deepcopy([said(part) for part in (a, b, c)])
    same((a + b) + c, a + (b + c))
    same(c + (a + b), whole)
    same(b + a, a + b)
    np.testing.assert_equal([said(part) for part in (a, b, c)], before)
    assert bytes_of(whole) >= 0


@every_task
def test_rows_that_are_none_change_nothing(example):
    example, whole = made(example)
    nothing = total_of(example, [0, example.rows.n_rows], n_rows=0)
    same(nothing + whole, whole)
    same(whole + nothing, whole)
    without_blocks = example.task.partial().finish()
    assert isinstance(dict(without_blocks.arrays()), dict)


@every_task
def test_tasks_are_sent_elsewhere_and_are_the_same_there(example):
    example, whole = made(example)
    there = replace(example, task=pickle.loads(pickle.dumps(example.task)))
    same(pickle.loads(pickle.dumps(total_of(there, [0, example.rows.n_rows]))), whole)
    assert there.task.about() == example.task.about() and there.task.name == example.task.name


@every_task
def test_totals_are_made_again_of_their_arrays(example, tmp_path):
    first, *others = parts_of(example)
    example, whole = made(example)
    kept = Checkpoint({}, [], None, Report(), tmp_path / "c.snb", example.task)
    kept.add(first, Report(), [(0, 1, {})])
    stats = snb.load(tmp_path / "c.snb").stats
    again = stats if persistence.registered(stats) else example.task.total(stats)
    same(again, example.task.packed(first), whole=True)
    same(example.task.unpacked(again), first)
    same(again + others[0] + others[1], whole)
    same(example.task.total(dict(first.arrays())), first, whole=True)


@every_task
def test_a_pass_that_was_broken_off_goes_on(example, tmp_path):
    example, whole = made(example)
    n_done, path = example.rows.n_rows // 3, tmp_path / "c.snb"
    expected, _ = run(example.task, example.rows, QUIET)
    same(expected, whole)
    kept = Checkpoint.open(path, pickle.loads(pickle.dumps(example.task)), example.rows)
    kept.add(total_of(example, [0, n_done]), Report(n_done), [*map(part_of, example.rows.blocks(0, n_done))])
    for _ in range(2):
        found, report = run(example.task, example.rows, replace(QUIET, checkpoint=path))
        same(found, expected)
        assert report.rows == example.rows.n_rows


@every_task
def test_totals_that_subtract_and_fade_are_those_of_the_rows_left(example):
    a, b, c = parts_of(example)
    example, whole = made(example)
    if hasattr(whole, "__sub__"):
        zero = whole - whole  # with room for all that was seen
        same(whole + zero, whole)
        same((whole - c) + zero, (a + b) + zero)
        same((whole - a) - b + zero, c + zero)
    if hasattr(whole, "__mul__"):
        same(whole * 0.5, a * 0.5 + (b + c) * 0.5)
        same(whole * 0.5 * 2.0, whole)


@pytest.mark.slow
@pytest.mark.process
def test_descriptions_and_files_do_not_depend_on_the_hash_seed():
    def said_with(seed):
        ran = python("-m", "tests.support.descriptions", env={**os.environ, "PYTHONHASHSEED": seed})
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)

    with ThreadPoolExecutor(2) as processes:
        one, other = processes.map(said_with, "12")
    assert one.pop("the order of a set") != other.pop("the order of a set"), "these seeds show nothing"
    assert one == other


@pytest.mark.parametrize("moment", MOMENTS)
def test_moments_are_what_they_are_defined_as(moment):
    _, stats = made(examples.TASKS[ClassScan][moment])
    values = examples.MOMENTS[moment](SHARES).astype(float) * WEIGHT[:, None]
    for k, label in enumerate(stats.classes):
        sums = [fsum(column) for column in values[label == Y].T]
        np.testing.assert_allclose(getattr(stats, moment)[k], sums, rtol=1e-15, atol=0.0)


# ---- what else merges ------------------------------------------------------------------------------------------------


@tables(MERGED_EXAMPLES)
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
    monkeypatch.setattr(row_blocks, "BLOCK_ROWS", 7)


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
        assert "the law reads the rows more than once" in str(refusal)
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
    beside = table_of(source.row_columns())
    assert not beside.pop("X", np.zeros(1)).any()
    np.testing.assert_equal(beside, {name: table[name] for name in ("y", "weight", "split") if name in table})


@every_source
def test_what_is_wanted_and_what_goes_beside_leave_the_source_as_it_was(example, tmp_path):
    make, table = example
    source = make(tmp_path)
    if "X" not in table or source.lazy:
        return
    other = source.wanted(False, 1 << 12).with_columns(split={"groups": GROUPS})
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
