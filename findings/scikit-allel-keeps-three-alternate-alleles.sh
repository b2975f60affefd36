#!/usr/bin/env bash
# scikit-allel 1.3.13: read_vcf keeps three alternate alleles of a variant and two chromosome copies of a sample, and
# drops the others without a word, while genotypes still point at the fourth and fifth allele, which have no name.
# Its parameter numbers= keeps more. One would expect as many as the file has, or a warning. It matters here because
# counts of alleles and of copies, which are features, come out too small for just the most variable places. Seen:
# "5 alleles in the file, 3 kept, genotype 0/5; 0/1/1 becomes 0/1". This fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet scikit-allel==1.3.13 setuptools
cd "$folder"
"$folder/venv/bin/python" -W error - <<'PYTHON'
import io

import allel

lines = [
    "##fileformat=VCFv4.2",
    "##contig=<ID=1>",
    '##FORMAT=<ID=GT,Number=1,Type=String,Description="genotype">',
    "\t".join("#CHROM POS ID REF ALT QUAL FILTER INFO FORMAT first".split()),
    "\t".join("1 10 . A C,G,T,CA,CC . PASS . GT 0/5".split()),
    "\t".join("1 20 . A C . PASS . GT 0/1/1".split()),
]
read = allel.read_vcf(io.BytesIO("\n".join(lines).encode() + b"\n"))
kept, genotypes = read["variants/ALT"][0].tolist(), read["calldata/GT"][:, 0].tolist()
shown = ["/".join(map(str, genotype)) for genotype in genotypes]
print(f"5 alleles in the file, {len(kept)} kept, genotype {shown[0]}; 0/1/1 becomes {shown[1]}")
assert kept == ["C", "G", "T"] and genotypes == [[0, 5], [0, 1]]
PYTHON
