"""Taxonomy of sequences by 7-mers: fits, predictions and bootstrapped confidence beside scikit-learn.

Sequences are made by a model of mutation. A root of random letters has orders, these have genera, and these species:
each descendant has its letters replaced at random with a rate of its level. References are copies of their species,
and reads copies of references, with a few more.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

import streamnb as snb
from benchmarks.peers.table import MEMORY, Row, Size, ratios

LETTERS = np.frombuffer(b"ACGT", np.uint8)
LENGTH = 1500
GENERA, SPECIES = 10, 10  # of an order, and of a genus
RATES = 0.15, 0.06, 0.02, 0.005, 0.01  # of orders, genera, species, references and reads
REFERENCES = 5  # of a species
SMOOTHING, CHUNK = 0.001, 20_000  # as q2-feature-classifier has them, and its columns and n-grams of characters
VECTORIZER = {"analyzer": "char_wb", "ngram_range": (7, 7), "n_features": 8192, "alternate_sign": False}


def mutated(parents: np.ndarray, copies: int, rate: float, rng: np.random.Generator) -> np.ndarray:
    """Copies of each parent, with letters replaced at random."""
    found = np.repeat(parents, copies, axis=0)
    places = rng.random(found.shape, np.float32) < rate
    found[places] = rng.choice(LETTERS, int(places.sum()))
    return found


def drawn(n_taxa: int) -> tuple[np.ndarray, list[str], np.ndarray]:
    """References, their labels, and reads of a fifth of their taxa."""
    rng = np.random.default_rng(0)
    orders = mutated(rng.choice(LETTERS, (1, LENGTH)), -(-n_taxa // (GENERA * SPECIES)), RATES[0], rng)
    species = mutated(mutated(orders, GENERA, RATES[1], rng), SPECIES, RATES[2], rng)[:n_taxa]
    names = [f"k__A;o__{i // 100};g__{i // 10};s__{i}" for i in range(n_taxa)]
    references = mutated(species, REFERENCES, RATES[3], rng)
    reads = mutated(references[rng.permutation(len(references))[: len(references) // 20]], 1, RATES[4], rng)
    return references, [name for name in names for _ in range(REFERENCES)], reads


def write_fasta(path: Path, sequences: np.ndarray, labels: list[str] | None = None) -> Path:
    """A record a sequence, with lines of 100 letters."""
    with path.open("wb") as file:
        for i, letters in enumerate(sequences):
            lines = b"\n".join(letters[at : at + 100].tobytes() for at in range(0, LENGTH, 100))
            file.write(f">s{i} {labels[i] if labels else ''}\n".encode() + lines + b"\n")
    return path


def ours(path: str) -> snb.LinearNB:
    """A model of the sequences of a file, of as many columns as the other one."""
    rows = snb.sequences(path, "header", both_strands=True, n_threads=1)
    return snb.LinearNB("multinomial", smoothing=SMOOTHING).fit(rows, n_threads=1, progress=False)


def theirs(path: str) -> MultinomialNB:
    """The same of scikit-learn, in chunks."""
    headers, texts = read_fasta(path)
    labels = np.array([header.partition(" ")[2] for header in headers])
    model, vectorizer = MultinomialNB(alpha=SMOOTHING, fit_prior=False), HashingVectorizer(**VECTORIZER)
    for start in range(0, len(texts), CHUNK):
        X = vectorizer.transform(texts[start : start + CHUNK])
        model.partial_fit(X, labels[start : start + CHUNK], classes=np.unique(labels))
    return model


def read_fasta(path: str) -> tuple[list[str], list[str]]:
    """Headers and sequences of a file, as Python reads them."""
    records = [record.split("\n", 1) for record in Path(path).read_text()[1:].split("\n>")]
    return [header for header, _ in records], [letters.replace("\n", "") for _, letters in records]


FIT = """
import json, sys, time
from benchmarks.peers import sequences
fit = getattr(sequences, sys.argv[1])
fit(sys.argv[2])
start = time.process_time()
fit(sys.argv[3])
seconds = time.process_time() - start
peak = int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0])
print(json.dumps([seconds, peak]))
"""


def fit_in_a_process(side: str, *paths: Path) -> tuple[float, int]:
    """CPU seconds of the fit of the second file, and the peak of memory in KiB; the first one compiles."""
    command = [sys.executable, "-c", FIT, side, *map(str, paths)]
    seconds, peak = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return seconds, peak


def sequence_rows(size: Size, folder: Path) -> Iterator[Row]:
    """One thread each, in CPU seconds; the files are read anew each time."""
    references, labels, reads = drawn(max(size.n_rows // 60, 20))
    path, read = write_fasta(folder / "refs.fasta", references, labels), write_fasta(folder / "reads.fasta", reads)
    few = write_fasta(folder / "few.fasta", references[:200], labels[:200])
    fits = [fit_in_a_process(side, few, path) for side in ("theirs", "ours")]
    what = f"of {len(references):,} sequences of {LENGTH:,} letters, {len(set(labels)):,} taxa"
    peer = "MultinomialNB.partial_fit on HashingVectorizer"
    yield Row(f"fit {what}, 8,192 columns", peer, 20, 60, fits[0][0] / fits[1][0])
    yield Row(f"peak memory of the process of that fit, {fits[1][1] / 1024:.0f} MiB", peer, 0.5, 0.25,
              fits[1][1] / fits[0][1], MEMORY)  # fmt: skip
    model, peers = ours(str(path)), theirs(str(path))
    vectorizer = HashingVectorizer(**VECTORIZER)

    def predict() -> None:
        peers.predict(vectorizer.transform(read_fasta(str(read))[1]))

    def label() -> None:
        model.predict(snb.sequences(read, both_strands=True, n_threads=1))

    yield Row(f"labels of {len(reads):,} reads", "HashingVectorizer and predict", 3, 15, timed(predict, label, size))
    yield from pipeline_rows(peers, str(path), str(read), fits[0][0], size)
    some = reads[: max(len(reads) // 5, 1)]
    few = write_fasta(folder / "few_reads.fasta", some)
    figure = timed(lambda: bootstrapped(peers, str(few)), lambda: model.predict_ranks(str(few)), size)
    yield Row(f"confidence of {len(some):,} reads by 100 draws", "the same, in Python", 10, 50, figure)


def pipeline_rows(peers: MultinomialNB, path: str, read: str, peer_seconds: float, size: Size) -> Iterator[Row]:
    """A pipeline of scikit-learn with our steps, on strings in memory."""
    (headers, texts), (_, letters) = read_fasta(path), read_fasta(read)
    kmers, vectorizer = snb.KMerVectorizer(both_strands=True, n_threads=1), HashingVectorizer(**VECTORIZER)
    pipeline = make_pipeline(kmers, Normalizer(), snb.MultinomialNB(alpha=SMOOTHING, fit_prior=False))
    start = time.process_time()
    pipeline.fit(texts, [header.partition(" ")[2] for header in headers])
    peer, steps = "HashingVectorizer and MultinomialNB", "KMerVectorizer, Normalizer and MultinomialNB"
    yield Row(f"fit of a pipeline of {steps}", peer, 5, 10, peer_seconds / (time.process_time() - start))
    figure = timed(lambda: vectorizer.transform(letters), lambda: kmers.transform(letters), size)
    yield Row(f"7-mers of {len(letters):,} reads by KMerVectorizer", "HashingVectorizer", 5, 15, figure)
    figure = timed(
        lambda: peers.predict_proba(vectorizer.transform(letters)), lambda: pipeline.predict_proba(letters), size
    )
    yield Row(f"probabilities of {len(letters):,} reads by that pipeline", peer, 2, 5, figure)


def bootstrapped(model: MultinomialNB, path: str, draws: int = 100, at_once: int = 10) -> list[list[float]]:
    """The confidence of each rank of each read, from draws of an eighth of its 7-mers, some reads at once."""
    X = HashingVectorizer(**VECTORIZER, norm=None).transform(read_fasta(path)[1])
    best, rng, found = model.predict(X), np.random.default_rng(0), []
    for first in range(0, X.shape[0], at_once):
        rows = range(first, min(first + at_once, X.shape[0]))
        units = [np.repeat(X[i].indices, X[i].data.astype(int)) for i in rows]
        drawn = [rng.choice(of_row, (draws, len(of_row) // 8)) for of_row in units]
        ends = np.cumsum([0] + [part.shape[1] for part in drawn for _ in range(draws)])
        columns = np.concatenate([part.ravel() for part in drawn])
        counts = sp.csr_array((np.ones(len(columns)), columns, ends), shape=(len(ends) - 1, X.shape[1]))
        labels = [label.split(";") for label in model.predict(counts)]
        for i in rows:
            names, of_row = best[i].split(";"), labels[(i - first) * draws : (i - first + 1) * draws]
            ranks = range(1, len(names) + 1)
            found.append([np.mean([label[:rank] == names[:rank] for label in of_row]) for rank in ranks])
    return found


def timed(peer: Callable[[], object], own: Callable[[], object], size: Size) -> float:
    return ratios(peer, [own], min(size.repeats, 3), time.process_time)[0]
