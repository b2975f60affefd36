"""Bad rows, weights and options: an error that names the argument, what was given and a cure."""

import re

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
import zarr
from zarr.storage import MemoryStore

import streamnb as snb
from tests.support.refusals import WRONG, cases, refused
from tests.support.strategies import as_dask, build, dask_columns, example, stream
from tests.support.ways_in import BAD_ROW, ROWS, every_run

# ------------------------------------------------------------------------------------------------- values

EVERYWHERE = ["numpy f4", "numpy f8", "csr_array", "csr int64", "csc_array", "dask", "dask csr array", "zarr v3"]
EVERYWHERE += ["zarr csr v3", "zarr csr sharded", "path to group", "anndata csr v2", "dask dense unknown, y known"]
EVERYWHERE += ["generator, chunks of X, y, w", "frame"]
NOT_FINITE = [*zip(EVERYWHERE, [np.inf, np.nan, -np.inf] * 5)]  # not NaN of the frame, which would be a table


def with_value(value):
    rows = example("int")
    rows.x[BAD_ROW, 5] = value
    return rows


@pytest.mark.parametrize(("name", "value"), NOT_FINITE)
def test_values_that_are_not_finite(name, value, tmp_path):
    with refused(ValueError, r"\bX\b", "nan|inf", rf"row {BAD_ROW}\b"):
        snb.scan(**build(name, with_value(value), tmp_path))


MATRICES = [name for name in EVERYWHERE if name != "frame"]  # a table with other numbers than counts becomes bins


@pytest.mark.parametrize(("name", "family"), [*zip(MATRICES, ["poisson", "multinomial"] * 8)])
def test_negative_counts_are_refused_by_fit(name, family, tmp_path):
    with refused(ValueError, "negative values in data passed to", rf"row {BAD_ROW}\b"):
        snb.LinearNB(family).fit(**build(name, with_value(-1.0), tmp_path))


def test_negative_counts_are_refused_by_refit_and_remembered_by_sums_of_statistics():
    rows = with_value(-1.0)
    merged = snb.scan(ROWS.x, ROWS.y) + snb.scan(rows.x, rows.y)
    model = snb.LinearNB("gaussian").fit(rows.x, rows.y)
    for call in (lambda: snb.solve(merged, "poisson")[0].coef_, lambda: model.refit(family="multinomial")):
        with refused(ValueError, "negative values in data passed to"):
            call()


def test_duplicates_that_add_up_to_a_count_are_no_negative_values():
    x = sp.csr_array(([3.0, -1.0, 1.0], [0, 0, 1], [0, 2, 3]), shape=(2, 2))
    expected = snb.LinearNB("poisson").fit([[2.0, 0.0], [0.0, 1.0]], [0, 1])
    assert np.array_equal(snb.LinearNB("poisson").fit(x, [0, 1]).coef_, expected.coef_)


@pytest.mark.parametrize(("transform", "value"), [("sqrt", -1.0), ("log1p", -1.0), ("log1p", -3.0)])
@pytest.mark.parametrize("name", ["numpy f8", "csr_array", "zarr csr v3"])
def test_values_outside_the_domain_of_a_transform(name, transform, value, tmp_path):
    with refused(ValueError, transform, rf"row {BAD_ROW}\b"):
        snb.scan(**build(name, with_value(value), tmp_path), transform=transform)


def test_bernoulli_takes_any_value_by_its_threshold():
    rows = with_value(-5.0)
    x = (rows.x > 1.5).astype(int)
    model = snb.LinearNB("bernoulli", binarize=1.5).fit(rows.x, rows.y)
    assert np.array_equal(model.coef_, snb.LinearNB("bernoulli").fit(x, rows.y).coef_)


# -------------------------------------------------------------------------------------------- shapes, kinds

