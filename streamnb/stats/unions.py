"""Statistics of sets of classes, summed from those of the classes."""

from typing import Any

import numpy as np

from streamnb.stats.class_stats import ClassStats


def unions(stats: ClassStats, members: np.ndarray) -> ClassStats:
    """Return the statistics of an indicator whose labels are sets of classes.

    Parameters
    ----------
    stats : ClassStats
        Statistics of rows with one label each.
    members : (n_labels, K) bool
        The classes of each label.

    Returns
    -------
    ClassStats
        The statistics of rows with the indicator ``members[:, y].T``; its labels are numbers.
    """
    moments = ("weight", *stats.moments)
    rows, every = members @ stats.rows, np.ones((1, len(stats.classes)), bool)
    about: dict[str, Any] = {"n_features": stats.n_features, "options": stats.options, "negatives": stats.negatives}
    whole = ClassStats(
        np.zeros(1, np.int64),
        np.array([stats.n_rows]),
        {name: _summed(stats.tables[name], every) for name in moments},
        **about,
    )
    tables = {name: _summed(stats.tables[name], members) for name in moments}
    return ClassStats(np.arange(len(members)), rows, tables, every=whole, closed=True, **about)


def _summed(table: Any, members: np.ndarray) -> Any:
    """Sum the rows of a table over each set of members, as exactly as the table is."""
    sizes, at = members.sum(axis=1), np.argsort(~members, axis=1, kind="stable")
    missing, every = np.full(len(members), -1), np.arange(len(members))
    out = table.combined(table, missing, np.where(sizes > 0, at[:, 0], -1), 1.0)
    for n in range(1, int(sizes.max(initial=0))):
        out = out.combined(table, every, np.where(sizes > n, at[:, n], -1), 1.0)
    return out
