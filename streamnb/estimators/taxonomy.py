"""Predicts taxa to the last rank that is sure."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments
from streamnb.core.arguments import Rows
from streamnb.core.frames import pandas_for
from streamnb.models.linear import LinearModel
from streamnb.models.ranks import RankedDraws, Taxonomy
from streamnb.passes.answering import answer
from streamnb.problem.families import as_family
from streamnb.rows.line_files import SequenceFiles
from streamnb.rows.source import RawSource

UNKNOWN = "Unassigned"


def predict_ranks(self: Any, reads: Rows, confidence: float = 0.7, draws: int = 100, seed: int = 0) -> Any:
    """Taxa of rows of counts, such as k-mers of sequences, to the last rank that is sure.

    As the RDP classifier does (Wang, Garrity, Tiedje and Cole 2007): of the units of a row, such as its k-mers, one
    eighth is drawn with replacement, several times. The confidence of a rank is the share of draws whose best class has
    the same names down to that rank as the prediction. Classes that are equally good in a draw share it in equal parts,
    so of references that are identical under two names none has a confidence above .5.

    Parameters
    ----------
    reads : rows
        Anything that `predict` takes, such as "reads.fastq.gz"; counts in whole numbers.
    confidence : float
        The lowest confidence of a rank that is sure, from 0 to 1.
    draws : int
        The number of draws of each row.
    seed : int
        What is drawn depends on this, the number of the row and the draw, and not on blocks or threads.

    Returns
    -------
    pandas.DataFrame
        With the columns "read" (identifiers of files of sequences, else numbers of rows), "taxon" (the label to the
        last rank that is sure; "Unassigned" if none is) and "confidence", that of the last of these ranks,
        or of the first rank if none is sure.

    Raises
    ------
    ValueError
        The model is not one of counts that has a score for each class, or a value is no whole number.

    Notes
    -----
    Labels are names of ranks, the highest first, split at semicolons, such as "k__Bacteria; p__Firmicutes". Draws are
    scored in single precision, and all k-mers of a row in double precision.

    Examples
    --------
    >>> import streamnb as snb
    >>> labels = ["k__A; g__x", "k__A; g__y", "k__B; g__z"]
    >>> rows = snb.sequences(["ACGTACGTACGTACGT", "ACGTACGTTGCATGCA", "GGGGTTTTGGGGTTTT"], labels, k=3)
    >>> model = snb.LinearNB("multinomial").fit(rows)
    >>> model.predict_ranks(["GGGGTTTTGGGGTT"])["taxon"].tolist()
    ['k__B; g__z']
    """
    confidence, draws = arguments.share("confidence", confidence), arguments.positive_integer("draws", draws)
    seed = arguments.whole_number("seed", seed)
    model, rows = self._ready(reads)
    _check_of_counts(model, getattr(self, "family", "multinomial"))
    pandas, taxonomy = pandas_for("predict_ranks"), Taxonomy(model.classes_)
    function = RankedDraws(model, taxonomy, draws, seed)
    answers = np.asarray(answer(function, rows, 1 + taxonomy.n_ranks, np.dtype(np.float64)))
    classes, shares = answers[:, 0].astype(np.intp), answers[:, 1:]
    sure = (shares >= confidence) & (shares > 0.0)  # a row without any unit is of no taxon
    n_sure = np.logical_and.accumulate(sure, axis=1).sum(axis=1)
    last = np.maximum(n_sure - 1, 0)
    taxa = np.where(n_sure > 0, taxonomy.names[classes, last], UNKNOWN)
    names = identifiers_of(rows)
    columns = {"read": np.arange(len(answers)) if names is None else names, "taxon": taxa}
    return pandas.DataFrame({**columns, "confidence": shares[np.arange(len(answers)), last]})


def identifiers_of(rows: Any) -> list[str] | None:
    """The identifiers of sequences in files; None for other rows."""
    files = rows.raw if isinstance(rows, RawSource) else None
    return [identifier for identifier, _ in files.headers()] if isinstance(files, SequenceFiles) else None


def _check_of_counts(model: LinearModel, family: Any) -> None:
    """Refuse models whose scores are not sums of weights times counts, as many as there are."""
    plain = model.scale is None and model.second is None and model.curves is None and not sp.issparse(model.weights)
    options = model.options
    changed = options.steps or options.by_length or options.scale or options.columns or options.learned
    counted = set(model.moments) == {"sum"} and not changed and options.step is None
    joint = type(model) is LinearModel and model.scheme.name in ("joint", "two classes")
    if not (joint and plain and counted and as_family(family).name == "multinomial"):
        raise ValueError(
            "predict_ranks draws from counts: it needs a multinomial model with a score for each class and rows as "
            'they are, such as LinearNB("multinomial")'
        )
