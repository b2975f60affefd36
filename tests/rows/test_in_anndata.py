"""AnnData in memory, backed, in .h5ad and in Zarr: the same rows, names, columns and layers, and what is not there."""

import sys
import warnings

import anndata
import dask.array
import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import zarr
from sklearn.base import clone

import streamnb as snb
from streamnb.rows.in_anndata import HDF5Matrix, HDF5Source
from streamnb.rows.labels import open_columns
from tests.support.refusals import refused

N = 40
rng = np.random.default_rng(0)
COUNTS = rng.poisson(0.6 + 1.5 * (np.arange(6) % 2 == np.arange(N)[:, None] % 2))
GENES = [f"gene {j}" for j in range(6)]
KIND = np.where(np.arange(N) % 2, "T cell", "B cell")
FORMS = "memory", "h5ad", "backed", "zarr"


def cells():
    obs = pd.DataFrame(
        {
            "kind": pd.Categorical(KIND),
            "batch": np.arange(N) % 4,
            "weight": np.linspace(1.0, 2.0, N),
            "unsure": pd.Categorical(np.where(np.arange(N) == 7, None, KIND)),
            "flag": pd.array([True, *[False] * (N - 2), None], dtype="boolean"),
        },
        index=[f"cell {i}" for i in range(N)],
    )
    counts = sp.csr_matrix(COUNTS.astype(np.float32))
    layers = {"counts": counts, "dense": COUNTS.astype(np.float32)}
    return anndata.AnnData(counts * 2.0, obs=obs, var=pd.DataFrame(index=GENES), layers=layers)


@pytest.fixture(scope="module")
def forms(tmp_path_factory):
    folder, made = tmp_path_factory.mktemp("cells"), cells()
    made.write_h5ad(folder / "cells.h5ad")
    with warnings.catch_warnings(action="ignore"):
        made.write_zarr(folder / "cells.zarr")
    backed = anndata.read_h5ad(folder / "cells.h5ad", backed="r")
    yield dict(zip(FORMS, (made, str(folder / "cells.h5ad"), backed, folder / "cells.zarr"), strict=True))
    backed.file.close()


def test_layers_are_planned_and_compared(forms):
    for X in forms.values():
        assert snb.plan(X, "obs/kind", layer="counts").n_features == 6
    options = {"families": "poisson", "penalties": ["plain", "TopK"], "folds": 2, "show": False}
    found = snb.compare(X, "obs/kind", layer="dense", **options)
    np.testing.assert_array_equal(found.points, snb.compare(COUNTS, KIND, **options).points)
    for verb in (snb.plan, snb.compare):
        with refused(ValueError, "layer='none'"):
            verb(X, "obs/kind", layer="none")
        with refused(ValueError, "layer='counts' is only for AnnData"):
            verb(COUNTS, KIND, layer="counts")


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_are_the_same_rows(form, forms):
    X = forms[form]
    for layer, times in ((None, 2.0), ("counts", 1.0), ("dense", 1.0)):
        stats = snb.scan(X, "obs/kind", sample_weight="obs/weight", folds=2, groups="obs/batch", layer=layer)
        expected = snb.scan(
            COUNTS * times, KIND, sample_weight=np.linspace(1.0, 2.0, N), folds=2, groups=np.arange(N) % 4
        )
        assert np.array_equal(stats.sum, expected.sum)
        assert np.array_equal(stats.without_fold(1).sum, expected.without_fold(1).sum)
    model = snb.LinearNB("poisson").fit(X, "obs/kind", layer="counts")
    assert model.feature_names_in_.tolist() == GENES and model.layer_ == "counts"
    expected = snb.LinearNB("poisson").fit(COUNTS, KIND)
    for other in forms.values():  # the layer of the fit, whatever holds it
        assert np.array_equal(model.predict(other), expected.predict(COUNTS))
        assert model.score(other, "obs/kind") == expected.score(COUNTS, KIND)
    for name, words in (
        ("obs/mood", "y='obs/mood' is not in .*obs.*batch, flag, kind, unsure, weight"),
        ("obs/unsure", "missing label.* row 7"),
        ("obs/flag", f"missing label.* row {N - 1}"),
    ):
        with refused(ValueError, words):
            snb.scan(X, name)
    with refused(ValueError, r"layer='raw' is not a layer of X, which has: \['counts', 'dense'\]"):
        snb.SoftmaxRegression().fit(X, "obs/kind", layer="raw")


OTHER_GENES = {"another order": [3, 1, 5, 0, 2, 4], "more": [0, 6, 1, 2, 7, 3, 4, 5], "fewer": [4, 0, 1]}


