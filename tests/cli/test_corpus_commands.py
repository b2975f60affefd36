"""Commands for whole corpora write what the library writes."""

import pytest

import streamnb as snb
from tests.support.command_line import ran
from tests.support.corpora import corpus, lines, model, written, written_lines


@pytest.fixture
def files(tmp_path):
    model().save(tmp_path / "m.snb")
    model(words=(1, 2)).save(tmp_path / "other.snb")
    return tmp_path / "m.snb", corpus(tmp_path / "in"), tmp_path


def test_predictions_go_to_a_folder_in_parts(files, capsys):
    file, data, folder = files
    arguments = "predict", file, data, "--text", "text", "--proba", "--keep", "id,kind"
    ended, said, words = ran(capsys, *arguments, "-o", f"{folder}/scores/")
    assert (ended, said) == (0, "") and "300 rows, 300 kept (100.0%)" in words
    snb.write_predictions(model(), data, folder / "same", proba=True, keep=["id", "kind"], text="text")
    assert written(folder / "scores") == written(folder / "same")
    ended, _, words = ran(capsys, *arguments, "--format", "jsonl", "-o", folder / "scores")
    assert ended == 1 and "is of another run" in words
    assert ran(capsys, *arguments, "--format", "jsonl", "-o", folder / "scores", "--force")[0] == 0


def test_rows_are_selected(files, capsys):
    file, data, folder = files
    ended, said, words = ran(
        capsys, "select", file, data, "--label", "good", "--share", 0.1, "--text", "text", "-o", folder / "a"
    )
    assert (ended, said) == (0, "") and "30 kept (10.0%)" in words
    snb.select(model(), data, folder / "same", "good", share=0.1, text="text")
    assert written(folder / "a") == written(folder / "same")
    where = "m.good > .5 and other.good > .6"
    ended = ran(
        capsys, "select", file, folder / "other.snb", data, "--where", where, "--text", "text", "-o", folder / "b"
    )
    assert ended[0] == 0
    both = {"m": model(), "other": model(words=(1, 2))}
    snb.select(both, data, folder / "both", where=where, text="text")
    assert written(folder / "b") == written(folder / "both")
    quotas = ["--number", "good=3,raw=2", "--score", "", "--text", "text"]
    assert ran(capsys, "select", file, data, *quotas, "-o", folder / "c")[0] == 0
    assert set(written_lines(folder / "c")) < set(lines()) and len(written_lines(folder / "c")) == 5


def test_wrong_use_is_told_from_wrong_data(files, capsys):
    file, data, folder = files
    ended, _, words = ran(capsys, "select", file, data, "--share", "a lot", "-o", folder / "x")
    assert ended == 2 and "'a lot' should be a number, or numbers by label" in words
    ended, _, words = ran(capsys, "select", file, file, data, "--share", "0.1", "-o", folder / "x")
    assert ended == 2 and "one name" in words
    ended, _, words = ran(
        capsys, "select", file, f"{folder}/no*", "--label", "good", "--share", "0.1", "-o", folder / "x"
    )
    assert ended == 1 and "there is no such file" in words
