"""`predict_ranks`: taxa to the last rank that is sure, the same for any blocks, beside a bootstrap in Python."""

import numpy as np
import pytest
from sklearn.naive_bayes import MultinomialNB

import streamnb as snb
from streamnb.models import ranks
from streamnb.rows import line_files
from tests.support.reference_kmers import fasta, fastq
from tests.support.refusals import refuses

RNG = np.random.default_rng(0)


def mutated(letters, rate):
    return "".join(RNG.choice(list("ACGT")) if RNG.random() < rate else letter for letter in letters)


GENERA = ["".join(RNG.choice(list("ACGT"), 300)) for _ in range(3)]
SPECIES = [mutated(genus, 0.01) for genus in GENERA for _ in range(2)]
LABELS = [f"k__A;g__{i // 2};s__{i}" for i in range(6)]
READS = [mutated(SPECIES[i % 6], 0.03)[:150] for i in range(30)]


@pytest.fixture(scope="module")
def model():
    return snb.LinearNB("multinomial", smoothing=0.1).fit(snb.sequences(SPECIES * 2, LABELS * 2, k=5))


def test_taxa_are_cut_at_the_last_rank_that_is_sure(model, tmp_path):
    (tmp_path / "reads.fq").write_bytes(fastq(READS))
    found = model.predict_ranks(tmp_path / "reads.fq", confidence=0.95)
    assert found["read"].tolist() == [f"s{i}" for i in range(30)]
    whole = model.predict(READS)
    assert all(label.startswith(taxon) for label, taxon in zip(whole, found["taxon"]))
    assert set(found["taxon"].str.count(";")) == {1, 2} and (found["confidence"] >= 0.95).all()
    everything = model.predict_ranks(READS, confidence=0.0)
    assert everything["taxon"].tolist() == whole.tolist() and everything["read"].tolist() == list(range(30))
    assert (everything["confidence"] < 0.95).any()


def test_results_do_not_depend_on_blocks_and_order_of_tiles(model, tmp_path, monkeypatch):
    (tmp_path / "reads.fa").write_bytes(fasta(READS))
    expected = model.predict_ranks(READS, seed=3)
    monkeypatch.setattr(line_files, "PIECE_BYTES", 700)
    monkeypatch.setattr(ranks, "DRAWN", 4000)  # few rows at a time
    found = model.predict_ranks(snb.sequences(tmp_path / "reads.fa", k=5, n_threads=3), seed=3)
    assert found.drop(columns="read").equals(expected.drop(columns="read"))
    assert not model.predict_ranks(READS, seed=4)["confidence"].equals(expected["confidence"])


def test_confidence_is_that_of_a_bootstrap_in_python(model):
    rows = snb.sequences(SPECIES * 2, LABELS * 2, k=5)
    X, queries = (next(r.blocks()).X for r in (rows, snb.sequences(READS, k=5)))
    import scipy.sparse as sp

    X, queries = (sp.csr_array(one[:3], shape=(len(one[2]) - 1, one[3])) for one in (X, queries))
    theirs = MultinomialNB(alpha=0.1).fit(X, LABELS * 2)
    found = model.predict_ranks(READS, confidence=0.0, draws=400)
    for i in range(0, 30, 7):
        row = queries[[i]].toarray()[0]
        units = np.repeat(np.arange(len(row)), row.astype(int))
        drawn = np.zeros((400, len(row)))
        for one in drawn:
            np.add.at(one, RNG.choice(units, len(units) // 8), 1)
        scores = theirs.predict_joint_log_proba(drawn)
        best = scores > scores.max(axis=1, keepdims=True) - 1e-9  # one or several, which share the draw
        share = np.mean((best / best.sum(axis=1, keepdims=True))[:, theirs.classes_ == theirs.predict(queries[[i]])])
        assert abs(share - found["confidence"][i]) < 0.12  # 3.4 standard errors of the difference


def test_a_read_without_kmers_is_unassigned(model):
    found = model.predict_ranks(["NNNNNNNN", READS[0]])
    assert found["taxon"][0] == "Unassigned" and found["confidence"][0] == 0.0


def test_models_and_rows_that_are_no_counts_are_refused(model):
    X, y = np.array([[3.0, 0.5], [0.0, 4.0], [1.0, 1.0]]), ["a", "b", "c"]
    for other in (snb.LinearNB("multinomial", idf=True), snb.LinearNB("poisson"), snb.LinearNB("gaussian")):
        refuses(ValueError, "draws from counts: it needs a multinomial model", other.fit(X, y).predict_ranks, X)
    refuses(ValueError, "no whole number", lambda: snb.LinearNB("multinomial").fit(X, y).predict_ranks(X))
    for wrong in ({"confidence": 2.0}, {"draws": 0}, {"seed": 0.5}):
        refuses((ValueError, TypeError), next(iter(wrong)), model.predict_ranks, READS, **wrong)


def test_two_classes_and_reads_without_a_kmer():
    rows = snb.sequences(["ACGTACGTACGTA", "GGGGTTTTGGGGTTT"], ["A;b", "A;c"], k=3)
    model = snb.LinearNB("multinomial").fit(rows)
    found = model.predict_ranks(["GGGGTTTTGG", "NNN"], confidence=0.0)
    assert found["taxon"].tolist() == ["A;c", "Unassigned"]


def test_taxa_that_cannot_be_told_apart_share_a_draw():
    a, b = GENERA[:2]
    one = snb.LinearNB("multinomial").fit(snb.sequences([a, a, b], ["Archaea;X", "Bacteria;Y", "Bacteria;Z"], k=7))
    assert one.predict_ranks([a]).values.tolist() == [[0, "Unassigned", 0.5]]
    labels = [f"B;G;s{i:02}" for i in range(50)]  # in two tiles
    many = snb.LinearNB("multinomial").fit(snb.sequences([a] * 50 + [b], [*labels, "B;H;t"], k=7))
    assert many.predict_ranks([a, b]).values.tolist() == [[0, "B;G", 1.0], [1, "B;H;t", 1.0]]
    assert many.predict_ranks([a], confidence=0)["confidence"][0] == pytest.approx(0.02)
