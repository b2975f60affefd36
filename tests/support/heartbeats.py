"""Heartbeats of people who are well at times and ill at others, as the arrays of examples/ecg_records.py."""

import numpy as np

PER_SECOND = 360  # samples
SECONDS = 0.8  # from beat to beat, in between
ILLNESSES = {  # rhythm, which beats are early and ventricular, and by how much intervals scatter
    "well": ("N", 0, 0.01),
    "extra beats": ("N", 7, 0.01),
    "bigeminy": ("B", 2, 0.01),
    "fibrillation": ("AFIB", 0, 0.2),
}


def stretch(rng, kind, n_beats):
    """Amplitudes, intervals in samples, symbols and rhythms of a stretch of time."""
    rhythm, every, scatter = ILLNESSES[kind]
    at = np.arange(n_beats)
    breath = np.sin(2 * np.pi * at / 5 + rng.uniform(0, 6))
    interval = SECONDS * (1 + 0.04 * breath + scatter * rng.normal(size=n_beats))
    amplitude = 300 * (1 - 0.05 * breath + 0.02 * rng.normal(size=n_beats))
    early = (at % every == every - 1) if every else np.zeros(n_beats, bool)
    interval = np.where(early, 0.6 * interval, np.where(np.roll(early, 1), 1.4 * interval, interval))
    amplitude = np.where(early, 1.5 * amplitude, amplitude)
    symbol = np.where(early, "V", "N")
    return amplitude.round(), (PER_SECOND * np.maximum(interval, 0.3)).round(), symbol, np.full(n_beats, rhythm)


def people(n_people=9, n_beats=500, seed=0):
    """Arrays with an entry for each beat; everybody is well for a third of the time, and has two illnesses of three."""
    rng = np.random.default_rng(seed)
    kinds = list(ILLNESSES)[1:]
    parts = []
    for number in range(n_people):
        has = ["well", kinds[number % 3], kinds[(number + 1) % 3]]
        columns = [np.concatenate(each) for each in zip(*(stretch(rng, kind, n_beats) for kind in has))]
        amplitude, interval, symbol, rhythm = columns
        record = np.full(len(amplitude), 101 + number, np.int16)
        parts.append((record, interval.cumsum().astype(np.int32), amplitude.astype(np.int16), symbol, rhythm))
    names = "record", "sample", "amplitude", "symbol", "rhythm"
    return dict(zip(names, map(np.concatenate, zip(*parts))))
