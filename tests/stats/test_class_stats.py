"""What a scan leaves: a monoid with an inverse, exact to the last bit whatever the chunks and threads."""

import operator
from dataclasses import fields
from fractions import Fraction

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import streamnb as snb
from tests.support.strategies import MOMENTS, Rows, chunkings, example, same_stats, same_sums, stream, sums_of


def scan(rows, **options):
    return snb.scan(rows.x, rows.y, sample_weight=rows.w, **options)


def contents(stats):
    return [np.array(getattr(stats, name)) for name in ("classes", "weight", *MOMENTS)]


# ------------------------------------------------------------------------------------------------- laws


@pytest.mark.parametrize("operation", [operator.iadd, operator.isub, lambda a, _: operator.imul(a, 0.5)])
def test_the_in_place_operators_make_a_new_value(operation):
    rows = example()
    total, part = scan(rows), scan(rows.part(0, 9))
    alias, before = total, contents(total)
    total = operation(total, part)
    assert total is not alias
    assert all(np.array_equal(*pair) for pair in zip(contents(alias), before, strict=True))


# ---------------------------------------------------------------------------------------------- classes


def test_subtracting_drops_classes_left_with_no_rows():
    rows = example("int")
    theirs = rows.y == 7
    rest = scan(rows) - scan(Rows(rows.x[theirs], rows.y[theirs], rows.w[theirs]))
    assert rest.classes.tolist() == [-1, 0]
    assert same_sums(rest, sums_of(Rows(rows.x[~theirs], rows.y[~theirs], rows.w[~theirs])))


def test_subtracting_keeps_classes_that_were_listed():
    rows = example("int")
    theirs = rows.y == 7
    part = Rows(rows.x[theirs], rows.y[theirs], rows.w[theirs])
    rest = scan(rows, classes=[-1, 0, 7]) - scan(part, classes=[-1, 0, 7])
    assert rest.classes.tolist() == [-1, 0, 7]
    assert rest.weight[2] == 0 and not rest.sum[2].any()


def test_everything_subtracted_leaves_nothing():
    rows = example()
    nothing = scan(rows) - scan(rows)
    assert nothing.n_rows == 0 and nothing.classes.size == 0 and nothing.n_features == 9
    assert same_stats(nothing + scan(rows), scan(rows))


def test_subtracting_rows_of_a_class_never_seen_is_an_error():
    rows = example("int")
    with pytest.raises(ValueError, match="12"):
        scan(rows) - snb.scan(rows.x, np.full(len(rows), 12))


@pytest.mark.parametrize("operation", [operator.add, operator.sub])
@pytest.mark.parametrize(
    ("other", "words"),
    [
        (lambda rows: snb.scan(rows.x[:, :5], rows.y), "features"),
        (lambda rows: snb.scan(rows.x, rows.y, binarize=1.0), "binarize"),
        (lambda rows: snb.scan(rows.x, rows.y, transform="log1p"), "transform"),
        (lambda rows: snb.scan(rows.x, rows.y, normalize="l2"), "normalize"),
        (lambda rows: snb.scan(rows.x, rows.y, folds=4), "folds"),
    ],
)
def test_statistics_of_different_kinds_do_not_mix(operation, other, words):
    rows = example()
    with pytest.raises(ValueError, match=words):
        operation(scan(rows, folds=3 if words == "folds" else None), other(rows))


@pytest.mark.parametrize("label", [2**63 - 1, 2**63 - 3, -(2**63)])
def test_the_first_labels_may_be_the_largest_integers(label):
    assert snb.scan(np.ones((2, 1)), np.array([label, label])).classes.tolist() == [label]


