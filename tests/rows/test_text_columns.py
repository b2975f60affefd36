"""Texts in a column of Parquet and Arrow IPC files."""

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import streamnb as snb
from streamnb.core.messages import DataError

TEXTS = [f"word{k % 7} word{k % 3}" for k in range(50)]


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_they_are_the_same_rows_as_in_memory(ending, tmp_path):
    table = pa.table({"body": TEXTS, "y": [k % 3 for k in range(50)], "w": np.linspace(0.5, 1.0, 50)})
    for k, part in enumerate((table[:20], table[20:])):
        if ending == "parquet":
            pq.write_table(part, tmp_path / f"{k}.parquet", row_group_size=7)
        else:
            feather.write_feather(part, str(tmp_path / f"{k}.feather"), chunksize=7)
    rows = snb.text(str(tmp_path / f"*.{ending}"), "body", y="y", weight="w", words=(1, 2), n_features=1 << 8)
    memory = snb.text(TEXTS, y=table["y"].to_numpy(), weight=table["w"].to_numpy(), words=(1, 2), n_features=1 << 8)
    fitted, same = (snb.LinearNB("multinomial").fit(one) for one in (rows, memory))
    np.testing.assert_array_equal(fitted.coef_, same.coef_)
    assert fitted.predict(str(tmp_path / f"1.{ending}")).tolist() == same.predict(TEXTS[20:]).tolist()
    blocks = list(rows.blocks(13, 31))
    assert (blocks[0].first_row, sum(block.n_rows for block in blocks)) == (13, 18)
    np.testing.assert_array_equal(rows.named("w", "sample_weight"), table["w"].to_numpy())


def test_what_is_no_text_is_named(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": ["x", None, "z"], "n": [1, 2, 3]}), path)
    with pytest.raises(ValueError, match="text=None, but the files are tables; name the column"):
        snb.text(path)
    with pytest.raises(ValueError, match="text='b' is none of the columns"):
        snb.text(path, "b")
    with pytest.raises(DataError, match="row 1 has no text in 'a'"):
        list(snb.text(path, "a").blocks())
    with pytest.raises(TypeError, match="should hold strings"):
        list(snb.text(path, "n").blocks())
