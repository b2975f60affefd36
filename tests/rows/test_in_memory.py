"""Rows in memory come in blocks of a few MB, whatever range of them is asked for."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import streamnb as snb
from streamnb.rows.in_arrays import StreamSource
from streamnb.rows.labels import open_columns
from streamnb.stats.grouping import widened
from tests.support.processes import python
from tests.support.strategies import same_stats

# ------------------------------------------------------------------------------------- streams that are read again

MANY = np.random.default_rng(1).integers(0, 3, (700, 3)).astype(float)
NAMES = np.array(["ash", "birch", "yew"])[np.arange(700) % 3]


def stream(*reads):
    """A callable that gives other chunks in each read."""
    left = iter(reads)
    rows = StreamSource(lambda: iter(next(left)), open_columns(None, None, None, False))
    rows.check_read_again("a test")
    return rows


def read(rows):
    return sum(block.n_rows for block in rows.blocks())


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array, np.ndarray.tolist])
@pytest.mark.parametrize("labels", [NAMES, NAMES.astype(object), np.arange(700) % 3, sp.csr_array((MANY > 1) + 0)])
@given(cuts=st.lists(st.integers(1, 699), max_size=4, unique=True))
def test_the_same_rows_may_come_in_other_chunks(storage, labels, cuts):
    ends = [0, *sorted(cuts), 700]
    parts = [slice(*ends[i : i + 2]) for i in range(len(ends) - 1)]
    rows = stream(
        [(storage(MANY), labels)], [(storage(MANY[part]), labels[part], np.ones(700)[part]) for part in parts]
    )
    assert read(rows) == 700
    with pytest.raises(ValueError, match="X gave other weights in read 2 than in read 1; a callable should return"):
        read(rows)
    rows = stream([(storage(MANY), labels)], [(storage(MANY[part]), labels[part]) for part in parts])
    assert read(rows) == read(rows) == 700


@given(row=st.integers(0, 63) | st.just(256) | st.just(512), column=st.integers(0, 2))
def test_rows_that_change_between_reads_are_refused(row, column):
    for storage in (np.asarray, sp.csr_array):
        other, names = MANY.copy(), NAMES.copy()
        other[row, column] += 0.5
        names[row] = "oak"
        again = (storage(MANY), NAMES)
        rows = stream([again], [again], [(storage(other), NAMES)], [(storage(MANY), names)], [(storage(other), names)])
        assert read(rows) == read(rows) == 700
        for unlike in ("features", "labels", "features and labels"):
            with pytest.raises(ValueError, match=rf"X gave other {unlike} in read \d than in read 1; a callable"):
                read(rows)


def test_shuffled_fewer_and_wider_rows_are_refused():
    shuffled, wider = np.random.default_rng(2).permutation(MANY), np.hstack([MANY, MANY])
    rows = stream([MANY], [shuffled], [MANY[:699]], [wider], [])
    assert read(rows) == 700
    for message in ("other features", "699 rows of 3 features", "700 rows of 6 features", "0 rows of 0 features"):
        with pytest.raises(ValueError, match=f"X gave {message} in read .*in read 1; a callable should"):
            read(rows)


@pytest.mark.parametrize("keep", ["auto", "no"])
def test_a_fit_does_not_train_on_rows_that_change(keep):
    noise, model = np.random.default_rng(3), snb.SoftmaxRegression()

    def rows():
        yield MANY + noise.random((700, 3)), NAMES

    if keep == "auto":
        assert model.fit(rows, keep=keep).report_.reads_kept > 0  # rows were read once
    else:
        with pytest.raises(ValueError, match="X gave other features in read 2 than in read 1"):
            model.fit(rows, keep=keep)


rng = np.random.default_rng(5)
X = rng.poisson(0.8, (120, 6)).astype(float)
Y = rng.integers(0, 3, 120)
LABELS = (rng.random((120, 4)) < [0.5, 0.3, 0.2, 0.6]).astype(int)
PARTS = [slice(start, start + 30) for start in range(0, 120, 30)]


def outcome(model):
    names = ("coef_", "intercept_", "theta_", "var_", "feature_log_prob_", "scores_")
    parts = [getattr(model, name) for name in names if hasattr(model, name)]
    return np.concatenate([np.ravel(array) for part in parts for array in part]).tolist()


# --------------------------------------------------------------------------------------------------- decay


@pytest.mark.parametrize("decay", [0.0, -0.5, 1.5, np.nan, np.inf, "half", None, True])
def test_wrong_decays_are_named(decay):
    model = snb.LinearNB("poisson").partial_fit(X, Y)
    with pytest.raises((ValueError, TypeError), match="decay="):
        model.partial_fit(X, Y, decay=decay)
    assert model.stats_.n_rows == 120 and model.decay_ == 1.0


def test_rows_are_forgotten_after_a_decay_with_what_they_count_now(tmp_path):
    model = snb.LinearNB("poisson").partial_fit(X[:60], Y[:60]).partial_fit(X[60:], Y[60:], decay=0.25)
    model.save(tmp_path / "model.snb")
    for fading in (model, snb.load(tmp_path / "model.snb")):
        with pytest.raises(ValueError, match=r"sample_weight is not given.*decay="):
            fading.forget(X[:20], Y[:20])
        fading.forget(X[:20], Y[:20], sample_weight=0.25).forget(X[90:], Y[90:], sample_weight=1.0)
        weights = np.repeat([0.25, 1.0], [40, 30])
        assert outcome(fading) == outcome(snb.LinearNB("poisson").fit(X[20:90], Y[20:90], weights))
    assert model.fit(X, Y).forget(X[:60], Y[:60]).stats_.n_rows == 60  # a fit begins anew


def test_what_fades_for_long_is_gone_and_the_rest_keeps_its_digits():
    names = np.where(Y == 0, "rare", np.where(Y == 1, "often", "mostly"))
    rare, plain = names == "rare", snb.LinearNB("gaussian")
    first = np.hstack([X, np.ones((120, 1))])  # a feature that never comes again
    later = np.hstack([X, np.zeros((120, 1))])
    plain.partial_fit(first, names)
    for _ in range(120):
        plain.partial_fit(later[~rare], names[~rare], decay=2.0**-10)
    stats = plain.stats_
    assert stats.classes.tolist() == ["mostly", "often", "rare"]
    assert stats.weight[2] == 0 and not stats.sum[2].any() and not stats.sum[:, 6].any()
    assert (stats.n_rows, stats.rows[2]) == (120 + 120 * np.count_nonzero(~rare), np.count_nonzero(rare))
    parts = [part for table in stats.tables.values() for part in (table.hi, table.lo) if part is not None]
    numbers = np.abs(np.concatenate([part.ravel() for part in parts]))
    assert not ((numbers > 0) & (numbers < np.finfo(float).tiny)).any()  # slow, and without digits
    with pytest.warns(snb.StreamnbWarning, match="without any weight: .*rare"):
        assert "rare" not in plain.predict(later)
        weight = np.full(np.count_nonzero(~rare), 1.0 / (1.0 - 2.0**-10))  # 1 + 1/1024 + ..
        fresh = snb.LinearNB("gaussian").fit(later[~rare], names[~rare], weight, classes=plain.classes_)
    np.testing.assert_allclose(outcome(plain), outcome(fresh), rtol=1e-12)


def test_a_class_comes_back_after_it_has_faded():
    model = snb.LinearNB("poisson").partial_fit(X, Y)
    model.stats_ = model.stats_ * 2.0**-400 * 2.0**-400
    assert not model.stats_.weight.any()
    assert outcome(model.partial_fit(X, Y)) == outcome(snb.LinearNB("poisson").fit(X, Y))


def test_factors_that_leave_the_floats_are_refused():
    stats = snb.scan(X, Y)
    with pytest.raises(ValueError, match=r"gamma=1e\+300"):
        stats * 1e300
    assert same_stats(stats * 2.0**300 * 2.0**-300, stats)


# -------------------------------------------------------------------------------------------------- windows


# ------------------------------------------------------------------------------------------ sums of any size


def test_sums_beyond_two_to_the_53_stay_exact():
    weights = np.full(120, 2.0**52 + 1)
    model = snb.LinearNB("poisson")
    for _ in range(5):
        model.partial_fit(X, Y, sample_weight=weights)
    for k in range(3):
        exact = [sum(Fraction(v) for v in column) * 5 * Fraction(weights[0]) for column in X[k == Y].T]
        table = model.stats_.tables["sum"]
        assert [Fraction(h) + Fraction(lo) for h, lo in zip(*table.row(k))] == exact
        assert model.stats_.weight[k] == float(5 * np.count_nonzero(k == Y) * Fraction(weights[0]))
    for _ in range(4):
        model.forget(X, Y, sample_weight=weights)
    assert outcome(model) == outcome(snb.LinearNB("poisson").fit(X, Y, sample_weight=weights))


def test_numbers_of_rows_are_of_64_bits():
    stats = snb.scan(X, Y)
    for _ in range(40):
        stats = stats + stats
    assert stats.n_rows == 120 * 2**40
    assert stats.weight.tolist() == (np.bincount(Y) * 2.0**40).tolist()
    assert (stats.sum_sq == snb.scan(X, Y).sum_sq * 2.0**40).all()


CALLS = """
import gc, tracemalloc
from itertools import pairwise
import numpy as np
import streamnb as snb

