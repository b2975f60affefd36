"""Heartbeats of electrocardiograms as rows: codegrams of windows, what each window shows, and whose it is.

Beats come from a folder of PhysioNet records (`.hea`, `.dat` and `.atr` files; pip install streamnb[ecg]), or from one
`.npz` file of arrays with an entry for each beat, in order of record and time: `record`, `sample` (its time),
`amplitude`, `symbol` (PhysioNet's letter of the beat) and `rhythm` (in force at the beat).

A window bears every kind of beat and every rhythm that makes up more than a twentieth of it, so that labels overlap as
illnesses of a person do. It is healthy where all beats are normal and in normal rhythm; it may be neither.
"""

import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

import streamnb as snb

ARRAYS = "record", "sample", "amplitude", "symbol", "rhythm"
NORMAL = "N"
HEALTHY = "healthy"
SHARE = 1 / 20  # of a window, which a kind of beat has to pass
FEWEST_WINDOWS, FEWEST_PERSONS = 5, 2  # of a label: a person is in one fold, and another one has to be left
SAME_PERSON = {"202": "201"}  # of the MIT-BIH Arrhythmia Database
AROUND = 0.1  # seconds before and after a beat in which its amplitude is looked for


class Beats(NamedTuple):
    """Arrays with an entry for each beat, in order of record and time."""

    record: np.ndarray
    sample: np.ndarray
    amplitude: np.ndarray
    symbol: np.ndarray
    rhythm: np.ndarray


class Windows(NamedTuple):
    """Rows of counts X, an indicator Y of labels, the first of which is "healthy", and the person of each row."""

    X: sp.csr_array
    Y: np.ndarray
    labels: list[str]
    person: np.ndarray


# ---- reading ---------------------------------------------------------------------------------------------------------


def read_beats(path):
    """The beats of a folder of records, or of one file of arrays."""
    path = Path(path)
    if path.is_dir():
        return in_folder(path)
    if not path.is_file():
        raise ValueError(f"{path} does not exist; give a folder of PhysioNet records, or an .npz file of beats")
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path} is no .npz file of beats; give one, or the folder that holds the records")
    with np.load(path) as arrays:
        missing = [name for name in ARRAYS if name not in arrays]
        if missing:
            raise ValueError(f"{path} lacks the arrays {', '.join(missing)}; it should have {', '.join(ARRAYS)}")
        beats = Beats(*(arrays[name] for name in ARRAYS))
    if len({array.shape for array in beats}) > 1:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in beats._asdict().items())
        raise ValueError(f"{path} has arrays of unequal length: {shapes}; each should have an entry for each beat")
    return beats


def in_folder(folder):
    """The beats of all records of a folder, or of the one file of arrays in it."""
    headers, files = sorted(folder.glob("*.hea")), sorted(folder.glob("*.npz"))
    if not headers and len(files) == 1:
        return read_beats(files[0])
    if not headers:
        raise ValueError(
            f"{folder} holds no records; those of PhysioNet are files such as 100.hea, 100.dat and 100.atr"
        )
    records = [of_record(header.with_suffix("")) for header in headers]
    return Beats(*map(np.concatenate, zip(*records)))


def of_record(path):
    """The beats of one record; `path` is without a suffix."""
    try:
        import wfdb
        from wfdb.io.annotation import is_qrs
    except ImportError as error:
        raise ImportError("records of PhysioNet are read by the package wfdb: pip install streamnb[ecg]") from error
    if not path.with_suffix(".atr").exists():
        raise ValueError(
            f"record {path.name} has no annotations: {path}.atr is missing; leave it out, or fetch that file"
        )
    notes = wfdb.rdann(str(path), "atr", return_label_elements=["symbol", "label_store"])
    of_beat = np.array([is_qrs[code] for code in notes.label_store], bool)
    of_rhythm = np.array([note.startswith("(") for note in notes.aux_note], bool)
    for what, found in (("beats", of_beat), ("rhythms", of_rhythm)):
        if not found.any():
            raise ValueError(f"record {path.name} has no annotations of {what} in {path}.atr; leave that record out")
    sample = notes.sample[of_beat]
    starts = notes.sample[of_rhythm]
    names = np.array([note.strip("\0")[1:] for note in np.array(notes.aux_note)[of_rhythm]])
    in_force = np.maximum(np.searchsorted(starts, sample, side="right") - 1, 0)  # before the first one: that one
    lead = wfdb.rdrecord(str(path), channels=[0], physical=False)
    amplitude = peak_to_peak(lead.d_signal[:, 0], sample, round(AROUND * lead.fs))
    record = np.full(len(sample), path.name)
    return Beats(record, sample, amplitude, np.array(notes.symbol)[of_beat], names[in_force])


def peak_to_peak(signal, sample, reach):
    """The range of the signal from `reach` samples before each beat to as many behind it."""
    return np.array([np.ptp(signal[max(at - reach, 0) : at + reach + 1].astype(np.int64)) for at in sample])


# ---- rows ------------------------------------------------------------------------------------------------------------


def with_intervals(beats):
    """The beats that have an amplitude and an interval, and their intervals: not the first one of a record."""
    interval = np.diff(beats.sample, prepend=beats.sample[:1])
    first = np.append(True, beats.record[1:] != beats.record[:-1])
    kept = ~first & (beats.amplitude > 0) & (interval > 0)
    return Beats(*(array[kept] for array in beats)), interval[kept]


def encode(beats, length, order=3):
    """Windows of that many letters."""
    beats, interval = with_intervals(beats)
    X = snb.codegram(beats.amplitude, interval, order, length=length, groups=beats.record)
    inside = in_windows(beats.record, length)
    labels, Y = labels_of(beats.symbol[inside], beats.rhythm[inside])
    person = np.array([SAME_PERSON.get(name, name) for name in beats.record[inside[:, 0]].astype(str)])
    often = (Y.sum(axis=0) >= FEWEST_WINDOWS) & [len({*person[has]}) >= FEWEST_PERSONS for has in Y.T]
    if not often[0] or often.sum() < 3:
        raise ValueError(
            f"{len(person)} windows of {len({*person})} persons are too few: healthy ones and two other labels should "
            f"each have {FEWEST_WINDOWS} windows and {FEWEST_PERSONS} persons; read more records, take shorter windows"
        )
    return Windows(X, Y[:, often].astype(np.uint8), np.array(labels)[often].tolist(), person)


def in_windows(record, length):
    """The beats that the letters of each window lead to, (n_windows, length)."""
    starts = np.flatnonzero(np.append(True, record[1:] != record[:-1]))
    rows = []
    for start, stop in zip(starts, [*starts[1:], len(record)]):
        n_windows = (stop - start - 1) // length
        rows.append(start + 1 + np.arange(n_windows * length).reshape(n_windows, length))
    return np.concatenate(rows)


def labels_of(symbol, rhythm):
    """Labels of windows, by the kind and the rhythm of their beats, and which window bears which."""
    labels, columns = [HEALTHY], [((symbol == NORMAL) & (rhythm == NORMAL)).all(axis=1)]
    for kind, seen in (("beat", symbol), ("rhythm", rhythm)):
        for name in np.unique(seen[seen != NORMAL]).tolist():
            labels.append(f"{kind} {name}")
            columns.append((seen == name).mean(axis=1) > SHARE)
    return labels, np.column_stack(columns)
