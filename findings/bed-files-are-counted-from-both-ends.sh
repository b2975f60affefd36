#!/usr/bin/env bash
# bed-reader 1.1.0, pandas-plink 2.3.2: of the same PLINK .bed file, one counts the first allele of the .bim file and the
# other the second, both by default, so that a homozygous person is 2 in one and 0 in the other. pandas-plink calls the
# first allele a0 and counts a1. One would expect the same numbers of both, or a warning. It matters here
# because a model that was fitted on what one of them reads has its weights turned round on what the other reads. Seen:
# "bed-reader 0 1 2, pandas-plink 2 1 0". This fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet bed-reader==1.1.0 pandas-plink==2.3.2
cd "$folder"
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import numpy as np
from bed_reader import open_bed, to_bed
from pandas_plink import read_plink

names = {"iid": ["1", "2", "3"], "sid": ["s"], "allele_1": ["A"], "allele_2": ["G"]}
to_bed("rows.bed", np.array([[0.0], [1.0], [2.0]]), properties=names)
first = open_bed("rows.bed").read()[:, 0].astype(int)
variants, _, counts = read_plink("rows", verbose=False)
second = counts.compute()[0].astype(int)
print("bed-reader", *first, end=", ")
print("pandas-plink", *second)
assert first.tolist() == [0, 1, 2] and second.tolist() == [2, 1, 0]
assert (variants.a0[0], variants.a1[0]) == ("A", "G")
PYTHON
