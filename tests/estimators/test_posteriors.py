"""Posterior, evidence and the prior's strength of a fitted classifier."""

import numpy as np
import pandas as pd
import pytest

import streamnb as snb
from streamnb.problem.families import as_family
from streamnb.solving.posteriors import log_evidence, strength

X = pd.DataFrame({"a": [1, 1, 0, 0, 3], "b": [0, 2, 1, 0, 1]})
Y = ["u", "u", "v", "v", "v"]


def test_a_classifier_knows_its_posterior_and_evidence(tmp_path):
    model = snb.LinearNB("poisson", snb.L1(0.1), smoothing="evidence").fit(X, Y)
    s = strength(model.stats_, as_family("poisson"), "posterior_mean")
    assert model.smoothing_ == s
    assert model.log_evidence() == log_evidence(model.stats_, as_family("poisson"), s, "posterior_mean", None)
    table = model.posterior(interval=0.5)
    assert table["feature"].tolist() == ["a", "a", "b", "b"] and table["class"].tolist() == ["u", "v"] * 2
    mean = model.stats_.sum.sum(axis=0) / 5
    np.testing.assert_allclose(
        table["mean"], ((model.stats_.sum + s * mean) / (model.stats_.weight[:, None] + s)).T.ravel()
    )
    model.save(tmp_path / "m.snb")
    again = snb.load(tmp_path / "m.snb")
    assert again.smoothing_ == s and (again.coef_ == model.coef_).all()
    other = model.refit(smoothing=2.0, class_weight={"u": 3.0})
    assert other.smoothing_ == 2.0 and other.posterior(0.5)["mean"].tolist() != table["mean"].tolist()


def test_without_a_prior_there_is_neither():
    with pytest.raises(ValueError, match=r"posterior\(\) is of the values that were scanned, which idf=True"):
        snb.LinearNB("poisson", idf=True).fit(X, Y).posterior()
    with pytest.raises(ValueError, match="needs a conjugate prior"):
        snb.LinearNB("gaussian").fit(X, Y).posterior()
    with pytest.raises(TypeError, match=r"smoothing='evidense' should be 'auto', a number, a prior .*, 'evidence' or"):
        snb.LinearNB("poisson", smoothing="evidense").fit(X, Y)
