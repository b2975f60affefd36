"""Markers of classes and columns of AnnData: what coef_ and predictions say, in the words of single cells."""

import warnings

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import streamnb as snb
from tests.support.refusals import refused, refuses

N = 60
KIND = np.array(["B", "NK", "T"])[np.arange(N) % 3]
COUNTS = (
    np.random.default_rng(0).poisson(0.5 + 3.0 * (np.arange(6) % 3 == np.arange(N)[:, None] % 3)).astype(np.float32)
)
GENES = np.array([f"g{j}" for j in range(6)])


def cells():
    obs = pd.DataFrame({"kind": KIND}, index=[f"c{i}" for i in range(N)])
    return anndata.AnnData(sp.csr_matrix(COUNTS), obs, pd.DataFrame(index=GENES), layers={"counts": COUNTS})


@pytest.mark.parametrize(
    "model", [snb.LinearNB(), snb.LinearNB("poisson", scheme="ovr"), snb.SoftmaxRegression(l2=1.0)]
)
def test_markers_are_the_features_of_each_class(model):
    model.fit(cells(), "obs/kind")
    found = model.markers(2)
    assert found["class"].tolist() == ["B", "B", "NK", "NK", "T", "T"]
    assert found.columns.tolist()[:3] == ["class", "feature", "weight"]
    assert [sorted(some) for _, some in found.groupby("class")["feature"]] == [["g0", "g3"], ["g1", "g4"], ["g2", "g5"]]
    others = 0.0 if getattr(model, "scheme", "") == "ovr" else model.coef_[1:].mean(axis=0)
    best = int(found["feature"][0][1:])
    assert found["weight"][0] == pytest.approx((model.coef_[0] - others)[best])
    if hasattr(model, "sparsify"):
        pd.testing.assert_frame_equal(model.sparsify().markers(2), found)


def test_markers_of_two_classes_of_labels_and_of_pairs():
    two = snb.LinearNB().fit(COUNTS, KIND == "B").markers(1)
    assert two["class"].tolist() == [False, True] and two["feature"][1] in (0, 3)
    labels = np.column_stack([KIND == "B", KIND != "T"]).astype(int)
    model = snb.LinearNB("bernoulli").fit(COUNTS, labels)
    assert model.markers(1)["weight"].tolist() == model.coef_.max(axis=1).tolist()
    reference = snb.LinearNB(scheme="reference", reference="NK").fit(COUNTS, KIND)
    assert reference.markers(1)["class"].tolist() == ["B", "T"]
    refuses(ValueError, "scheme='ovo'", snb.LinearNB(scheme="ovo").fit(COUNTS, KIND).markers)
    refuses(ValueError, "annotate is for one label a row", lambda: model.annotate(cells()))


@pytest.mark.parametrize("model", [snb.LinearNB(transform=("l1:100", "log1p")), snb.MarginClassifier(l2=1.0)])
def test_annotate_adds_columns(model):
    adata = cells()
    model.fit(adata, "obs/kind", layer="counts")
    assert model.annotate(adata, key="called") is adata
    assert (adata.obs["called"] == model.predict(COUNTS)).all()
    assert adata.obs["called"].cat.categories.tolist() == ["B", "NK", "T"]
    assert ("called_probability" in adata.obs) == hasattr(model, "predict_proba")
    if hasattr(model, "predict_proba"):
        assert np.array_equal(adata.obs["called_probability"], model.predict_proba(COUNTS).max(axis=1))
    with refused(TypeError, "AnnData object", r"anndata.read_h5ad\(path\)"):
        model.annotate(COUNTS)


def test_clusters_vote_and_unsure_cells_are_unknown():
    adata = cells()
    adata.obs["leiden"] = pd.Categorical(["0", "1"])[(KIND == "T").astype(int)]
    model = snb.LinearNB().fit(adata, "obs/kind", layer="counts")
    plain = model.annotate(adata, "plain", over="obs/leiden").obs
    found = model.annotate(adata, over="leiden", unknown_below=0.9).obs
    unsure = model.predict_proba(adata).max(axis=1) < 0.9
    assert 0 < unsure.sum() < N
    assert ((found["predicted"] == "unknown") == unsure).all()
    assert found["predicted"][~unsure].tolist() == plain["plain"][~unsure].tolist()
    assert found["predicted"].cat.categories.tolist() == ["B", "NK", "T", "unknown"]
    for column in ("plain", "predicted"):
        for _, some in found.groupby("leiden", observed=True):
            assert (some[f"{column}_majority"] == some[column].mode()[0]).all()
    refuses(ValueError, "over='obs/louvain' is not in obs", lambda: model.annotate(adata, over="obs/louvain"))
    some = adata.copy()
    some.obs["leiden"] = some.obs["leiden"].astype(object).where(np.arange(some.n_obs) != 3)
    with refused(ValueError, "over='leiden': 1 cells have no cluster, the first at row 3"):
        model.annotate(some, over="leiden")
    refuses(ValueError, "unknown_below", lambda: model.annotate(adata, unknown_below=1.5))
    with refused(ValueError, "models with predict_proba and with classes that are strings"):
        snb.LinearNB().fit(COUNTS, KIND == "B").annotate(adata, unknown_below=0.5)


def test_models_test_their_classes_from_the_sums_of_the_fit():
    model = snb.LinearNB("gaussian").fit(cells(), "obs/kind", layer="counts")
    found = model.markers(2, test="t-test", corr="bonferroni")
    expected = snb.scan(COUNTS, KIND).markers(2, corr="bonferroni", feature_names=GENES)
    pd.testing.assert_frame_equal(found, expected)
    assert found.attrs == {"test": "t-test", "corr": "bonferroni", "layer": "counts"}
    refuses(ValueError, "lack the moment 'sum_sq'", lambda: snb.LinearNB().fit(COUNTS, KIND).markers(test="t-test"))
    with refused(ValueError, "which MarginClassifier does not keep"):
        snb.MarginClassifier(l2=1.0).fit(COUNTS, KIND).markers(test="t-test")


