"""Which columns of a table are hashed, and the n-grams of its texts."""

import numpy as np
import pandas as pd
import scipy.sparse as sp

import streamnb as snb
from tests.support.refusals import refused


def test_the_columns_of_most_values_share_a_hash_space():
    rng = np.random.default_rng(6)
    sizes = {"a": 90, "b": 9, "c": 60}
    frame = pd.DataFrame({name: rng.integers(0, size, 400).astype(str) for name, size in sizes.items()})
    frame["n"], frame["y"] = rng.normal(size=400), rng.integers(0, 2, 400)
    frame.loc[:9, "a"] = None
    rows = snb.table(frame, "y", hash_features=32, bins={"n": None})
    assert rows.feature_names.tolist() == [*(f"b={k}" for k in range(9)), "n", *(f"hash {k}" for k in range(32))]
    assert rows.encoding.kinds == [("categorical", 9), ("gaussian", 1), ("multinomial", 32)]
    (block,) = rows.blocks()
    hashed = sp.csr_array(block.X[:3], shape=(400, 42)).toarray()[:, 10:]
    assert set(np.unique(hashed)) == {0.0, 1.0} and set(hashed.sum(axis=1)) == {1.0, 2.0}  # two of a row may meet
    assert snb.LinearNB("auto").fit(rows).coef_.shape == (1, 42)
    more = snb.table(frame, "y", hash_features=128, bins={"n": None}).feature_names.tolist()
    assert {"b=3", "c=7", "hash 127"} <= {*more} and "a is missing" not in more
    assert "hash 0" not in snb.table(frame, "y", hash_features=256).feature_names.tolist()


def test_texts_of_a_table_have_the_n_grams_that_are_named(tmp_path):
    texts = ["red wine", "black tea", "white wine", "green tea"]
    frame = pd.DataFrame({"body": texts, "y": [1, 0, 1, 0]})
    for options in ({"words": (1, 2)}, {"words": None, "chars": (1, 3)}, {"words": (1, 1), "bytes": 2}):
        rows = snb.table(frame, "y", text={"body": options}, hash_features=2**10)
        (block,), (twin,) = rows.blocks(), snb.text(texts, n_features=2**10, **options).blocks()
        for mine, theirs in zip(block.X[:3], twin.X[:3], strict=True):
            np.testing.assert_array_equal(mine, theirs)
    snb.LinearNB("multinomial").fit(rows).save(tmp_path / "m.snb")
    assert snb.load(tmp_path / "m.snb").predict(frame).tolist() == [1, 0, 1, 0]
    for wrong in ({"body": {"word": (1, 2)}}, {"body": (1, 2)}):
        with refused(ValueError, "'body' should map to options", "words, chars, bytes"):
            snb.table(frame, "y", text=wrong)
