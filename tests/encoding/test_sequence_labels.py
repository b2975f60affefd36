"""Labels of sequences: by a table, a dict or the headers, each mistake with its own message."""

import gzip

import numpy as np
import pandas as pd
import pytest

import streamnb as snb
from tests.support.reference_kmers import fasta

SEQUENCES = ["ACGTACGT", "TTTTGGGG", "ACGTAAAA", "TTTGTTTG"]
LABELS = ["k__A; g__x", "k__B; g__y", "k__A; g__x", "k__B; g__z"]


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "refs.fasta"
    file.write_bytes(fasta(SEQUENCES, LABELS))
    return file


def table(folder, lines, name="tax.tsv"):
    text = "".join(f"{line}\n" for line in lines).encode()
    (folder / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return folder / name


def labels_in(rows):
    return np.concatenate([block.y for block in rows.blocks()]).tolist()


def test_all_ways_to_give_labels_give_the_same(path, tmp_path):
    lines = [f"s{i}\t{label}\t0.9" for i, label in enumerate(LABELS)]
    plain = table(tmp_path, ["# of 2024", "Feature ID\tTaxon\tConfidence", "#q2:types\tcategorical", *reversed(lines)])
    packed = table(tmp_path, lines, "tax.tsv.gz")
    by_name = {f"s{i}": label for i, label in enumerate(LABELS)}
    for y in (plain, str(packed), by_name, "header", LABELS):
        assert labels_in(snb.sequences(path, y, k=2)) == LABELS
    assert [block.y.tolist() for block in snb.sequences(path, "header", k=2).blocks(1, 3)] == [LABELS[1:3]]
    assert labels_in(snb.sequences(path, {f"s{i}": i for i in range(4)})) == [0, 1, 2, 3]


def test_labels_without_a_sequence_are_counted_and_left_out(path, tmp_path):
    lines = [f"s{i}\t{label}" for i, label in enumerate([*LABELS, "more", "more"])]
    with pytest.warns(snb.StreamnbWarning, match="2 of the 6 labels.*of no sequence.*'s4'"):
        assert labels_in(snb.sequences(path, table(tmp_path, lines))) == LABELS


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["s0\ta", "s2\tb"], "no label for 2 of the 4 sequences.*'s1'"),
        (["s0\ta", "s1"], "line 2: 's1' should be an identifier, a tab and a label"),
        (["s0\ta", "s1\tb", "s0\tc"], "line 3: 's0' has had another label"),
    ],
)
def test_tables_with_mistakes_are_refused(lines, message, path, tmp_path):
    with pytest.raises(snb.DataError, match=message):
        snb.sequences(path, table(tmp_path, lines))


def test_sequences_that_no_label_belongs_to_alone_are_refused(tmp_path):
    path = tmp_path / "a.fa"
    path.write_bytes(b">a x\nAC\n>b y\nAC\n>a z\nGT\n")
    with pytest.raises(snb.DataError, match=r"record 0 of .*a\.fa and record 2 of .*a\.fa have the same identifier"):
        snb.sequences(path, {"a": 1, "b": 2})
    assert labels_in(snb.sequences(path, "header", k=2)) == ["x", "y", "z"]
    path.write_bytes(b">a x\nAC\n>b\nAC\n")
    with pytest.raises(snb.DataError, match="record 1, 'b', has nothing after its identifier"):
        snb.sequences(path, "header")
    with pytest.raises(ValueError, match="sequences in memory have no identifiers"):
        snb.sequences(["ACGT"], {"0": 1})
    with pytest.raises(FileNotFoundError, match=r"tax\.tsv.*no such file"):
        snb.sequences(path, tmp_path / "tax.tsv")
    with pytest.raises(ValueError, match="y"):
        snb.sequences(path, [1, 2, 3])


def test_labels_of_a_dict_are_checked_and_a_series_goes_by_its_identifiers(path):
    names = [line[1:].split()[0] for line in path.read_text().splitlines() if line.startswith(">")]
    by_name = dict(zip(names, LABELS))
    assert labels_in(snb.sequences(path, pd.Series(by_name)[::-1], k=3)) == LABELS
    with pytest.raises(ValueError, match=r"y has the identifier '.*' twice"):
        snb.sequences(path, pd.Series(LABELS * 2, index=names * 2), k=3)
    for wrong in (np.nan, 1, True):
        with pytest.raises((ValueError, TypeError), match=r"missing label|Unknown label type"):
            snb.sequences(path, {**by_name, names[0]: wrong}, k=3)


def test_names_of_files_are_files_in_lists_too(path):
    rows = snb.sequences([str(path), str(path)], LABELS * 2, k=3)
    assert rows.n_rows == 8


def test_messages_count_the_records_of_each_file(path, tmp_path):
    more = tmp_path / "more.fa"
    more.write_bytes(b">t0 x\nAC\n>s2\nAC\n")
    with pytest.raises(snb.DataError, match=r"record 2 of .*refs\.fa.* and record 1 of .*more\.fa have .*'s2'"):
        snb.sequences([path, more], {})
    with pytest.raises(snb.DataError, match=r"more\.fa: record 1, 's2', has nothing after"):
        snb.sequences([path, more], "header")
    more.write_bytes(b">t0\nAC\n>t1\nA-C\n")
    with pytest.raises(
        snb.DataError, match=r"no label for 6 of the 6 sequences of .*refs\.fasta and 1 more, such as 's0'"
    ):
        snb.sequences([path, more], {})
    with pytest.raises(snb.DataError, match=r"more\.fa: record 1, 't1', has '-'"):
        snb.scan(snb.sequences([path, more], [0, 1, 0, 1, 0, 1], k=2))
