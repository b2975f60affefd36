"""What is given on the command line, and what is wrong with it: status 2, with the option."""

import click
import fsspec
import pytest

import streamnb as snb
from streamnb.cli.fit_commands import penalty_of
from streamnb.cli.given import bins_of, existing, lengths_of, steps_of
from tests.support.command_line import ran, store, texts


@pytest.mark.parametrize(
    ("given", "penalty"),
    [
        ("none", None),
        ("l1", snb.L1()),
        ("l1:score", snb.L1(scale="score")),
        ("l1:score=2", snb.L1(2.0, scale="score")),
        ("l1=0.5,1", snb.L1([0.5, 1.0])),
        ("l2=10", snb.L2(10.0)),
        ("topk=1,5", snb.TopK([1, 5])),
    ],
)
def test_penalties_in_words(given, penalty):
    assert repr(penalty_of(given)) == repr(penalty)


def test_steps_and_ranges():
    assert (
        steps_of("none") is steps_of("") is None
        and bins_of("") == {}
        and steps_of("log1p") == "log1p"
        and steps_of("l1:10,log1p") == ("l1:10", "log1p")
    )
    bins = [bins_of(given)["bins"] for given in ("16", "none", "a=20,b=none")]
    assert bins == [16, None, {"a": 20, "b": None}]
    assert [lengths_of(given) for given in ("none", "1-2", "3")] == [None, (1, 2), (3, 3)]


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        (["--penalty", "l7"], "--penalty: 'l7' should be one of none, l1"),
        (["--penalty", "l2"], "--penalty"),
        (["--penalty", "l1=-1"], "--penalty"),
        (["--famly", "poisson"], "--family"),
        (["--text", "body", "--words", "a"], "'--words': 'a' should be a range"),
        (["--text", "body", "--bytes", "1-x"], "'--bytes': '1-x' should be a range"),
        (["--hash", "a"], "counts.zarr' is no table, which --hash is of"),
        (["--bins", "9"], "is no table, which --bins is of"),
        (["--bins", "a=x"], "'--bins': 'a=x' should be a number of bins or none, of all columns or by name"),
        (["--text", "body", "--bins", "9"], "is no table, which --bins is of"),
        (["--cv", "1"], "--cv"),
        (["--scheme", "all"], "--scheme"),
        (["-o", "no/such/folder/m.snb"], "-o: there is no folder"),
    ],
    ids=str,
)
def test_wrong_options_are_faults_of_use(asked, what, tmp_path, capsys):
    ended, said, words = ran(capsys, "fit", store(tmp_path), "--y", "y", "-o", tmp_path / "m.snb", *asked)
    assert ended == 2 and what in words and not said
    assert not (tmp_path / "m.snb").exists()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a table, texts, and a model of each."""
    folder = tmp_path_factory.mktemp("given")
    texts(folder)
    rows = (f"{i / 7:.3f},{'uvw'[i % 3]},{'no' if i % 2 else 'yes'},{i % 5}" for i in range(60))
    (folder / "t.csv").write_text("\n".join(["a,b,late,g", *rows]))
    snb.LinearNB("multinomial").fit(folder / "t.csv", "late").save(folder / "m.snb")
    rows = snb.text(folder / "texts.jsonl", "body", y="section", n_features=256)
    snb.LinearNB("multinomial").fit(rows).save(folder / "x.snb")
    return folder


WRONG_USE = [
    ("fit t.csv -o n.snb", "the labels are missing; --y names them"),
    ("fit texts.jsonl --text body -o n.snb", "the labels are missing; --y names them"),
    ("search t.csv -o n.snb", "the labels are missing; --y names them"),
    ("schema t.csv -o n.snb", "the labels are missing; --y names them"),
    ("fit t.csv --y no -o n.snb", "--y 'no' is not a column"),
    ("fit t.csv --y late --weight no -o n.snb", "--weight 'no' is not a column"),
    ("fit t.csv --y late --hash no -o n.snb", "--hash 'no' is not a column"),
    ("fit t.csv --y late --columns late -o n.snb", "--columns 'late' is given as y, too; leave it out of --columns"),
    ("fit t.csv --target late -o n.snb", "No such option '--target'. Did you mean '--y'?"),
    ("fit t.csv --y late --drop no -o n.snb", "--drop 'no' is not a column"),
    ("fit t.csv --y late --hash b --n-features 0 -o n.snb", "'--n-features': 0 is not in the range x>=1"),
    ("fit t.csv --y late --hash b --n-features 3 -o n.snb", "--n-features 3 should be a power of two"),
    ("fit t.csv --y late --n-features 8 -o n.snb", "--n-features is for hashed words or categories"),
    ("fit t.csv --y late --words 1-2 -o n.snb", "--words is for texts, which have --text"),
    ("schema t.csv --y late --vocabulary 9 -o n.snb", "--vocabulary is for texts, which have --text"),
    ("fit t.csv --y late --layer counts -o n.snb", "--layer 'counts' is only for AnnData"),
    ("fit texts.jsonl --y section --text body --words 2-1 -o n.snb", "'2-1' should be a range such as 1-2, or none"),
    ("fit texts.jsonl --y section --text body --words none -o n.snb", "--words none, --chars none and --bytes none"),
    ("fit t.csv --y late --family foo -o n.snb", "--family 'foo' is unknown"),
    ("fit t.csv --y late --bins -3 -o n.snb", "--bins -3 should be at least 1"),
    ("fit t.csv --y late --scoring foo -o n.snb", "--scoring 'foo'"),
    ("fit t.csv --y late --memory-limit foo -o n.snb", "--memory-limit 'foo' should be a number of bytes"),
    ("fit t.csv --y late --cv 99 -o n.snb", "--folds 99: some have no row"),
    ("search t.csv --y late --transform foo -o n.snb", "--transform 'foo' is unknown"),
    ("search t.csv --y late --budget foo -o n.snb", "--budget 'foo' is not a budget"),
    ("evaluate m.snb t.csv --interval 95", "--interval 95.0 should be between 0 and 1"),
    ("evaluate m.snb t.csv --groups g", "--groups needs intervals; give --interval 0.95, or leave --groups out"),
    ("evaluate m.snb t.csv --by no", "--by 'no' is not a column"),
    ("predict x.snb texts.jsonl -o n/ --keep no --format csv", "'--format': 'csv' is not one of"),
    ("select x.snb texts.jsonl --label perl -o n", "nothing says which rows to keep; give --threshold, --share,"),
    ("select x.snb texts.jsonl --label perl --drop-repeats -o n", "nothing says which rows to keep"),
    ("select x.snb texts.jsonl --share .1 -o n", "--share 0.1 needs a label; give --label"),
    ("select x.snb texts.jsonl --label perl --share 2 -o n", "--share 2.0 should be above 0, and 1 at most"),
    ("select x.snb texts.jsonl --label no --share .1 -o n", "--label: 'no' is not a label of the model"),
    ("select x.snb texts.jsonl --label perl --share .1 --number 2 -o n", "--share and --number are both given; give"),
    ("select x.snb texts.jsonl --label perl --share .1 --seed 3 -o n", "--seed is of --resample"),
    ("report m.snb t.csv --y late -o n.pdf", "-o 'n.pdf' should end with .html"),
    ("report m.snb --by a -o n.html", "--by is of rows, and there is no DATA"),
    ("export m.snb n.pmml", "OUT 'n.pmml' should end with one of .onnx, .json"),
    ("plan t.csv --y late --folds 1", "--folds 1 should be at least 2"),
]


@pytest.mark.parametrize(("command", "what"), WRONG_USE, ids=[command for command, _ in WRONG_USE])
def test_wrong_use_is_said_in_the_words_of_the_command(command, what, place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    before = sorted(place.iterdir())
    ended, _, words = ran(capsys, *command.split())
    assert (ended, what in words) == (2, True), words
    assert sorted(place.iterdir()) == before


def test_faults_of_the_data_are_no_wrong_use(place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    (place / "empty.csv").write_text("a,late\nx,\nz,no\n")
    for command, what in (
        ("fit texts.jsonl --text no --y section -o n.snb", "row 0 has no text in 'no'"),
        ("fit texts.jsonl --text body --y no -o n.snb", "--y 'no' is no field; it has ['body', 'section']"),
        ("fit empty.csv --y late -o n.snb", "late"),
    ):
        ended, _, words = ran(capsys, *command.split())
        assert (ended, what in words) == (1, True), words


def test_files_that_are_missing_or_there_already(tmp_path, capsys):
    path, kept = store(tmp_path), tmp_path / "m.snb"
    kept.write_text("mine")
    for asked in (["fit", path, "--y", "y"], ["predict", kept, path]):
        ended, _, words = ran(capsys, *asked, "-o", kept)
        assert ended == 2 and "--force replaces it" in words and kept.read_text() == "mine"
    assert "there is no 'nothing.zarr'" in ran(capsys, "plan", "nothing.zarr")[2]
    assert "'-'; predict alone reads standard input: write" in ran(capsys, "plan", "-")[2]
    assert "counts.zarr' is no file that fit or search wrote" in ran(capsys, "inspect", path)[2]
    assert "there is no 'nothing.snb'" in ran(capsys, "inspect", "nothing.snb")[2]
    assert ran(capsys, "fit", path, "--y", "y", "--penalty", "none", "-o", kept, "--force")[0] == 0
    snb.scan([[1.0], [2.0]], [0, 1]).save(tmp_path / "s.snb")
    assert "holds a ClassStats, which predicts nothing" in ran(capsys, "inspect", tmp_path / "s.snb")[2]


def test_a_store_whose_replacement_was_killed_is_found_again(tmp_path):
    path = str(tmp_path / "rows.zarr")
    with pytest.raises(click.BadParameter, match="there is no"):
        existing(path)
    (tmp_path / ".rows.zarr.7.8.replaced").mkdir()
    assert existing(path) == path
    assert [left.name for left in tmp_path.iterdir()] == ["rows.zarr"]


def test_data_and_models_at_urls(tmp_path, capsys):
    files, here = fsspec.filesystem("memory"), f"memory://{tmp_path.name}"
    files.put(str(texts(tmp_path)), f"/{tmp_path.name}/texts.jsonl")
    asked = ["fit", f"{here}/texts.jsonl", "--y", "section", "--text", "body", "--penalty", "none"]
    ended, _, words = ran(capsys, *asked, "-o", f"{here}/m.snb")
    assert ended == 0, words
    assert ran(capsys, *asked[:1], tmp_path / "texts.jsonl", *asked[2:], "-o", tmp_path / "m.snb")[0] == 0
    for command in ("predict", "evaluate"):
        said = ran(capsys, command, f"{here}/m.snb", f"{here}/texts.jsonl")
        assert said[:2] == ran(capsys, command, tmp_path / "m.snb", tmp_path / "texts.jsonl")[:2] and said[0] == 0, said
    ended, _, words = ran(capsys, "export", f"{here}/m.snb", f"{here}/small.snb")
    assert ended == 0 and "small.snb: " in words
    ended, _, words = ran(capsys, *asked, "-o", f"{here}/m.snb")
    assert ended == 2 and "already exists; --force replaces it" in words
    ended, _, words = ran(capsys, "report", f"{here}/m.snb", "-o", f"{here}/page.html")
    assert ended == 2 and "is a URL; this is written to a file on this machine" in words
    for what in ("m.snb", "texts.jsonl"):
        asked = ["predict", f"{here}/{what.replace('m.', 'no.')}", f"{here}/{what.replace('texts', 'no')}"]
        ended, _, words = ran(capsys, *(asked if what == "m.snb" else [asked[0], f"{here}/m.snb", asked[2]]))
        assert ended == 1 and "there is no such file" in words
