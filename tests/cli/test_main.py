"""The command as a process: help, statuses, signals, and going on where it was stopped."""

import signal
import subprocess
import sys
import time
import warnings
from ast import literal_eval

import numpy as np
import pytest
import zarr

import streamnb as snb
from streamnb.cli.main import COMMANDS, main, module_of
from tests.support.command_line import ran
from tests.support.processes import PATIENCE, python


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help_with_an_example(command, capsys):
    ended, said, _ = ran(capsys, command, "--help")
    assert ended == 0 and f"Example: streamnb {command}" in " ".join(said.split())


def test_a_mistyped_command_is_told_the_nearest(capsys):
    ended, _, words = ran(capsys, "predcit", "m.snb")
    assert ended == 2 and "No such command 'predcit': did you mean 'predict'?" in words
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
