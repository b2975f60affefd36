#!/usr/bin/env bash
# anndata 0.12.19: concat(join="outer") fills genes that one of the objects lacks with NaN where X is dense, and with 0
# where it is sparse, also where only one of the two is. One would expect one meaning of a gene that was not measured,
# whatever the layout. It matters here because means and models then depend on whether X was stored as dense or as
# sparse. Seen: "dense: nan, sparse: 0.0, mixed: 0.0". This fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet anndata==0.12.19
"$folder/venv/bin/python" - <<'PYTHON'
import anndata as ad
import numpy as np
import pandas as pd
import scipy.sparse as sp


def cells(name, genes, layout):
    obs, var = pd.DataFrame(index=[name]), pd.DataFrame(index=list(genes))
    return ad.AnnData(layout(np.ones((1, 2), np.float32)), obs=obs, var=var)


def missing(first, second):
    joined = ad.concat([cells("one", "ab", first), cells("two", "bc", second)], join="outer")
    return str(joined[["one"], ["c"]].to_df().iloc[0, 0])


found = missing(np.asarray, np.asarray), missing(sp.csr_matrix, sp.csr_matrix), missing(sp.csr_matrix, np.asarray)
print("dense: {}, sparse: {}, mixed: {}".format(*found))
assert found == ("nan", "0.0", "0.0"), found
PYTHON