model, X, y = snb.LinearNB("poisson"), np.arange(72.0).reshape(12, 6) % 5, np.arange(12) % 3

def held(calls):
    for _ in range(calls):
        model.partial_fit(X, y, decay=0.999)
    gc.collect()
    return tracemalloc.get_traced_memory()[0]

model.partial_fit(X, y)  # compiles, which takes five times as long while memory is traced
tracemalloc.start()
held(20)
found = [held(80) for _ in range(4)]
print(min(later - before for before, later in pairwise(found)))  # what is kept for a while is no leak
"""


@pytest.mark.process
def test_calls_without_end_keep_no_memory():
    """In a process of its own: what measures coverage keeps something for each thread."""
    ended = python("-c", CALLS, check=True)
    assert int(ended.stdout) < 100 * 80  # 100 bytes a call, less than any object of one


# ------------------------------------------------------------------------------------- labels that appear later


@given(st.permutations(range(4)))
def test_classes_may_come_in_any_order(order):
    model, names = snb.LinearNB("poisson", snb.L1(1.0)), np.array(["b", "aa", "longer than these"])
    for k in order:
        model.partial_fit(X[PARTS[k]], names[np.minimum(Y[PARTS[k]], k)])
    labels = np.concatenate([names[np.minimum(Y[PARTS[k]], k)] for k in range(4)])
    assert outcome(model) == outcome(snb.LinearNB("poisson", snb.L1(1.0)).fit(X, labels))


def test_labels_of_an_indicator_may_come_as_further_columns():
    wide = np.hstack([LABELS, np.roll(LABELS[:, :2], 7, axis=0)])
    filled = np.vstack([np.hstack([LABELS[:60], np.zeros((60, 2), int)]), wide[60:]])
    model = snb.LinearNB("poisson").partial_fit(X[:60], LABELS[:60]).partial_fit(X[60:], wide[60:])
    assert outcome(model) == outcome(snb.LinearNB("poisson").fit(X, filled))
    assert model.predict(X).shape == (120, 6)
    few, many = snb.scan(X[:60], LABELS[:60]), snb.scan(X[60:], wide[60:])
    total = widened(few, 6) + many
    assert same_stats(total, snb.scan(X, filled)) and same_stats(total.every, few.every + many.every)
    with pytest.raises(ValueError, match="different classes"):
        few + many
    with pytest.raises(ValueError, match="y has 4 columns and 6 before"):
        model.partial_fit(X, LABELS)


@pytest.mark.parametrize("classes", [list("abcd"), range(4)], ids=["names", "numbers"])
def test_labels_that_were_named_are_all_there_are(classes):
    wide = np.hstack([LABELS, LABELS[:, :1]])
    model = snb.LinearNB("poisson").partial_fit(X, LABELS, classes=list(classes))
    with pytest.raises(ValueError, match="y is an indicator of 5 labels, but classes names 4"):
        model.partial_fit(X, wide)
    with pytest.raises(ValueError, match="different classes"):
        model.stats_ + snb.scan(X, wide, moments=["sum"])


def test_a_label_that_was_never_seen_cannot_be_forgotten():
    model = snb.LinearNB("poisson").fit(X, Y)
    for x, y in ((X[:5], Y[:5] + 3), (np.vstack([X, X]), np.tile(Y, 2)), (X[:5], np.full(5, "a"))):
        with pytest.raises(ValueError, match=r"more rows of class .* are taken away|labels are of two kinds"):
            model.forget(x, y)
    with pytest.raises(ValueError, match="another weight"):
        model.forget(X, Y, sample_weight=0.5)
    assert outcome(model) == outcome(snb.LinearNB("poisson").fit(X, Y))


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_an_indicator_has_one_width_in_one_call(n_threads):
    chunks = [(X[part], LABELS[part, :width]) for part, width in zip(PARTS, (3, 4, 4, 3))]
    with pytest.raises(ValueError, match=r"width|different classes"):
        snb.LinearNB("poisson").fit(iter(chunks), n_threads=n_threads)
