"""What is remembered of the rows of a fit: their names and how they were made; a fit that fails changes nothing."""

import numpy as np
import pandas as pd
import pytest

import streamnb as snb

FRAME = pd.DataFrame({"a": [3.0, 0.0, 2.0, 1.0], "b": [0.0, 3.0, 2.0, 4.0]})
Y = ["cat", "dog", "dog", "cat"]
FITTED = [snb.LinearNB(), snb.MultinomialNB(), snb.SoftmaxRegression(max_passes=3), snb.FeatureSelector(k=1)]


@pytest.mark.filterwarnings("ignore:max_passes")
@pytest.mark.parametrize("model", FITTED, ids=lambda model: type(model).__name__)
def test_a_fit_that_fails_leaves_names_and_what_was_learned(model):
    model.fit(FRAME, Y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(pd.DataFrame({"c": [np.nan, 0.0]}), ["cat", "dog"])
    assert vars(model) == before and model.feature_names_in_.tolist() == ["a", "b"]


@pytest.mark.filterwarnings("ignore:max_passes")
@pytest.mark.parametrize("model", FITTED, ids=lambda model: type(model).__name__)
def test_names_layer_and_encoding_are_kept_in_a_file(model, tmp_path):
    model.fit(FRAME, Y).save(tmp_path / "m.snb")
    again = snb.load(tmp_path / "m.snb")
    assert again.feature_names_in_.tolist() == ["a", "b"] and again.layer_ is None and again.encoding_ is None
    texts = ["good day", "bad night", "good night"]
    of_texts = snb.LinearNB().fit(texts, ["+", "-", "+"])
    of_texts.save(tmp_path / "t.snb")
    assert snb.load(tmp_path / "t.snb").encoding_ == of_texts.encoding_ is not None


def test_rows_with_other_columns_are_refused():
    with pytest.raises(ValueError, match="feature names"):
        snb.LinearNB().fit(FRAME, Y).predict(FRAME[["b", "a"]])
