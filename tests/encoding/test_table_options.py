"""Which columns of a table are hashed."""

import numpy as np
import pandas as pd
import scipy.sparse as sp

import streamnb as snb


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
