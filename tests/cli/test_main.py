"""The command as a process: help, statuses, signals, and going on where it was stopped."""

import csv
import io
import json
import signal
import subprocess
import sys
import time
import warnings
from ast import literal_eval

import click
import numpy as np
import pyarrow.parquet as pq
import pytest
import zarr

import streamnb as snb
from streamnb.cli import output
from streamnb.cli.main import COMMANDS, main, module_of
from streamnb.cli.output import new_store, write_json, write_table
from streamnb.cli.saying import BarLines
from tests.support.command_line import ran
from tests.support.processes import PATIENCE, python


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help_with_an_example(command, capsys):
    ended, said, _ = ran(capsys, command, "--help")
    assert ended == 0 and f"Example: streamnb {command}" in " ".join(said.split())


def test_a_mistyped_command_is_told_the_nearest(capsys):
    ended, _, words = ran(capsys, "predcit", "m.snb")
    assert ended == 2 and "No such command 'predcit': did you mean 'predict'?" in words
    assert "'explain': did you mean 'inspect'?" in ran(capsys, "explain")[2]
    assert "'xyz': ['" in ran(capsys, "xyz")[2]


def test_warnings_are_words_alone(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["streamnb", "fit", "--help"])
    monkeypatch.setattr(sys, "stderr", sys.stderr)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    assert main() == 0
    said = snb.StreamnbWarning("few rows; use snb.table(.., drop=['a', 'b']) or text=['c']")
    warnings.showwarning(said, snb.StreamnbWarning, "contest.py", 133)
    assert capsys.readouterr().err == "Warning: few rows; use --drop 'a','b' or --text 'c'\n"


@pytest.mark.process
def test_a_process_that_is_asked_to_stop_goes_on_where_it_was(tmp_path, capsys):
    rng, n_rows, n_features = np.random.default_rng(0), 2000, 4000
    group = zarr.open_group(tmp_path / "rows.zarr", mode="w")
    group.create_array("X", shape=(n_rows, n_features), chunks=(4, n_features), dtype="f4")[:] = rng.random(
        (n_rows, n_features), np.float32
    )
    y, kept, out = np.arange(n_rows) % 2, tmp_path / "scan.snb", tmp_path / "m.snb"
    group.create_array("obs/kind", data=y)
    group.attrs["encoding-type"] = "anndata"
    model = ["--y", "obs/kind", "--family", "gaussian", "--penalty", "none"]
    asked = ["fit", tmp_path / "rows.zarr", *model, "--checkpoint", kept, "-o", out]
    command = [sys.executable, "-m", "streamnb", *map(str, asked)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    until = time.monotonic() + PATIENCE
    while not kept.exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    words = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 75 and "stopped as asked" in words, words
    assert not out.exists() and snb.load(kept).report.rows < n_rows
    ended, _, words = ran(capsys, *asked)
    assert ended == 0, words
    whole = snb.LinearNB("gaussian").fit(group["X"][:], y)
    assert np.array_equal(snb.load(out).coef_, whole.coef_)


def test_the_list_of_commands_says_what_each_says_and_refusals_import_little(capsys):
    _, shown, _ = ran(capsys, "--help")
    for name, (_, said) in COMMANDS.items():
        command = getattr(module_of(name), name)
        assert command.name == name and said.split()[-1] in shown
        assert said.split()[:3] == " ".join(command.help.split()).split()[:3]
    code = "import sys; from streamnb.cli.main import COMMANDS, status; status(['--help']); kept = {*sys.modules}\n"
    code += "for name, (module, _) in COMMANDS.items():\n    if module != 'sharing': status([name, '--nonsense'])\n"
    code += "status(['fit', 'none.csv', '-o', 'm.snb']); print(sorted(kept), '|', sorted(sys.modules))"
    ended = python("-c", code)
    assert ended.stderr.count("No such option '--nonsense'") == 13 and "there is no 'none.csv'" in ended.stderr
    of_help, of_refusals = ended.stdout.splitlines()[-1].split(" | ")
    assert not {"numpy", "scipy", "pyarrow"} & {*literal_eval(of_help)}
    assert not {"numba", "sklearn", "scipy", "pandas", "pyarrow"} & {*literal_eval(of_refusals)}


def test_a_bar_is_a_line_a_minute_and_its_last(monkeypatch):
    now = iter([0.0, 0.0, 1.0, 30.0, 61.0, 61.0, 62.0, 63.0, 64.0])
    monkeypatch.setattr("streamnb.cli.saying.time.monotonic", lambda: next(now))
    file = io.StringIO()
    lines = BarLines(file)
    for done in (0, 10, 50, 90, 100):
        lines.write(f"\rscan: {done}%")
    lines.write("\n")
    lines.write("m.snb is written\n")
    assert file.getvalue().splitlines() == ["scan: 0%", "scan: 90%", "scan: 100%", "m.snb is written"]


def test_a_store_takes_its_place_whole_or_not_at_all(tmp_path):
    place = tmp_path / "rows.zarr"
    for words in ("one", "two"):
        with new_store(str(place), words == "two") as folder:
            (tmp_path / folder).mkdir()
            (tmp_path / folder / "part").write_text(words)
        assert [path.name for path in tmp_path.iterdir()] == ["rows.zarr"] and (place / "part").read_text() == words
    with pytest.raises(OSError, match="full"), new_store(str(place), True) as folder:
        (tmp_path / folder).mkdir()
        raise OSError("full")
    assert [path.name for path in tmp_path.iterdir()] == ["rows.zarr"] and (place / "part").read_text() == "two"
    with pytest.raises(click.BadParameter, match="already exists"), new_store(str(place), False):
        pass
    with new_store("s3://bucket/rows.zarr", False) as url:
        assert url == "s3://bucket/rows.zarr"


def test_tables_are_written_to_the_last_digit(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(output, "AT_ONCE", 2)
    scores = [1 / 3, 1e-300, -np.inf]
    columns = {"label": np.array(["a", 'b "c", d', "\u00e9"]), "n": np.array([1, 2, 3]), "score": np.array(scores)}
    names, labels = list(columns), columns["label"].tolist()
    for ending in output.ENDINGS:
        write_table(columns if ending != ".npy" else {"score": columns["score"]}, tmp_path / f"t{ending}")
    write_table(columns, None)
    text = (tmp_path / "t.csv").read_text()
    assert text == capsys.readouterr().out
    head, *rows = csv.reader(io.StringIO(text))
    assert head == names and rows == [[a, str(n), repr(score)] for a, n, score in zip(labels, (1, 2, 3), scores)]
    lines = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert lines == [dict(zip(names, row)) for row in zip(labels, (1, 2, 3), [*scores[:2], None])]
    assert pq.read_table(tmp_path / "t.parquet").to_pydict() == {"label": labels, "n": [1, 2, 3], "score": scores}
    assert np.load(tmp_path / "t.npy").tolist() == scores


def test_json_has_null_for_what_is_undefined(capsys):
    write_json({"roc_auc": np.nan, "all": [np.float64(1.5), -np.inf]})
    assert capsys.readouterr().out == '{"roc_auc": null, "all": [1.5, null]}\n'
