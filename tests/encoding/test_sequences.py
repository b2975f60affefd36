"""`snb.sequences`: the same rows however they are stored and read, and models that keep how columns were made."""

import gzip
import pickle
from itertools import pairwise

import numpy as np
import pytest

import streamnb as snb
from streamnb.encoding.sequences import KMers
from streamnb.rows import line_files
from tests.support.reference_kmers import counted, fasta, fastq

RNG = np.random.default_rng(0)
PARENTS = ["".join(RNG.choice(list("ACGT"), 120)) for _ in range(3)]
Y = np.array(["k__A; g__x", "k__A; g__y", "k__B; g__z"] * 12)
READS = ["".join(RNG.choice(list("ACGT")) if RNG.random() < 0.1 else c for c in PARENTS[i % 3]) for i in range(36)]


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "refs.fasta.gz"
    file.write_bytes(gzip.compress(fasta(READS, Y)))
    return file


def counts_of(rows):
    blocks = [block.X for block in rows.blocks()]
    return [
        dict(zip(rows.feature_names[indices[a:b]], data[a:b].tolist()))
        for data, indices, indptr, _ in blocks
        for a, b in pairwise(indptr)
    ]


@pytest.mark.parametrize("both_strands", [False, True])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_rows_are_those_of_python_whatever_pieces_and_threads(n_threads, both_strands, path, monkeypatch):
    monkeypatch.setattr(line_files, "PIECE_BYTES", 300)
    rows = snb.sequences(path, "header", k=4, both_strands=both_strands, n_threads=n_threads)
    assert counts_of(rows) == [counted(read, 4, both_strands) for read in READS]


def test_a_model_reads_files_itself_and_so_does_the_loaded_one(path, tmp_path):
    model = snb.LinearNB("multinomial", smoothing=0.001).fit(snb.sequences(path, "header", k=5))
    reads = tmp_path / "reads.fastq"
    reads.write_bytes(fastq(READS, end="\r\n"))
    expected = model.predict(snb.sequences(READS, k=5))
    model.save(tmp_path / "m.snb")
    for one in (model, snb.load(tmp_path / "m.snb"), pickle.loads(pickle.dumps(model))):
        for X in (reads, str(path), [path], READS, [read.lower().replace("t", "u") for read in READS]):
            assert one.predict(X).tolist() == expected.tolist()
    assert model.score(path, "header") == np.mean(expected == Y) > 0.9
    assert model.top_features(1)["feature"].str.fullmatch("[ACGT]{5}").all()


def test_both_strands_make_the_same_columns_of_a_reversed_read():
    turned = [read[::-1].translate(str.maketrans("ACGT", "TGCA")) for read in READS]
    here, there = (counts_of(snb.sequences(reads, k=6, both_strands=True)) for reads in (READS, turned))
    assert here == there


def test_fits_agree_with_scikit_learn(path):
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB

    rows = snb.sequences(path, "header", k=3)
    vectorizer = CountVectorizer(analyzer="char", ngram_range=(3, 3), lowercase=False, vocabulary=rows.feature_names)
    theirs = MultinomialNB(alpha=0.001).fit(vectorizer.transform(READS), Y)
    model = snb.LinearNB("multinomial", smoothing=0.001).fit(rows)
    np.testing.assert_allclose(
        model.predict_log_proba(READS), theirs.predict_log_proba(vectorizer.transform(READS)), atol=1e-12
    )


def test_rows_of_another_k_are_refused(path):
    model = snb.LinearNB("multinomial").fit(snb.sequences(path, "header", k=3))
    with pytest.raises(ValueError, match="k=4 and not 3"):
        model.predict(snb.sequences(path, k=4))
    assert KMers(3).differs(KMers(3)) == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k"),
        ({"k": 13}, "k=13 should be from 1 to 12"),
        ({"k": 3.5}, "k"),
        ({"both_strands": "yes"}, "both_strands='yes' should be True or False"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        snb.sequences(READS, **options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b">a\nACGT\n>b\nACJT\n", "record 1, 'b', has 'J', which is no letter of DNA or RNA"),
        (b">a\nAC--GT\n", "record 0, 'a', has '-'.*take the gaps of an alignment out"),
        (b">a\nACGT\n>b\n>c\nA\n", "record 1, 'b', is empty"),
        (b"@a\n\n+\n\n@b\nA\n+\nI\n", "record 0, 'a', is empty"),
    ],
)
def test_bad_sequences_are_named(text, message, tmp_path):
    (tmp_path / "bad.fa").write_bytes(text)
    with pytest.raises(snb.DataError, match=message):
        snb.scan(snb.sequences(tmp_path / "bad.fa", k=2), np.arange(text.count(b">") or 2))


def test_bad_paths_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        snb.sequences(tmp_path / "none.fa")
    with pytest.raises(FileNotFoundError, match=r"is a folder; give a pattern of its files.*\*\.fasta"):
        snb.sequences(tmp_path)
    with pytest.raises(snb.DataError, match="sequence 1 has 'X'"):
        snb.scan(snb.sequences(["ACGT", "AXA"], [0, 1], k=2))
    (tmp_path / "a.fasta").write_text(">a\nACGT\n")
    with pytest.raises(snb.DataError, match=r"is a file of sequences.*snb\.sequences\(path, y=\.\.\)"):
        snb.LinearNB().fit(tmp_path / "a.fasta", "y")
