"""Scores of raw rows by several models."""

import json

import numpy as np
import pandas as pd
import pytest

import streamnb as snb
from streamnb.corpora.scoring import ScoringModels, log_odds, scores_of
from streamnb.rows.texts import of_strings
from tests.support.corpora import lines, model

TEXTS = [json.loads(row)["text"] for row in lines(30)]


def test_odds_are_those_of_probabilities_and_do_not_saturate():
    fitted = model()
    long = [" ".join(TEXTS[:n]) * 50 for n in (1, 10, 20)]
    X = fitted.encoding_.ngrams(of_strings(TEXTS + long))
    logs = fitted.predict_log_proba(X)
    for k in range(2):
        found = log_odds(fitted, logs, k)
        np.testing.assert_allclose(scores_of(found), fitted.predict_proba(X)[:, k], rtol=1e-12)
        np.testing.assert_allclose(found, fitted.decision_function(X) * (1 if k else -1), rtol=1e-12)
    assert len(set(log_odds(fitted, logs, 1)[-3:])) == 3


def test_odds_of_many_classes_and_margins():
    rng = np.random.default_rng(0)
    X, y = rng.poisson(1.0, (60, 5)), np.arange(60) % 3
    fitted = snb.LinearNB("poisson").fit(X, y)
    proba = fitted.predict_proba(X)
    found = np.column_stack([log_odds(fitted, np.log(proba), k) for k in range(3)])
    np.testing.assert_allclose(scores_of(found), proba, rtol=1e-9)
    assert log_odds(fitted, np.array([[-np.inf, 0.0, -np.inf]]), 0) == -np.inf
    margins = snb.MarginClassifier().fit(X, y)
    assert (log_odds(margins, margins.decision_function(X), 2) == margins.decision_function(X)[:, 2]).all()


def test_each_of_several_labels_of_a_row_has_odds_of_its_own():
    Y = np.array([[k % 2, k % 3 == 0, 1] for k in range(30)])
    Y[:3, 2] = 0
    fitted = snb.LinearNB("multinomial").fit(snb.text(TEXTS, n_features=1 << 10), Y)
    X = fitted.encoding_.ngrams(of_strings(TEXTS))
    for k in range(3):
        found = log_odds(fitted, fitted.predict_log_proba(X), k)
        np.testing.assert_allclose(scores_of(found), fitted.predict_proba(X)[:, k], rtol=1e-9)


def test_models_of_one_text_share_its_columns_and_others_make_their_own():
    models = ScoringModels.of({"a": model(), "b": model(), "c": model(words=(1, 2))}, "text")
    made = models.matrices(of_strings(TEXTS), 0)
    assert made["a"] is made["b"] and made["c"].n_values > made["a"].n_values
    assert models.column("b.good", "where") == ("b", 0)
    with pytest.raises(ValueError, match=r"'good' is a label of several models; name the model, too: a.good"):
        models.column("good", "where")
    with pytest.raises(ValueError, match=r"label: 'bad' is not a label of the model; its labels are \['good', 'raw'"):
        models.column("bad", "label")


def test_models_that_make_no_columns_are_refused():
    numbers = snb.LinearNB().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    with pytest.raises(ValueError, match="model is a LinearNB that was not fitted on texts or a table"):
        ScoringModels.of(numbers)
    frame = pd.DataFrame({"a": ["x", "y"] * 5, "y": [0, 1] * 5})
    table = snb.LinearNB("bernoulli").fit(snb.table(frame, "y"))
    with pytest.raises(ValueError, match="several models can score only texts"):
        ScoringModels.of({"a": table, "b": table})
    with pytest.raises(ValueError, match="text='t' names a field of texts"):
        ScoringModels.of(table, "t")
    with pytest.raises(ValueError, match="has no model"):
        ScoringModels.of({})