SHAPES = {
    "1-D": (lambda: ROWS.x[:, 0], WRONG, ("2-?d|2 dim",)),
    "3-D": (lambda: ROWS.x[:, :, None], WRONG, ("2-?d|dim",)),
    "scalar": (lambda: 3.0, WRONG, ("X",)),
    "None": (lambda: None, WRONG, ("X",)),
    "mapping": (lambda: {"a": [1, 2]}, WRONG, ("X",)),
    "ragged": (lambda: [[1, 2], [3]], WRONG, ("X",)),
    "strings": (lambda: np.full(ROWS.x.shape, "a"), WRONG, ("X",)),
    "objects": (lambda: np.full(ROWS.x.shape, "a", object), TypeError, ("X",)),
    "dicts": (lambda: np.full(ROWS.x.shape, {}, object), TypeError, ("X",)),
    "complex": (lambda: ROWS.x * 1j, ValueError, ("complex",)),
    "dates": (lambda: np.full(ROWS.x.shape, np.datetime64("2020-01-01")), WRONG, ("X",)),
    "no rows": (lambda: ROWS.x[:0], ValueError, ("0 sample",)),
    "no columns": (lambda: ROWS.x[:, :0], ValueError, ("0 feature",)),
    "empty list": (lambda: [], ValueError, ("X|array",)),
    "csr without rows": (lambda: sp.csr_array((0, 4)), ValueError, ("0 sample",)),
    "csr without columns": (lambda: sp.csr_array((41, 0)), ValueError, ("0 feature",)),
    "dask without rows": (lambda: da.zeros((0, 3)), ValueError, ("0 sample",)),
    "zarr without rows": (lambda: zarr.zeros((0, 3), store=MemoryStore()), ValueError, ("0 sample",)),
    "1-D zarr": (lambda: zarr.zeros(41, store=MemoryStore()), ValueError, ("X", "2-?d|shape")),
    "1-D dask": (lambda: da.zeros(41), ValueError, ("X", "2-?d|shape")),
    "no such path": (lambda: "/no/such/store.zarr", (OSError, ValueError), ("/no/such/store.zarr",)),
}


@every_run
@cases(SHAPES)
def test_rows_of_a_shape_or_kind_that_cannot_be(run, case):
    X, error, words = case
    y = ROWS.y if (length := getattr(X(), "shape", [41])[:1]) == (41,) or length == [41] else ROWS.y[: length[0]]
    with refused(error, *words):
        run(X(), y)


@every_run
def test_a_stream_that_was_read_before(run):
    chunks = stream(ROWS, "x", "y")
    run(chunks)
    with refused(ValueError, "X", "empty|0 sample", "callable"):
        run(chunks)


@every_run
def test_chunks_of_different_widths(run):
    with refused(ValueError, "X has 5 features", "9 features"):
        run(iter([(ROWS.x, ROWS.y), (ROWS.x[:, :5], ROWS.y)]))


@every_run
@cases({"four parts": [(ROWS.x, ROWS.y, ROWS.w, 1)], "no labels": [(ROWS.x, ROWS.y), ROWS.x], "number": [(3, 4)]})
def test_chunks_that_are_none(run, case):
    with refused(WRONG, "X|y"):
        run(iter(case))


@every_run
def test_an_error_of_the_users_own_stream_comes_through(run):
    def failing():
        yield from stream(ROWS, "x", "y")
        raise KeyError("the user's own")

    for chunks in (failing(), failing):
        with pytest.raises(KeyError, match="the user's own"):
            run(chunks)


LATER = ["predict", "predict_proba", "decision_function", "partial_fit", "forget", "predict"]


@pytest.mark.parametrize(
    ("name", "method"), [*zip(["numpy f8", "csr_array", "dask", "dask csr array", "zarr v3", "zarr csr v3"], LATER)]
)
def test_another_number_of_features_later(name, method, tmp_path):
    rows = example("int")
    model = snb.LinearNB().fit(rows.x[:, :6], rows.y)
    X = build(name, rows, tmp_path)["X"]
    with refused(ValueError, "X has 9 features", "6 features"):
        getattr(model, method)(*((X, rows.y) if method in ("partial_fit", "forget") else (X,)))


def test_rows_unknown_to_dask_name_the_whole_row_number():
    rows = with_value(np.nan)
    with refused(ValueError, rf"row {BAD_ROW}\b"):
        snb.scan(as_dask(rows, known=False), dask_columns(rows)["y"])


