"""The example with electrocardiograms: records are read, windows encoded, labelled, and told from the healthy.

STREAMNB_ECG may name the file of beats of real people that is read in place of the generated ones.
"""

import os
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.support import heartbeats
from tests.support.processes import python
from tests.support.refusals import refuses

EXAMPLES = Path(__file__).parents[2] / "examples"
REAL = os.environ.get("STREAMNB_ECG")
LENGTH = 100


@pytest.fixture
def ecg(monkeypatch):
    """The module of the example that reads and encodes."""
    monkeypatch.syspath_prepend(EXAMPLES)
    import ecg_records

    yield ecg_records
    sys.modules.pop("ecg_records")


@pytest.fixture(scope="module")
def beats_file(tmp_path_factory):
    if REAL:
        return Path(REAL)
    path = tmp_path_factory.mktemp("ecg") / "beats.npz"
    np.savez(path, **heartbeats.people())
    return path


def test_windows_have_their_counts_labels_and_persons(ecg, beats_file):
    beats = ecg.read_beats(beats_file)
    windows = ecg.encode(beats, LENGTH)
    assert windows.X.shape == (len(windows.person), 216) and (windows.X.sum(axis=1) == LENGTH - 2).all()
    assert windows.labels[0] == "healthy" and len(windows.labels) == windows.Y.shape[1] >= 3
    ill = windows.Y[:, 1:].any(axis=1)
    assert not (ill & (windows.Y[:, 0] == 1)).any() and ill.any() and not ill.all()
    assert (windows.Y[:, 1:].sum(axis=1) > 1).any()  # labels overlap
    assert all(len({*windows.person[has == 1]}) >= 2 for has in windows.Y.T)


@pytest.fixture
def records(tmp_path):
    """A folder with the records of two people, the signal of whom is flat but for their beats."""
    wfdb = pytest.importorskip("wfdb")
    everybody = heartbeats.people(2, 40)
    for name in (101, 102):
        own = {key: values[everybody["record"] == name] for key, values in everybody.items()}
        signal = np.zeros((own["sample"][-1] + 400, 2))
        signal[own["sample"], 0] = own["amplitude"]
        frame = {"fs": heartbeats.PER_SECOND, "units": ["mV"] * 2, "sig_name": ["MLII", "V5"]}
        storage = {"fmt": ["16"] * 2, "adc_gain": [200.0] * 2, "baseline": [0] * 2}
        wfdb.wrsamp(str(name), d_signal=signal.astype(np.int64), write_dir=str(tmp_path), **frame, **storage)
        begins = np.append(True, own["rhythm"][1:] != own["rhythm"][:-1])
        notes = [(at, "+", f"({rhythm}") for at, rhythm in zip(own["sample"][begins] - 9, own["rhythm"][begins])]
        notes += [(at, symbol, "") for at, symbol in zip(own["sample"], own["symbol"])]
        notes.append((own["sample"][20] + 50, "~", ""))  # noise is no beat
        sample, symbol, note = zip(*sorted(notes))
        wfdb.wrann(str(name), "atr", np.array(sample), list(symbol), aux_note=list(note), write_dir=str(tmp_path))
    return tmp_path, everybody


def test_records_are_read_beat_by_beat(ecg, records):
    folder, expected = records
    beats = ecg.read_beats(folder)
    for name, values in expected.items():
        found = getattr(beats, name)
        assert (found == (values.astype(str) if name == "record" else values)).all(), name


def test_records_without_the_package_that_reads_them_say_what_to_install(ecg, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "wfdb", None)
    (tmp_path / "101.hea").touch()
    refuses(ImportError, "pip install streamnb\\[ecg\\]", lambda: ecg.read_beats(tmp_path))


@pytest.fixture(scope="module")
def ran(beats_file, tmp_path_factory):
    """The example, run on few points, and the folder that it wrote to."""
    folder = tmp_path_factory.mktemp("tables")
    few = "--order", 2, "--points", 3, "--folds", 3
    outcome = python(EXAMPLES / "thesis_ecg.py", beats_file, "--length", LENGTH, 50, *few, "--out", folder)
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout, folder


@pytest.mark.slow
@pytest.mark.process
def test_the_labels_of_windows_are_printed(ecg, beats_file, ran):
    windows = ecg.encode(ecg.read_beats(beats_file), LENGTH)
    printed = re.findall(r"^(\w.*?) +([\d,]+) +([\d,]+)$", ran[0].split("Windows of")[1], re.MULTILINE)
    n_windows = {name: int(count.replace(",", "")) for name, count, _ in printed}
    assert n_windows == dict(zip(windows.labels, windows.Y.sum(axis=0).tolist())) | {"all": len(windows.person)}


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("length", [LENGTH, 50])
def test_the_tables_have_each_label_against_the_healthy_and_the_mean_last(ran, length):
    printed, folder = ran
    text, frame = (folder / f"tables_{length}.txt").read_text(), pd.read_csv(folder / f"tables_{length}.csv")
    assert text in printed
    scores = frame[frame["class"] != "healthy"].pivot_table("score", ["family", "penalty"], "class", sort=False)
    assert scores.shape[0] == 3 * 5 and scores.columns[-1] == "overall"
    labels = scores.drop(columns="overall")
    np.testing.assert_allclose(scores["overall"], labels.mean(axis=1), rtol=1e-12)
    assert REAL or labels.loc["poisson"].to_numpy().min() > 0.9
    last = re.findall(rf"^(\w+) +{length} letters +(.*)$", printed, re.MULTILINE)
    for family, cells in last:
        means = [float(mean) for mean in re.findall(r"(\d\.\d+) \(", cells)]
        np.testing.assert_allclose(means, scores.loc[family]["overall"], atol=6e-5)
    assert len(last) == 3


@pytest.mark.slow
@pytest.mark.process
def test_the_figures_are_drawn(ran):
    printed, folder = ran
    files = [folder / f"figure_{number}.png" for number in (1, 2, 3, 4)]
    assert all(file.read_bytes().startswith(b"\x89PNG") and f"Wrote {file}" in printed for file in files)


@pytest.mark.slow
def test_a_wrong_path_is_said_in_one_line(ecg, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["thesis_ecg.py", str(tmp_path / "nowhere")])
    with pytest.raises(SystemExit, match=r"^thesis_ecg\.py: .*does not exist"):
        runpy.run_path(str(EXAMPLES / "thesis_ecg.py"), run_name="__main__")
