#!/usr/bin/env bash
# Biopython 1.88: reverse_complement of an RNA sequence gives DNA letters, T in place of U, so that applying it twice
# does not give the sequence back. One would expect RNA, as reverse_complement_rna gives. It matters here because
# reference databases of ribosomal RNA come in both alphabets, and words of one do not match those of the other. Seen:
# "ACGT ACGU". This fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet biopython==1.88
"$folder/venv/bin/python" - <<'PYTHON'
from Bio.Seq import Seq

rna = Seq("ACGU")
plain, named = rna.reverse_complement(), rna.reverse_complement_rna()
print(plain, named)
assert (str(plain), str(named)) == ("ACGT", "ACGU"), (plain, named)
assert plain.reverse_complement() != rna
PYTHON