# ------------------------------------------------------------------------------------------------ weights


def weights(value):
    w = ROWS.w.copy()
    w[BAD_ROW] = value
    return w


WEIGHTS = {
    "negative": (weights(-1.0), "negative", str(BAD_ROW)),
    "zero sum": (np.zeros(41), "zero|positive"),
    "short": (ROWS.w[:-1], "40", "41"),
    "2-D": (np.c_[ROWS.w, ROWS.w], "1-?d|shape"),
}


@pytest.mark.parametrize("name", ["numpy f8", "zarr csr v3"])
@cases(WEIGHTS)
def test_weights_that_are_none(name, case, tmp_path):
    w, *words = case
    with refused(WRONG, "weight", *words):
        snb.scan(**build(name, ROWS, tmp_path) | {"sample_weight": w})


def test_weights_in_chunks_are_checked_too():
    for w in (weights(-1.0), weights(np.nan), ROWS.w[:-1]):
        with refused(ValueError, "weight"):
            snb.scan(iter([(ROWS.x, ROWS.y, w)]), None)


# ------------------------------------------------------------------------------------------------ options


APART = np.where((ROWS.y == 0)[:, None], 0.0, ROWS.x)  # nothing in one class


def fit(*args, **options):
    return snb.LinearNB(*args, **options).fit(APART, ROWS.y)


FAMILY_NAMES = ("gaussian", "poisson", "bernoulli", "multinomial")
OPTIONS = {
    "family": (lambda f: f("poison"), "family", "poison", *FAMILY_NAMES),
    "family class": (lambda f: f(snb.Poisson), "family"),
    "penalty number": (lambda f: f("poisson", 0.1), "penalty", "L1", "L2"),
    "scheme": (lambda f: f(scheme="ovo2"), "scheme", "ovo2", "joint", "ovr"),
    "L1 negative": (lambda f: f("poisson", snb.L1(-0.5)), "tau", r"-0\.5"),
    "L1 scale": (lambda f: f("poisson", snb.L1(0.5, scale="size")), "scale", "size", "score"),
    "L1 steps": (lambda f: f("poisson", snb.L1(n_taus=0)), "n_taus", "0"),
    "L2 negative": (lambda f: f("poisson", snb.L2(-1)), "tau", "-1"),
    "smoothing negative": (lambda f: f("poisson", smoothing=-0.1), "smoothing", r"-0\.1"),
    "smoothing name": (lambda f: f("poisson", smoothing="much"), "smoothing", "much"),
    "no smoothing": (lambda f: f("poisson", smoothing=0.0), "smooth", "tau|penalty"),
    "var_smoothing": (lambda f: f(snb.Gaussian(var_smoothing=-1.0)), "var_smoothing", "-1"),
    "priors name": (lambda f: f(priors="flat"), "priors", "flat", "uniform"),
    "transform": (lambda f: f(transform="log2"), "transform", "log2", "binary", "log1p", "sqrt"),
    "normalize": (lambda f: f(normalize="max"), "normalize", "max", "l1", "l2"),
    "binarize name": (lambda f: f(binarize="high"), "binarize", "high"),
}


@cases(OPTIONS)
def test_options_that_cannot_be(case):
    call, *words = case
    with refused(WRONG, *words):
        call(fit)


@every_run
def test_a_run_without_threads(run):
    with refused(ValueError, "n_threads", "0"):
        run(ROWS.x, ROWS.y, n_threads=0)


@pytest.mark.parametrize("penalty", [snb.L1([0.1, 1.0]), snb.L1(), snb.L2([1.0, 2.0]), snb.L1(1.0) + snb.L2([1, 2])])
def test_a_grid_is_for_another_estimator(penalty):
    with refused(ValueError, "penalty|tau", "LinearNBCV"):
        fit("poisson", penalty)


def test_methods_before_fit_say_so():
    for method in ("predict", "predict_proba", "decision_function", "refit", "sparsify"):
        with pytest.raises(Exception, match=re.compile("not fitted", re.IGNORECASE)):
            getattr(snb.LinearNB("gaussian"), method)(*([] if method in ("refit", "sparsify") else [ROWS.x]))