@pytest.mark.parametrize(("columns", "sparse"), [*zip(OTHER_GENES.values(), [True, False, True], strict=True)])
def test_genes_are_matched_by_their_names(columns, sparse, tmp_path):
    """In any container they are those of a matrix with the fitted columns, 0 where a gene is lacking."""
    wide = np.hstack([COUNTS, rng.poisson(3.0, (N, 2))]).astype(np.float32)
    X = wide[:, columns]
    known = np.zeros(COUNTS.shape, np.float32)
    known[:, [j for j in columns if j < 6]] = wide[:, [j for j in columns if j < 6]]
    var = pd.DataFrame(index=[*GENES, "more", "still more"]).iloc[columns]
    made = anndata.AnnData(sp.csr_matrix(X) if sparse else X, obs=cells().obs, var=var)
    made.write_h5ad(tmp_path / "cells.h5ad")
    with warnings.catch_warnings(action="ignore"):
        made.write_zarr(tmp_path / "cells.zarr")
    lazy = made.copy()
    lazy.X = dask.array.from_array(X, chunks=(16, 3))
    given = anndata.AnnData(sp.csr_matrix(COUNTS.astype(np.float32)), obs=cells().obs, var=pd.DataFrame(index=GENES))
    models = [snb.LinearNB("poisson"), snb.SoftmaxRegression(1.0), snb.LinearNB("categorical")]
    pairs = [(clone(model).fit(COUNTS, KIND), model.fit(given, "obs/kind")) for model in models]
    plain, fitted = pairs[0]
    said = pytest.warns(snb.StreamnbWarning, match="X lacks 3 of the 6 genes .*'gene 2'; they count as 0")
    for form in (made, tmp_path / "cells.h5ad", tmp_path / "cells.zarr", lazy):
        with said if len(columns) == 3 else warnings.catch_warnings():
            for of_matrix, of_cells in pairs:
                np.testing.assert_array_equal(np.asarray(of_cells.predict_proba(form)), of_matrix.predict_proba(known))
            if form is not lazy:
                assert fitted.score(form, "obs/kind") == plain.score(known, KIND)
    with said if len(columns) == 3 else warnings.catch_warnings():
        grown = fitted.partial_fit(made, "obs/kind")
    assert np.array_equal(grown.coef_, plain.partial_fit(known, KIND).coef_)


def test_cells_with_fewer_than_half_of_the_genes_are_refused():
    model = snb.LinearNB("poisson").fit(cells(), "obs/kind")
    few = cells()[:, :2].copy()
    with refused(ValueError, r"X has 2 of the 6 genes .* fewer than half: .*'gene 2'.*not among its var_names"):
        model.predict(few)


def test_genes_of_one_name_are_refused(tmp_path):
    twice = cells()
    with warnings.catch_warnings(action="ignore"):
        twice.var_names = ["gene 0", *GENES[:5]]
        twice.write_h5ad(tmp_path / "twice.h5ad")
    for form, where in ((twice, "^X has"), (tmp_path / "twice.h5ad", "twice.h5ad")):
        with refused(snb.DataError, f"{where}.* several columns 'gene 0'"):
            snb.scan(form, "obs/kind")


def nullable(parent, name):
    """Store strings as pandas 3 does: values and a mask."""
    if isinstance(parent[name], h5py.Group | zarr.Group):  # as newer versions of anndata do
        return
    values = np.asarray(parent[name][:])
    encoded = [v.decode() if isinstance(v, bytes) else str(v) for v in values]
    del parent[name]
    group = parent.create_group(name)
    group.attrs.update({"encoding-type": "nullable-string-array", "encoding-version": "0.1.0"})
    if isinstance(parent, h5py.Group):
        group["values"], group["mask"] = encoded, np.zeros(len(values), bool)
    else:
        for part, held in {"values": np.array(encoded), "mask": np.zeros(len(values), bool)}.items():
            group.create_array(part, data=held)


@pytest.mark.parametrize("form", ["h5ad", "zarr"])
def test_names_and_categories_may_be_nullable_strings(form, tmp_path):
    path = tmp_path / f"cells.{form}"
    made = cells()
    (made.write_h5ad if form == "h5ad" else made.write_zarr)(path)
    expected = snb.LinearNB().fit(path, "obs/kind")
    root = h5py.File(path, "r+") if form == "h5ad" else zarr.open_group(path, mode="r+", use_consolidated=False)
    nullable(root["var"], root["var"].attrs["_index"])
    nullable(root["obs/kind"], "categories")
    root.close() if form == "h5ad" else zarr.consolidate_metadata(path)
    model = snb.LinearNB().fit(path, "obs/kind")
    assert model.feature_names_in_.tolist() == GENES and model.classes_.tolist() == expected.classes_.tolist()
    assert np.array_equal(model.coef_, expected.coef_)


