"""svmlight files: what scikit-learn's loader makes of them, and what is wrong with others."""

import bz2
import gzip
import lzma
import re
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import streamnb as snb
from streamnb.rows import line_files
from streamnb.rows.files import is_svmlight
from streamnb.rows.opening import opened
from tests.support.refusals import cases, refused

PACKED = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
PACKED["zst"] = partial(pa.compress, codec="zstd", asbytes=True)
MESSY = (
    b"# made by hand\n1 qid:3 1:0.5  4:-2e-3 # the rest 9:1\r\n\n-1\t2:12345678901234567890\n"
    b"  +1 1:1e-320 3:0.1 7:9007199254740993 \n-1\n3.0 5:1#x\n-1 12345:0"
)


def whole(rows, *asked):
    blocks = list(opened(rows).blocks(*asked))
    X = sp.vstack([sp.csr_array((b.X[0], b.X[1], b.X[2] - b.X[2][0]), shape=(b.n_rows, b.X[3])) for b in blocks])
    y = [block.y for block in blocks]
    return X, sp.vstack(y).toarray() if sp.issparse(y[0]) else np.concatenate(y)


def same(found, expected):
    for part in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(found, part), getattr(expected, part))
    assert found.shape == expected.shape


@pytest.mark.parametrize("text_bytes", [16, 1 << 20])
def test_rows_are_those_of_scikit_learn(text_bytes, tmp_path, monkeypatch):
    monkeypatch.setattr(line_files, "PIECE_BYTES", text_bytes)
    rng = np.random.default_rng(0)
    X = sp.random_array((30, 40), density=0.2, rng=rng, format="csr")
    (tmp_path / "messy").write_bytes(MESSY)
    for ending, pack in PACKED.items():
        (tmp_path / f"packed.{ending}").write_bytes(pack(MESSY))
    assert is_svmlight(tmp_path / "packed.zst")
    dump_svmlight_file(X, np.arange(30) % 3, str(tmp_path / "from 0"), zero_based=True)
    dump_svmlight_file(X.astype(np.float32), np.arange(30) % 3, str(tmp_path / "from 1"), zero_based=False)
    for name, options in (
        ("messy", {}),
        ("messy", {"zero_based": True}),
        ("packed.gz", {"n_features": 20_000}),
        *((f"packed.{ending}", {}) for ending in ("zst", "bz2", "xz")),
        ("from 0", {}),
        ("from 1", {}),
    ):
        path = str(tmp_path / name)
        rows = snb.svmlight(path, **options)
        expected, y = load_svmlight_file(re.sub("(zst|xz)$", "gz", path), **options)
        found, labels = whole(rows)
        same(found, expected)
        assert np.array_equal(labels, y) and rows.labels is None
        found, labels = whole(rows, 2, 5)
        assert (found != expected[2:5]).nnz == 0 and np.array_equal(labels, y[2:5])
        assert f"{rows.n_rows:,} rows" in repr(rows)


@pytest.mark.parametrize("text_bytes", [64, 1 << 20])
def test_queries_are_groups(text_bytes, tmp_path, monkeypatch):
    monkeypatch.setattr(line_files, "PIECE_BYTES", text_bytes)
    rng, path = np.random.default_rng(0), tmp_path / "rows.svm"
    X, y, queries = rng.poisson(1.0, (40, 5)), np.arange(40) % 3, rng.integers(0, 9, 40)
    dump_svmlight_file(X, y, str(path), query_id=queries, zero_based=False, comment="qid:none")
    found = snb.scan(path, folds=3, groups="qid")
    expected = snb.scan(X, y.astype(float), folds=3, groups=queries)
    for fold in range(3):
        assert np.array_equal(found.without_fold(fold).sum, expected.without_fold(fold).sum)
    snb.convert(path, tmp_path / "rows.zarr", groups="qid")
    assert np.array_equal(
        snb.scan(tmp_path / "rows.zarr", "y", folds=3, groups="groups").folds[0].sum, found.folds[0].sum
    )
    path.write_text("1 qid:1 1:2\n\n# qid:4\n2 1:2 # qid:3\n")
    with refused(snb.DataError, "row 1 has no qid:number"):
        snb.scan(path, folds=2, groups="qid")


def test_rows_of_several_labels(tmp_path):
    path = tmp_path / "labels"
    path.write_bytes(b"7,2 1:1\n 2:1\n2 1:3 3:1\n-1,7,7 # none\n")
    rows = snb.svmlight(path, multilabel=True)
    X, Y = whole(rows)
    same(X, load_svmlight_file(str(path), multilabel=True)[0])
    assert rows.labels.tolist() == [-1, 2, 7]
    assert Y.tolist() == [[0, 1, 1], [0, 0, 0], [0, 1, 0], [1, 0, 1]]
    model = snb.LinearNB("bernoulli").fit(rows, classes=rows.labels)
    assert model.classes_.tolist() == [-1, 2, 7] and model.predict(rows).shape == (4, 3)