@given(st.sampled_from([np.int8, np.uint8, np.int32, np.uint32, np.int64]), st.data())
def test_whole_numbers_of_every_size_and_spread_are_labels(dtype, data):
    lowest = st.sampled_from([int(np.iinfo(dtype).min), np.iinfo(dtype).max - 3])
    numbers = lowest.flatmap(lambda low: st.integers(low, low + 3)) | st.integers(0, 100)
    y = np.array(data.draw(st.lists(numbers, min_size=4, max_size=12)), dtype)
    classes, weight = np.unique(y, return_counts=True)
    together = snb.scan(np.ones((len(y), 1)), y)
    in_parts = snb.scan(iter([(np.ones((len(part), 1)), part) for part in np.array_split(y, 3)]))
    closed = snb.scan(np.ones((len(y), 1)), y, classes=classes[::-1])
    for stats in (together, in_parts, closed):
        assert stats.classes.tolist() == classes.tolist()
        assert stats.weight.tolist() == stats.sum[:, 0].tolist() == weight.tolist()


@pytest.mark.parametrize("stranger", [-9, 4, 99])
def test_a_number_that_is_no_label_is_named(stranger):
    with pytest.raises(ValueError, match=rf"label {stranger} at row 2"):
        snb.scan(np.ones((4, 1)), [3, 5, stranger, 3], classes=[3, 5])


@pytest.mark.parametrize("gamma", [-1.0, np.nan, np.inf, "2", None])
def test_a_factor_that_is_no_weight_is_an_error(gamma):
    with pytest.raises((TypeError, ValueError)):
        scan(example()) * gamma


def test_other_things_cannot_be_added():
    for operation in (operator.add, operator.sub):
        with pytest.raises(TypeError):
            operation(scan(example()), 1.0)


# ------------------------------------------------------------------------------------------ whole values


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("top", [3, 2**15, 2**28, 2**31 - 1, 2**31, 2**45, 2**53])
def test_sums_of_whole_numbers_stay_exact_as_they_grow(make, top):
    rng = np.random.default_rng(0)
    chunks = [(rng.integers(-top, top, (5, 3), endpoint=True), rng.integers(0, 2, 5)) for _ in range(12)]
    stats = snb.scan(iter([(make(x), y) for x, y in chunks]))
    for moment, power in (("sum", 1), ("sum_sq", 2)):
        sums = np.zeros((2, 3), object)
        for x, y in chunks:
            np.add.at(sums, y, x.astype(object) ** power)
        assert getattr(stats, moment).tolist() == [[float(v) for v in row] for row in sums.tolist()]


# ------------------------------------------------------------------------------------------- real values