def test_models_keep_their_layer(forms, tmp_path):
    for model in (snb.LinearNBCV("poisson", folds=2), snb.SoftmaxRegression(l2=1.0)):
        model.fit(forms["h5ad"], "obs/kind", layer="counts").save(tmp_path / "m.snb")
        assert snb.load(tmp_path / "m.snb").layer_ == "counts"
        assert model.fit(forms["h5ad"], "obs/kind").layer_ is None


def test_what_is_no_cells_is_refused(forms, tmp_path):
    with refused(ValueError, "layer='counts' is only for AnnData"):
        snb.LinearNB().fit(COUNTS, KIND, layer="counts")
    with refused(TypeError, "view of a backed AnnData"):
        snb.scan(forms["backed"][:9], "obs/kind")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = COUNTS
    with refused(snb.DataError, r"not of AnnData.*\['x'\]"):
        snb.scan(tmp_path / "other.h5", KIND)
    empty = anndata.AnnData(None, obs=cells().obs, layers={"counts": COUNTS})
    with refused(ValueError, r"layers \['counts'\]; name one"):
        snb.scan(empty, "obs/kind")


# ---- matrices in HDF5 ------------------------------------------------------------------------------------------------

MATRIX = np.random.default_rng(0).poisson(0.7, (31, 6)).astype(np.float32)


def written(path):
    matrix = sp.csr_array(MATRIX)
    with h5py.File(path, "w") as file:
        file["dense"] = MATRIX
        for name, kind in (
            ("csr", "csr_matrix"),
            ("csc", "csc_matrix"),
            ("broken", "csr_matrix"),
            ("falls", "csr_matrix"),
        ):
            group = file.create_group(name)
            group.attrs.update({"encoding-type": kind, "encoding-version": "0.1.0", "shape": MATRIX.shape})
            for part in ("data", "indices", "indptr"):
                group[part] = getattr(matrix, part)
        del file["broken/indices"]
        file["falls/indptr"][3] = 10**6
        file["flat"] = MATRIX[0]
    return path


def test_what_holds_no_rows_is_refused(tmp_path, monkeypatch):
    path = written(tmp_path / "a.h5")
    for key, words in (("csc", "csc_matrix.*tocsr"), ("broken", "lacks.*indices"), ("flat", "2-D numbers")):
        with refused(ValueError, f"X: '{key}'", words):
            HDF5Matrix(path, key)
    with refused(snb.DataError, "decreases near row 0"):
        list(HDF5Source(HDF5Matrix(path, "falls"), open_columns(None, None, 31, False)).blocks())
    path.write_bytes(path.read_bytes()[:300])
    with refused(snb.DataError, "cannot be opened as HDF5"):
        HDF5Matrix(path, "csr")
    monkeypatch.setitem(sys.modules, "h5py", None)
    with refused(ImportError, r"streamnb\[cells\]"):
        HDF5Matrix(path, "csr")


@pytest.mark.parametrize("form", FORMS)
def test_raw_is_a_layer_with_genes_of_its_own(form, tmp_path):
    whole = cells()
    made, raw = whole[:, :4].copy(), whole.layers["dense"]
    made.raw = anndata.AnnData(raw, obs=whole.obs, var=whole.var)
    with warnings.catch_warnings(action="ignore"):
        if form != "memory":
            (made.write_zarr if form == "zarr" else made.write_h5ad)(tmp_path / f"cells.{form}")
        X = made if form == "memory" else tmp_path / f"cells.{form}"
        X = anndata.read_h5ad(X, backed="r") if form == "backed" else X
    model = snb.LinearNB().fit(X, "obs/kind", layer="raw")
    assert model.feature_names_in_.tolist() == GENES and model.layer_ == "raw"
    assert np.array_equal(model.stats_.sum, snb.scan(COUNTS, KIND).sum)
    assert (model.predict(X) == snb.LinearNB().fit(COUNTS, KIND).predict(COUNTS)).all()
    assert snb.scan(X, "obs/kind").n_features == 4
    if form == "backed":
        X.file.close()
    with refused(ValueError, "layer='raw' is not a layer"):
        snb.scan(cells(), "obs/kind", layer="raw")