def test_fit_predict_score_and_checkpoints(tmp_path):
    rng = np.random.default_rng(1)
    X, y = rng.poisson(1.0, (60, 6)), rng.integers(0, 2, 60)
    dump_svmlight_file(X, y, str(tmp_path / "rows.svm"), zero_based=False)
    rows = snb.svmlight(tmp_path / "rows.svm", n_features=6)
    expected = snb.LinearNBCV("poisson", snb.L2([1.0]), folds=3).fit(X, y)
    model = snb.LinearNBCV("poisson", snb.L2([1.0]), folds=3).fit(rows)
    assert np.array_equal(model.coef_, expected.coef_)
    assert np.array_equal(model.predict(rows), expected.predict(X)) and model.score(rows) == expected.score(X, y)
    for other in (1 - y, sp.csr_array(np.column_stack([y, 1 - y]))):  # other labels, in place of those of the file
        assert np.array_equal(snb.scan(rows, other).sum, snb.scan(X, other).sum)
    kept = tmp_path / "kept.snb"
    assert np.array_equal(snb.scan(rows, checkpoint=kept).sum, snb.scan(X, y).sum)
    dump_svmlight_file(X, 1 - y, str(tmp_path / "rows.svm"), zero_based=False)
    with refused(ValueError, "of another scan", "y had other values"):
        snb.scan(snb.svmlight(tmp_path / "rows.svm", n_features=6), checkpoint=kept)
    assert snb.plan(rows).n_rows == 60


WRONG = {  # what follows two good rows, options, and words of the message
    "an index that falls": (b"1 3:1 2:5\n", {}, "row 2 has the feature index 3 before a lower one.*sort"),
    "an index that comes twice": (b"1 1:1 2:1 2:1\n", {}, "row 2 has the feature index 2 after one that is not lower"),
    "index 0 of a one-based file": (b"1 0:1\n", {"zero_based": False}, "row 2 has the feature index 0.*zero_based"),
    "a label that is no number": (b"spam 1:1\n", {}, "row 2 has the label 'spam', which is not a number"),
    "an empty label of several": (b"1,,2 1:1\n", {"multilabel": True}, "row 2 has the label ''"),
    "a label that is not whole": (b"0.5 1:1\n", {}, "y holds 0.5 at row 2"),
    "a missing label": (b"nan 1:1\n", {}, "NaN, a missing label, at row 2"),
    "a value that is no number": (b"1 1:0,5\n", {}, "row 2 has the value '0,5', which is not a number"),
    "a missing value": (b"1 1:nan\n", {}, "X.*row 2"),
    "no features": (b"1 one two\n", {}, "row 2 has 'one' where a feature 'index:value' should be"),
    "an index beyond": (b"1 8:1\n", {"n_features": 7}, "n_features=7.*feature index 8.*8 features"),
    "an index far beyond": (b"1 4000000000:1\n", {}, "feature index 4000000000, beyond 2147483647"),
}


@cases(WRONG)
def test_what_is_wrong_is_named_with_its_row(case, tmp_path):
    line, options, words = case
    (tmp_path / "bad.svm").write_bytes(b"1 1:1\n2 2:1\n" + line)
    with refused(ValueError, words):
        snb.scan(snb.svmlight(tmp_path / "bad.svm", **options))


def test_files_that_are_something_else(tmp_path):
    path = tmp_path / "rows.svm"
    with refused(FileNotFoundError, "rows.svm"):
        snb.svmlight(path)
    for content, words in (
        (b"# nothing\n", "holds no rows"),
        (b"PAR1" + bytes(40), "looks like a Parquet file"),
        (b"a,b\n1,2\n", "label 'a,b'.*looks like a CSV file"),
        (gzip.compress(b"1 1:1\n" * 9)[:-9], "damaged or cut off.*after row 0"),
    ):
        path.write_bytes(content)
        with refused(ValueError, "rows.svm", words):
            snb.scan(snb.svmlight(path))
    path.write_bytes(b"1 1:1\n" * 9)
    rows = snb.svmlight(path)
    path.write_bytes(b"1 1:1\n")
    with refused(snb.DataError, "rows.svm' has become shorter"):
        snb.scan(rows)
    for options, words in (({"zero_based": 1.5}, "zero_based"), ({"n_features": 2**31}, "n_features")):
        with refused(ValueError, words):
            snb.svmlight(path, **options)
