"""Which species is a read of? From a FASTA file and a table of taxa to names that go as deep as they are sure.

    python examples/taxonomy.py [refs.fasta.gz tax.tsv reads.fastq.gz]

Without files it makes some by a model of mutation: a root of random letters has families, these have genera, and these
species; each descendant has its letters replaced at random, fewer at each rank. Reads are parts of sequences with
errors, some of them of species that the references lack: their genus can be known, their species cannot.
"""

import gzip
import sys
import tempfile
from pathlib import Path

import numpy as np

import streamnb as snb

LETTERS = np.array(list("ACGT"))
LENGTH, OF_READ, ERRORS = 900, 250, 0.005
RATES = {"family": 0.15, "genus": 0.06, "species": 0.02}


def mutated(letters, rate, rng):
    """A copy with letters replaced at random."""
    return np.where(rng.random(len(letters)) < rate, rng.choice(LETTERS, len(letters)), letters)


def species_of(rng, children=(4, 4, 4)):
    """The letters of each species by its taxon, "k__Bacteria; f__0; g__0.1; s__0.1.3"."""
    found = {"k__Bacteria": rng.choice(LETTERS, LENGTH)}
    for rate, n, sign in zip(RATES.values(), children, "fgs"):
        found = {
            f"{taxon}; {sign}__{'.'.join([*taxon.rpartition('__')[2].split('.'), str(i)]).removeprefix('Bacteria.')}":
            mutated(letters, rate, rng)
            for taxon, letters in found.items()
            for i in range(n)
        }  # fmt: skip
    return found


def written(folder, n_references=5, n_reads=300):
    """References, their taxa, and reads of all species; the references lack every fourth species."""
    rng = np.random.default_rng(0)
    species = species_of(rng)
    known = [taxon for i, taxon in enumerate(species) if i % 4]
    taxa = [taxon for taxon in known for _ in range(n_references)]
    records = (f">r{i}\n{''.join(mutated(species[taxon], 0.002, rng))}\n" for i, taxon in enumerate(taxa))
    (folder / "refs.fasta.gz").write_bytes(gzip.compress("".join(records).encode()))
    (folder / "tax.tsv").write_text("Feature ID\tTaxon\n" + "".join(f"r{i}\t{taxon}\n" for i, taxon in enumerate(taxa)))
    reads = []
    for i in range(n_reads):
        taxon, begin = list(species)[rng.integers(len(species))], rng.integers(LENGTH - OF_READ)
        letters = "".join(mutated(species[taxon][begin : begin + OF_READ], ERRORS, rng))
        reads.append(f"@{i}|{taxon.replace(' ', '')}\n{letters}\n+\n{'I' * OF_READ}\n")
    (folder / "reads.fastq.gz").write_bytes(gzip.compress("".join(reads).encode()))
    return set(known)


def main(refs, taxa, reads, known=None):
    """Fit, predict, and where the truth is known, say how much of it was found."""
    model = snb.LinearNB("multinomial", smoothing=0.001).fit(snb.sequences(refs, taxa, k=7))
    found = model.predict_ranks(reads, confidence=0.7)
    print(found.head(3).to_string(index=False))
    if known is None:
        return
    truth = found["read"].str.partition("|")[2].str.replace(";", "; ")
    right = np.array([whole.startswith(taxon) for whole, taxon in zip(truth, found["taxon"])])
    depth, lacking = found["taxon"].str.count(";"), ~truth.isin(known)
    for rank, n in zip(RATES, range(1, 4)):
        deep = depth >= n
        named, of_others, of_named = deep[~lacking].mean(), deep[lacking].mean(), right[deep & ~lacking].mean()
        print(f"{rank}: {named:.3f} of reads of known species named, {of_named:.3f} right; of others {of_others:.3f}")


if __name__ == "__main__":
    if len(sys.argv) == 4:
        main(*sys.argv[1:])
    else:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            known = written(folder)
            main(folder / "refs.fasta.gz", folder / "tax.tsv", folder / "reads.fastq.gz", known)
