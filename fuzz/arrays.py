"""Rows of any dtype and form with any labels, weights and options of a scan: refused, or the sums by definition."""

import dask.array as da
import numpy as np
import scipy.sparse as sp

import streamnb as snb
from tests.hostile.test_arrays import DTYPES, INTEGERS, LAYOUTS, SPECIAL, cast
from tests.support.hostile import outcome
from tests.support.sums_by_rows import class_sums

SMALL = [0, 1, 2, 3]
FORMS = {
    "array": lambda a, choices: a,
    "layout": lambda a, choices: LAYOUTS[choices.pick(list(LAYOUTS))](a),
    "csr": lambda a, choices: tampered(sp.csr_array(a), choices),
    "csc": lambda a, choices: sp.csc_array(a),
    "coo": lambda a, choices: sp.coo_matrix(a),
    "dask": lambda a, choices: da.from_array(a, chunks=(1 + choices.number(4), -1)),
    "stream": lambda a, choices: None,  # with its labels, see `one`
}
OPTIONS = {
    "transform": [None, "binary", "log1p", "sqrt", "log"],
    "normalize": [None, "l1", "l2", "max"],
    "binarize": [0.0, 1.5, -1, np.nan, "0"],
    "classes": [None, [0, 1, 2], [1], [], ["a", 1], [2, 1, 0]],
    "moments": [None, ["sum"], ["sum", "above"], [], ["sum_sq", "nonzero"], "sum", ["other"]],
    "folds": [None, 2, 3, 0, -1, 10**9, [0, 1] * 3],
    "n_threads": [1, 2, 0, None, "1"],
}


def numbers(choices, shape, special=SPECIAL):
    """An array of some dtype; most numbers are small."""
    drawn = [choices.pick([*SMALL * 8, *special]) for _ in range(np.prod(shape))]
    return cast(np.array(drawn, object).reshape(shape), choices.pick(["f8", *DTYPES]))


def tampered(x, choices):
    """A CSR array with a few numbers in it replaced, whatever scipy's constructor says of such."""
    for _ in range(choices.number(3)):
        name = choices.pick(["indices", "indptr"])
        part = getattr(x, name).astype(choices.pick([np.int64, np.int32]))
        if len(part):
            part[choices.number(len(part))] = choices.pick([i for i in INTEGERS if abs(i) < 2**31])
        setattr(x, name, part[: len(part) - choices.number(2)])
    return x


def made(choices):
    """X, y, sample_weight and options; an error of numpy or scipy where there is no such array."""
    shape = 1 + choices.number(6), 1 + choices.number(4)
    options = {name: choices.pick(choices.pick([values[:1], values])) for name, values in OPTIONS.items()}
    y = choices.pick([np.arange(shape[0]) % 2, numbers(choices, shape[:1], [-1, np.nan, 0.5, 2**63 - 1])])
    w = choices.pick([np.ones(shape[0]), numbers(choices, shape[:1], [-1, np.nan, np.inf, 1e101, 0.1])])
    form, x = choices.pick(list(FORMS)), numbers(choices, shape)
    if form == "stream":
        return iter([(x[:2], y[:2], w[:2]), (x[2:], y[2:], w[2:])]), None, None, options
    return FORMS[form](x, choices), y, w, options


def dense(x):
    """The rows of X as a plain reader sees them."""
    if isinstance(x, da.Array):
        return x.compute().astype(float)
    if not sp.issparse(x):
        return np.asarray(x).astype(float)
    x = x.tocsr() if x.format != "csr" else x
    rows = np.zeros(x.shape)
    for i in range(x.shape[0]):
        for p in range(int(x.indptr[i]), int(x.indptr[i + 1])):
            rows[i, int(x.indices[p])] += float(x.data[p])
    return rows


def one(choices):
    try:
        x, y, w, options = made(choices)
    except (TypeError, ValueError, NotImplementedError):
        return
    stats = outcome(lambda: snb.scan(x, y, sample_weight=w, **options))
    if stats is None or y is None:
        return
    rows, labels = dense(x), [v.decode() if isinstance(v, bytes) else v for v in y.tolist()]
    how = {name: options[name] for name in ("transform", "normalize", "binarize")}
    expected = class_sums(rows, labels, stats.classes.tolist(), w, **how)
    largest = class_sums(abs(rows), labels, stats.classes.tolist(), w, **how)  # before anything cancels
    for name in ("weight", *stats.tables):
        error = abs(getattr(stats, name) - expected[name])
        assert (error <= 1e-12 * largest[name]).all(), name
