"""The threshold of "unknown" cells: chosen on held-out rows, measured on classes left out, kept with the model."""

import warnings

import anndata
import dask.array
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import streamnb as snb
from tests.support.refusals import refused, refuses

N = 240
KIND = np.array(["B", "NK", "T", "mono"])[np.arange(N) % 4]
OWN = np.where(np.arange(12) % 4 == np.arange(N)[:, None] % 4, 2.0, 1.0)  # classes overlap
X = np.random.default_rng(0).poisson(OWN).astype(np.float32)
WEIGHT = np.random.default_rng(1).choice([0.5, 1.0, 3.0], N)


def cells():
    obs = pd.DataFrame({"kind": KIND, "donor": np.arange(N) // 24, "w": WEIGHT}, index=[f"c{i}" for i in range(N)])
    return anndata.AnnData(X, obs)


def best_of(model, trained, rows):
    """By other means: rows are dropped. Which rows are labelled right, and their highest probabilities."""
    own = clone(model).fit(X[trained], KIND[trained], WEIGHT[trained])
    proba = own.predict_proba(X[rows])
    return own.classes_[proba.argmax(axis=1)] == KIND[rows], proba.max(axis=1)


def highest(p, weight, named):
    """The highest of the values that at least this share of the weight reaches."""
    return max(t for t in p if weight[p >= t].sum() >= named * weight.sum())


@pytest.mark.parametrize("groups", [None, "obs/donor"])
def test_threshold_and_table_are_those_of_models_fitted_to_fewer_rows(groups):
    model = snb.LinearNB("poisson", transform="sqrt").fit(cells(), "obs/kind", "obs/w")
    table = model.choose_unknown_below(cells(), "obs/kind", "obs/w", named=0.8, folds=3, groups=groups, seed=4)
    numbers = snb.fold_numbers(N, 3, seed=4) if groups is None else snb.fold_numbers(10, 3, seed=4)[np.arange(N) // 24]
    without, names = snb.fold_numbers(4, 3, seed=4), np.unique(KIND)
    right, p, unknown = np.zeros(N, bool), np.zeros(N), np.zeros(N, bool)
    for fold in range(3):
        own, new = numbers == fold, np.isin(KIND, names[without == fold])
        right[own], p[own] = best_of(model, ~own, own)
        known, best = best_of(model, ~own & ~new, own & ~new)
        below = highest(best[known], WEIGHT[own & ~new][known], 0.8)
        unknown[new] = best_of(model, ~own & ~new, new)[1] < below
    below = highest(p[right], WEIGHT[right], 0.8)
    assert model.unknown_below_ == pytest.approx(below, rel=1e-12)
    for name in names:
        kind = name == KIND
        sides = (kind, right), (kind & right, p >= below), (kind, unknown)
        expected = [np.average(hit[some], weights=WEIGHT[some]) for some, hit in sides]
        assert table.loc[name].tolist() == pytest.approx(expected, rel=1e-12)


def test_annotate_takes_it_and_files_keep_it(tmp_path):
    adata = cells()
    model = snb.LinearNB().fit(adata, "obs/kind")
    with refused(ValueError, r"unknown_below='auto' takes the threshold that model.choose_unknown_below"):
        model.annotate(adata, unknown_below="auto")
    model.choose_unknown_below(adata, "obs/kind")
    below = model.unknown_below_
    model.save(tmp_path / "m.snb")
    for each in (model, snb.load(tmp_path / "m.snb")):
        assert each.unknown_below_ == below
        found = each.annotate(adata, unknown_below="auto").obs
        assert ((found["predicted"] == "unknown") == (model.predict_proba(adata).max(axis=1) < below)).all()
    for changed in (
        snb.load(tmp_path / "m.snb").refit(penalty=snb.L1(0.1)),
        snb.load(tmp_path / "m.snb").partial_fit(X[:4], KIND[:4]),
        calibrated := snb.load(tmp_path / "m.snb").calibrate(X, KIND),
        snb.load(tmp_path / "m.snb").fit(X, KIND),
    ):
        assert changed.unknown_below_ is None
    calibrated.save(tmp_path / "c.snb")
    for each in (calibrated, snb.load(tmp_path / "c.snb")):
        refuses(ValueError, "calibrated after its fit", each.choose_unknown_below, X, KIND)
    assert calibrated.refit().choose_unknown_below(X, KIND)["named"].notna().all()


def test_cells_in_files_have_the_same_threshold(tmp_path):
    adata, path = cells(), tmp_path / "cells.h5ad"
    with warnings.catch_warnings(action="ignore"):  # of anndata, about its own versions to come
        adata.write_h5ad(path)
    model = snb.LinearNB().fit(adata, "obs/kind")
    expected = model.choose_unknown_below(adata, "obs/kind", "obs/w", groups="obs/donor")
    below = model.unknown_below_
    pd.testing.assert_frame_equal(model.choose_unknown_below(path, "obs/kind", "obs/w", groups="obs/donor"), expected)
    assert model.unknown_below_ == below


def test_calibrated_forms_and_few_classes():
    model = snb.LinearNBCV("gaussian", folds=5, scoring="accuracy", calibration="sigmoid").fit(X, KIND)
    table = model.choose_unknown_below(X, KIND, named=1.0, folds=2)
    assert (table["named"] == 1.0).all() and table["unseen"].notna().all()
    two = np.where(KIND == "B", "B", "other")
    table = snb.LinearNB().fit(X, two).choose_unknown_below(X, two)
    assert table["unseen"].isna().all() and table["named"].between(0.85, 1.0).all()


def test_a_class_of_one_donor_is_labelled_wrong_by_the_others():
    donor = np.where(KIND == "mono", 0, 1 + np.arange(N) % 3)
    model = snb.LinearNBCV("gaussian", scoring="accuracy", calibration="sigmoid").fit(X, KIND)
    table = model.choose_unknown_below(X, KIND, groups=donor, folds=4)
    assert table["right"]["mono"] == 0.0 and np.isnan(table["named"]["mono"]) and table["right"]["B"] > 0.5


def test_bad_arguments_are_refused():
    model = snb.LinearNB().fit(X, KIND)
    of_class = snb.LinearNB(priors=np.full(len(model.classes_), 1.0 / len(model.classes_))).fit(X, KIND)
    for words, call in {
        "named=1.5 should be from 0 to 1": lambda: model.choose_unknown_below(X, KIND, named=1.5),
        "folds=1 should be at least 2": lambda: model.choose_unknown_below(X, KIND, folds=1),
        "classes that are strings": lambda: snb.LinearNB().fit(X, KIND == "B").choose_unknown_below(X, KIND == "B"),
        "models with predict_proba": lambda: snb.MarginClassifier().fit(X, KIND).choose_unknown_below(X, KIND),
        "240.*239|239.*240": lambda: model.choose_unknown_below(X, KIND[1:]),
        "y has .'C'., which the model does not know": lambda: model.choose_unknown_below(
            X, np.where(KIND == "B", "C", KIND)
        ),
        "y has no .'B'., which the model knows": lambda: model.choose_unknown_below(X[KIND != "B"], KIND[KIND != "B"]),
        "without the classes .*priors has shape .*unknown_below=0.5": lambda: of_class.choose_unknown_below(X, KIND),
        "folds=5 are more than the 1 groups": lambda: model.choose_unknown_below(X, KIND, groups=np.zeros(N, int)),
        "folds=241 are more than the 240 rows": lambda: model.choose_unknown_below(X, KIND, folds=241),
        "groups should have one entry for each row": lambda: model.choose_unknown_below(X, KIND, groups=[1, 2]),
    }.items():
        refuses(ValueError, words, call)
    refuses(TypeError, "X is in Dask", lambda: model.choose_unknown_below(dask.array.from_array(X), KIND))
    refuses(NotFittedError, "not fitted yet", lambda: snb.LinearNB().choose_unknown_below(X, KIND))
    parity, donor = np.arange(N) % 2, np.arange(N) // 2 % 2
    other_way = np.where(parity == donor, "B", "T")  # what one donor teaches is wrong for the other
    model = snb.LinearNB().fit(np.eye(2)[parity], other_way)
    with refused(ValueError, "no held-out row is labelled correctly"):
        model.choose_unknown_below(np.eye(2)[parity], other_way, groups=donor, folds=2)
    assert model.unknown_below_ is None
