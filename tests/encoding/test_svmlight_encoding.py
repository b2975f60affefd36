"""A model that was fitted on a svmlight file reads others as that one."""

import numpy as np
import pytest

import streamnb as snb


def test_further_files_are_read_as_the_first(tmp_path):
    train, new = tmp_path / "train.svm", tmp_path / "new.svm"
    train.write_text("0 0:3 4:1\n1 1:2 3:1\n0 0:1 4:2\n1 1:4\n")
    new.write_text("1 1:2\n0 4:1\n")  # neither the feature 0 nor the number of features can be told
    model = snb.LinearNB("poisson").fit(train)
    model.save(tmp_path / "m.snb")
    for fitted in (model, snb.load(tmp_path / "m.snb")):
        assert fitted.predict(new).tolist() == [1.0, 0.0] and fitted.score(str(new)) == 1.0
        assert fitted.predict(snb.svmlight(new, zero_based=True, n_features=5)).tolist() == [1.0, 0.0]
        assert fitted.predict(np.eye(5)[[1, 4]]).tolist() == [1.0, 0.0]
        assert fitted.predict(snb.text(["red"], vocabulary=["red", "a", "b", "c", "d"])).shape == (1,)
        with pytest.raises(ValueError, match=r"zero_based=False, and what was fitted with True"):
            fitted.predict(snb.svmlight(new))
    new.write_text("1 9:2\n")
    with pytest.raises(ValueError, match="n_features=5, but X"):
        model.predict(new)
    whole = snb.LinearNB("poisson").fit(train).partial_fit(train)
    np.testing.assert_array_equal(whole.stats_.sum, 2 * model.stats_.sum)