@pytest.mark.parametrize("form", ["memory", "h5ad", "zarr"])
def test_markers_are_written_in_the_layout_of_scanpy(form, tmp_path):
    adata, path = cells(), tmp_path / f"cells.{form}"
    table = snb.scan(adata, "obs/kind").markers(None, feature_names=GENES)
    with warnings.catch_warnings(action="ignore"):  # of anndata, about its own versions to come
        if form == "memory":
            snb.write_markers(table, adata, "obs/kind")
        else:
            (adata.write_h5ad if form == "h5ad" else adata.write_zarr)(path)
            numbered = table.assign(names=range(len(table)))  # of statistics without names
            for some in (numbered, table.groupby("group", observed=True).head(3), table):  # each replaces the last
                snb.write_markers(some, path, "kind")
            adata = (anndata.read_h5ad if form == "h5ad" else anndata.read_zarr)(path)
    found = adata.uns["rank_genes_groups"]
    assert found["params"]["method"] == "t-test" and found["params"]["groupby"] == "kind"
    assert found["params"]["reference"] == "rest" and not found["params"]["use_raw"]
    for column, dtype in (("names", "O"), ("scores", "f4"), ("logfoldchanges", "f4"), ("pvals", "f8")):
        assert found[column].dtype.names == ("B", "NK", "T")
        for group in ("B", "NK", "T"):
            assert found[column][group].dtype == dtype
            own = table[table["group"] == group][column].to_numpy()
            assert found[column][group].tolist() == own.astype(dtype).tolist()
    assert adata.X.shape == COUNTS.shape


def test_batches_are_columns_of_obs(tmp_path):
    adata = cells()
    adata.obs["sample"] = pd.Categorical(np.array(["s1", "s2"])[np.arange(N) // 30])
    with warnings.catch_warnings(action="ignore"):  # of anndata, about its own versions to come
        adata.write_h5ad(tmp_path / "cells.h5ad")
        adata.write_zarr(tmp_path / "cells.zarr")
    expected = snb.scan(COUNTS, KIND, batch=adata.obs["sample"]).markers(None, batch=True)
    for X in (adata, tmp_path / "cells.h5ad", tmp_path / "cells.zarr"):
        assert snb.scan(X, "obs/kind", batch="obs/sample").markers(None, batch=True).equals(expected)


def test_models_keep_sums_of_batches_for_tests_within_them(tmp_path):
    adata = cells()
    adata.obs["sample"] = np.array(["s1", "s2"])[np.arange(N) // 30]
    expected = snb.scan(adata, "obs/kind", batch="obs/sample").markers(None, batch=True, feature_names=GENES)
    model = snb.LinearNB("gaussian").fit(adata, "obs/kind", batch="obs/sample")
    plain = snb.LinearNB("gaussian").fit(adata, "obs/kind")
    assert np.array_equal(model.coef_, plain.coef_) and np.array_equal(model.intercept_, plain.intercept_)
    model.save(tmp_path / "m.snb")
    for each in (model, snb.load(tmp_path / "m.snb"), model.refit(penalty=snb.L1(0.1))):
        assert each.markers(None, test="t-test", batch=True).equals(expected)
    folds = snb.LinearNBCV("gaussian", folds=np.arange(N) // 30, scoring="accuracy").fit(adata, "obs/kind")
    assert folds.markers(None, test="t-test", batch=True).equals(expected)
    refuses(ValueError, "scan both with the same", lambda: model.partial_fit(adata, "obs/kind"))
    refuses(ValueError, "batch=True is of tests within batches; name a test", lambda: model.markers(batch=True))
    with refused(ValueError, "these statistics know no batches; scan or fit the rows with batch="):
        plain.markers(test="t-test", batch=True)
    refuses(ValueError, "batch has only the value", lambda: plain.fit(adata, "obs/kind", batch=np.zeros(N, int)))
    with refused(ValueError, "CategoricalNB keeps no sums of batches"):
        snb.CategoricalNB().fit(adata, "obs/kind", batch="obs/sample")


def test_markers_of_raw_say_so():
    adata = cells()
    adata.raw = adata.copy()
    table = snb.LinearNB("gaussian").fit(adata, "obs/kind", layer="raw").markers(None, test="t-test")
    snb.write_markers(table, adata, "kind", key="tests")
    assert adata.uns["tests"]["params"]["use_raw"] is True and adata.uns["tests"]["params"]["layer"] is None
    of_scan = snb.scan(adata, "obs/kind", layer="counts").markers(None)
    for layer, expected in ((None, (False, None)), ("raw", (True, None)), ("counts", (False, "counts"))):
        snb.write_markers(of_scan, adata, "kind", layer=layer)
        params = adata.uns["rank_genes_groups"]["params"]
        assert (params["use_raw"], params["layer"]) == expected


def test_markers_that_cannot_be_written_are_refused(tmp_path):
    table, adata = snb.scan(COUNTS, KIND).markers(None), cells()
    refuses(ValueError, "groups of 5 to 6 rows", lambda: snb.write_markers(table[1:], adata, "kind"))
    with refused(TypeError, "markers should be a data frame"):
        snb.write_markers(snb.LinearNB().fit(COUNTS, KIND).markers(), adata, "kind")
    refuses(TypeError, "should be the name of a column", lambda: snb.write_markers(table, adata, None))
    refuses(TypeError, "adata is of type ndarray", lambda: snb.write_markers(table, COUNTS, "kind"))
