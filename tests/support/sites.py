"""Rows of three sites, and fits in rounds by files alone."""

import numpy as np
import pandas as pd

import streamnb as snb
from streamnb.scanning.rounds import Round

SITES = ["north", "south", "west"]


def table(n_rows=90, seed=0):
    """A table whose label depends on a category and a number."""
    rng = np.random.default_rng(seed)
    carrier, distance = rng.choice(list("pqrs"), n_rows), rng.normal(900.0, 300.0, n_rows).round()
    late = np.where((distance > 900.0) + (carrier == "p") + rng.normal(size=n_rows) > 1.0, "yes", "no")
    return pd.DataFrame({"carrier": carrier, "distance": distance, "hour": np.arange(n_rows) % 24, "late": late})


def parts_of(rows, cuts=(15, 50)):
    """The rows of each site, by name."""
    edges = [0, *cuts, len(rows)]
    return {name: rows[a:b] for name, a, b in zip(SITES, edges[:-1], edges[1:], strict=True)}


def folds_of(parts, n_folds, seed=0):
    """The folds of all rows, where each site splits its own."""
    return np.concatenate([snb.fold_numbers(len(rows), n_folds, seed=seed) for rows in parts.values()])


def in_rounds(found, parts, folder, y=None):
    """What is fitted in the end, where every round and every answer goes through a file; and the number of rounds."""
    number = 0
    while isinstance(found, Round):
        number += 1
        found.save(folder / "round.snb")
        asked = snb.load(folder / "round.snb")
        for name, rows in parts.items():
            labels = {} if y is None else {"y": y[name]}
            asked.read(rows, **labels, site=name).save(folder / f"{name}.snb")
        found = asked.step(*(snb.load(folder / f"{name}.snb") for name in parts))
    return found, number
