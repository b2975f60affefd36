"""The examples run as a user runs them, on less data."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import zarr

import streamnb as snb

EXAMPLES = Path(__file__).parents[1] / "examples"
N_TAUS = 6
LINE_OF_TABLE = re.compile(r"^ *(?P<tau>plain|[\d.e+-]+) +(?P<features>[\d,]+) +(?P<accuracy>[\d.]+) +(?P<auc>[\d.]+)$")


def run(folder, n_taus=N_TAUS, *options):
    command = [sys.executable, EXAMPLES / "source_lines.py", "--rows", "6000", "--taus", str(n_taus), *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def first_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("source_lines")
    return folder, run(folder)


pytestmark = pytest.mark.process


def test_source_lines_prints_the_path(first_run):
    _, ran = first_run
    assert ran.returncode == 0, ran.stderr
    table = [match for line in ran.stdout.splitlines() if (match := LINE_OF_TABLE.match(line))]
    assert len(table) == N_TAUS + 1 and table[0]["tau"] == "plain"
    kept = [int(match["features"].replace(",", "")) for match in table]
    assert max(kept) == kept[0] and min(kept) == kept[-1] <= 2
    assert 0.3 < float(table[0]["accuracy"]) < float(table[0]["auc"]) < 1
    assert "Telling tokens" in ran.stdout and "rows/s" in ran.stdout and "GB/s" in ran.stdout


def test_source_lines_saves_model_and_picture(first_run):
    folder, _ = first_run
    model = snb.load(folder / "build" / "source_lines.model")
    held_out = folder / "build" / "source_lines.zarr" / "held_out"
    labels = zarr.open_group(held_out, mode="r")["y"][:].tolist()
    assert np.mean(model.predict(held_out) == np.array(labels)) > 0.3
    assert (folder / "build" / "source_lines.png").read_bytes().startswith(b"\x89PNG")


def test_source_lines_keeps_its_store(first_run):
    folder, first = first_run
    again = run(folder, 2)
    assert again.returncode == 0 and "kept in" in again.stdout and "kept in" not in first.stdout
    plain = [next(filter(LINE_OF_TABLE.match, ran.stdout.splitlines())) for ran in (first, again)]
    assert plain[0] == plain[1]


def test_source_lines_touches_no_folder_of_others(tmp_path):
    kept = tmp_path / "kept.txt"
    kept.write_text("mine")
    ran = run(tmp_path, 2, "--store", tmp_path)
    assert ran.returncode != 0 and "not a store of this example" in ran.stderr and kept.read_text() == "mine"


def test_thesis_tables_are_printed_and_saved(tmp_path):
    command = [sys.executable, EXAMPLES / "thesis_tables.py", "--out", "tables", "--points", "3", "--debian"]
    without_apt = {**os.environ, "PATH": ""}
    ran = subprocess.run(command, cwd=tmp_path, env=without_apt, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert "No Debian packages" in ran.stdout
    text = (tmp_path / "tables" / "digits.txt").read_text()
    assert text in ran.stdout
    cells = [float(score) for score in re.findall(r"(\d\.\d{4}) +\(\d+\)", text)]
    frame = pd.read_csv(tmp_path / "tables" / "digits.csv")
    assert len(cells) == len(frame) == 3 * 5 * 11
    by_line = frame.pivot_table(index=["family", "class"], columns="penalty", values="score", sort=False)
    np.testing.assert_allclose(cells, by_line.to_numpy().ravel(), atol=6e-5)
    assert by_line.loc[("gaussian", "overall")].min() > 0.95


def test_pictures_are_saved_and_their_paths_printed(tmp_path):
    command = [sys.executable, EXAMPLES / "pictures.py", tmp_path / "new" / "folder"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    files = [Path(line) for line in ran.stdout.splitlines()]
    assert len(files) == 8 and set(files) == set((tmp_path / "new" / "folder").iterdir())
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files)