def real_rows(seed, dtype, n_rows=300, n_features=4):
    """Real values of very different sizes, of both signs, with zeros among them; weights that round."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n_rows, n_features)) * 10.0 ** rng.integers(-6, 6, (n_rows, n_features))
    x[rng.random(x.shape) < 0.3] = 0
    return Rows(x.astype(dtype), rng.integers(0, 3, n_rows), rng.random(n_rows) + 0.01)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_real_sums_are_the_exact_sums_rounded(dtype, make):
    rows = real_rows(0, dtype)
    assert same_sums(snb.scan(make(rows.x), rows.y, sample_weight=rows.w), sums_of(rows))
    assert same_sums(snb.scan(make(rows.x), rows.y), sums_of(rows, weighted=False))


@pytest.mark.compiled
@pytest.mark.parametrize("options", [{}, {"transform": "log1p", "normalize": "l2"}], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(data=st.data())
def test_real_sums_do_not_depend_on_chunks_or_threads(options, dtype, data):
    rows = real_rows(data.draw(st.integers(0, 50)), dtype, n_rows=60)
    if "transform" in options:
        rows = Rows(np.abs(rows.x), rows.y, rows.w)
    whole = scan(rows, **options)
    sizes = data.draw(chunkings(len(rows)))
    blocks = data.draw(st.sampled_from([None, sp.csr_array]))
    n_threads = data.draw(st.integers(1, 4))
    chunks = stream(rows, "x", "y", "w", sizes=sizes, blocks=blocks)
    assert same_stats(snb.scan(chunks, None, n_threads=n_threads, **options), whole)
    pieces = [scan(part, **options) for part in rows.split(sizes) if len(part)]
    assert same_stats(sum(pieces[1:], start=pieces[0]), whole)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_real_sums_of_many_blocks_do_not_depend_on_threads(dtype):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200_000, 40)).astype(dtype)
    y, w = rng.integers(0, 5, len(x)), rng.random(len(x))
    one, *others = [snb.scan(x, y, sample_weight=w, n_threads=n) for n in (1, 2, 3)]
    chunked = snb.scan(da.from_array(x, chunks=(37_123, -1)), y, sample_weight=w)
    assert all(same_stats(one, other) for other in [*others, chunked])


@pytest.mark.parametrize(
    ("dtype", "largest"), [(np.int16, 2**15 - 1), (np.int32, 2**31 - 1), (np.float16, 2047), (np.float32, 2**24 + 2)]
)
def test_sums_do_not_overflow_nor_round_in_small_dtypes(dtype, largest):
    x = np.full((1000, 1), largest, dtype)
    for given_x in (x, sp.csr_array(x)) if dtype is not np.float16 else (x,):
        stats = snb.scan(given_x, np.zeros(1000, int))
        assert stats.sum.tolist() == [[1000.0 * largest]]
        assert stats.sum_sq.tolist() == [[1000.0 * largest**2]]


def exact_gaussian(rows):
    """Weights and margins at the first rows, two classes, no variance smoothing: rational until the end."""
    x = [[Fraction(float(v)) for v in row] for row in rows.x]
    members = [np.flatnonzero(rows.y == k) for k in (0, 1)]
    mean = [[sum(x[i][j] for i in mine) / len(mine) for j in range(rows.x.shape[1])] for mine in members]
    columns = range(rows.x.shape[1])
    phi = [sum((x[i][j] - mean[rows.y[i]][j]) ** 2 for i in range(len(rows))) / len(rows) for j in columns]
    w = [(mean[1][j] - mean[0][j]) / phi[j] for j in columns]
    odds = np.log(len(members[1]) / len(members[0]))
    middle = [(mean[1][j] + mean[0][j]) / 2 for j in columns]
    margins = [float(sum(w[j] * (x[i][j] - middle[j]) for j in columns)) + odds for i in range(5)]
    return np.array([float(v) for v in w]), np.array(margins)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_variance_of_values_far_from_zero(make):
    rng = np.random.default_rng(0)
    rows = Rows(1e8 + rng.standard_normal((200, 3)), rng.permutation(np.arange(200) % 2), np.ones(200))
    weights, margins = exact_gaussian(rows)
    model = snb.LinearNB(snb.Gaussian(var_smoothing=0.0)).fit(make(rows.x), rows.y)
    np.testing.assert_allclose(model.coef_[0], weights, atol=2e-7)  # means are numbers of 1e8, good to 1e-8
    np.testing.assert_allclose(model.decision_function(rows.x[:5]), margins, atol=1e-5)


# ------------------------------------------------------------------------------------------------ moments


def test_moments_that_were_not_asked_for_are_an_error():
    rows = example()
    stats = snb.scan(rows.x, rows.y, moments=["sum"])
    assert 0 < stats.nbytes < snb.scan(rows.x, rows.y).nbytes
    assert np.array_equal(stats.sum, scan(Rows(rows.x, rows.y, np.ones(len(rows)))).sum)
    for name in MOMENTS[1:]:
        with pytest.raises(ValueError, match=f"(?s){name}.*moments|moments.*{name}"):
            getattr(stats, name)


@pytest.mark.parametrize(("family", "absent"), [("gaussian", "sum_sq"), ("bernoulli", "above"), ("poisson", "sum")])
def test_families_say_which_moment_they_miss(family, absent):
    rows = example()
    stats = snb.scan(rows.x, rows.y, moments=[name for name in MOMENTS if name != absent])
    with pytest.raises(ValueError, match=absent):
        _ = snb.solve(stats, family)[0].coef_


def test_pickles_whose_fields_are_a_list_are_read():
    stats = snb.scan([[2.0, 0.0], [1.0, 3.0]], ["a", "b"])
    found = object.__new__(type(stats))
    found.__setstate__([getattr(stats, part.name) for part in fields(stats)])
    assert found.n_rows == 2 and (found + stats).sum.tolist() == [[4.0, 0.0], [2.0, 6.0]]
