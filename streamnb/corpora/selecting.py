"""`select`: writes the rows of a corpus that models choose, as they are, with their scores beside them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from streamnb.core import arguments
from streamnb.corpora.choosing import Condition, Cut, RankedRows, cut_of, fit, hashes_of
from streamnb.corpora.parts import ABOUT, SKIP, STRICT, Folder, Made, PartWork, Written, begin, notes_of, write_parts
from streamnb.corpora.predictions import check_text, corpus, description
from streamnb.corpora.reading import CorpusPart, CorpusReading, kind_of_files, parts_of
from streamnb.corpora.scoring import ScoredLabels, ScoringModels
from streamnb.passes.contract import RunOptions
from streamnb.rows.files import CSV, FILES, JSON, LINES, WARC, compression_by_name
from streamnb.rows.records import FieldsBeside

SCORES = f"{ABOUT}/scores"
ENDINGS = dict.fromkeys((JSON, LINES, WARC, FILES), ".jsonl") | {CSV: ".csv"}  # others are tables, in Parquet


def select(
    model: Any,
    X: Any,
    folder: Any,
    label: Any = None,
    *,
    threshold: float | None = None,
    share: Any = None,
    number: Any = None,
    resample: int | None = None,
    where: str | None = None,
    seed: int = 0,
    drop_repeats: bool = False,
    text: str | None = None,
    whole_files: bool = False,
    score: str | None = "score",
    errors: str = STRICT,
    force: bool = False,
    progress: bool | None = None,
    n_threads: int | None = None,
    memory_limit: Any = None,
    client: Any = None,
) -> Written:
    """Write the rows of a corpus that a model chooses to a folder, as they are, with their score beside them.

    Rows stay in their order. A line of JSON keeps its bytes up to its end, which is a newline, and has the score as a
    last field; blank lines are left out. Parts are written as by
    `write_predictions`: whole or not at all, and only those that are missing.

    Parameters
    ----------
    model : fitted classifier, or dict of these by name
        Models of texts may be several, which score the rows in one read.
    X, folder, text, whole_files, errors, force, progress, n_threads, client
        As in `write_predictions`. Kept rows are written in the format of X, packed as its first file is, if by
        gzip or Zstandard, else by the latter; plain text and documents as JSON lines.
    label : label, optional
        The class that is wanted. The score of a row is its probability; of models that have none, the margin.
    threshold : float, optional
        Keep the rows with at least this score.
    share, number : float, int, or dict of these by label, optional
        Keep this share, or number, of the rows: those with the best scores. By label: of the rows of which the label is
        the most probable one. Rows are compared by their log-odds, which differ where probabilities are rounded to 1.
    resample : int, optional
        Draw so many rows without replacement, with probabilities that are as the odds of the label (importance
        resampling, Xie et al. 2023).
    where : str, optional
        A condition that kept rows meet, such as ``"en > 0.65 and good > 0.3"``. It names labels, of any model;
        ``'zh-cn' > .5`` quotes one that is no word, ``quality.good > .3`` has the name of the model before it.
    seed : int
        Of `resample`; a row is drawn or not whatever the parts, threads and workers.
    drop_repeats : bool
        Whether to leave out rows whose text is that of an earlier row, but for spaces and the case of ASCII letters,
        before any share or number is taken. Texts are compared by hashes of 64 bits.
    score : str or None
        The name of the field for the score. Scores of other labels that `where` names are written to NAME_LABEL. None
        writes the rows alone.
    memory_limit : int or str, optional
        Bytes that hashes of texts may take with `drop_repeats`, 24 for each different text; half of the free memory by
        default.

    Returns
    -------
    Written
        Rows, kept rows, bytes and seconds.

    Raises
    ------
    ValueError, TypeError, DataError
        As in `write_predictions`.
    MemoryError
        There are too many different texts for `drop_repeats`.

    Notes
    -----
    `threshold` and `where` take one read. `share`, `number`, `resample` and `drop_repeats` take two. The first stores
    the scores in the folder. Counts of their bits add up over parts and find the exact cut between rows. The second
    read copies the chosen rows without parsing them.

    Examples
    --------
    >>> import json
    >>> import streamnb as snb
    >>> with open("crawl.jsonl", "w") as file:
    ...     for text in ["white wine", "black tea", "red wine, white wine"]:
    ...         _ = file.write(json.dumps({"text": text}) + chr(10))
    >>> rows = snb.text(["white wine", "black tea"], y=["wine", "tea"], n_features=2**10)
    >>> model = snb.LinearNB("multinomial").fit(rows)
    >>> found = snb.select(model, "crawl.jsonl", "kept", "wine", number=1, text="text", score=None)
    >>> with open("kept/part-00000.jsonl") as file:
    ...     print(file.read().strip())
    {"text": "red wine, white wine"}
    """
    started = time.perf_counter()
    arguments.one_of("errors", errors, [STRICT, SKIP])
    seed = arguments.positive_integer("seed", seed, 0)
    options, place = RunOptions(progress, n_threads, memory_limit, client), Folder.at(folder)
    way = Way.of(threshold=threshold, share=share, number=number, resample=resample)
    condition = None if where is None else Condition(where)
    files, models = corpus(model, X, text)
    kind = kind_of_files(files, whole_files)
    check_text(models, kind, files)
    labels = _labels(models, label, way, condition, score)
    if drop_repeats and not hasattr(models.encoding, "ngrams"):
        raise ValueError("drop_repeats=True compares texts, but the model was fitted on a table")
    about = description("selected rows", models, files, (kind, errors)) | {"label": str(label), "score": score}
    about |= {"where": where, "what is kept": [way.name, way.size], "drop_repeats": drop_repeats}
    begin(place, about | {"seed": seed if way.name == "resample" else None}, files, force)
    reading, parts = CorpusReading(kind, models.encoding, whole=True), parts_of(files, kind)
    first = files[0][0]
    packed = {None: "", "gzip": ".gz"}.get(compression_by_name(first), ".zst")
    ending = ENDINGS[kind] + packed if kind in ENDINGS else ".parquet"
    least = None if threshold is None else float(threshold)
    if way.name in ("threshold", "where") and not drop_repeats:
        keeps = KeepRows(place, reading, errors, ending, models, labels, condition, least)
        written = write_parts(keeps, parts, options)
    else:
        stores = StoreScores(place, replace(reading, whole=False), errors, ".npy", models, labels, drop_repeats)
        repeats = f"{SCORES}/repeated-{{:05d}}.npy" if drop_repeats else None
        ranking = RankedRows(place, f"{SCORES}/part-{{:05d}}.npy", labels, condition, least, repeats=repeats)
        copies = KeepChosen(place, reading.alone(), errors, ending, ranking)
        written = _in_two_reads(stores, copies, (way, seed), parts, options)
    place.remove_unfinished()
    return Written.of(written, started)


@dataclass(frozen=True)
class Way:
    """How rows are chosen: by a threshold, a share, a number, as a sample, or by a condition alone."""

    name: str
    size: Any = None

    @classmethod
    def of(cls, **given: Any) -> Way:
        """The one way that is given; by a condition alone if none is."""
        ways = [cls(name, size) for name, size in given.items() if size is not None]
        if len(ways) > 1:
            one_of = ", ".join(f"{name}=" for name in given)
            raise ValueError(f"{ways[0].name}= and {ways[1].name}= are both given; give one of {one_of}")
        if not ways:
            return cls("where")
        (way,) = ways
        if not isinstance(way.size, Mapping):
            return cls(way.name, way._checked(way.size))
        if way.name not in ("share", "number"):
            raise TypeError(f"{way.name}={way.size!r} should be a number; share and number may be given by label")
        if not way.size:
            raise ValueError(f"{way.name}={way.size!r} names no label; give its {way.name} for each label")
        return cls(way.name, {str(label): way._checked(size) for label, size in way.size.items()})

    def _checked(self, size: Any) -> int | float:
        if self.name in ("number", "resample"):
            return arguments.positive_integer(self.name, size)
        if isinstance(size, bool) or not isinstance(size, int | float | np.number) or np.isnan(size):
            raise TypeError(f"{self.name}={size!r} should be a number")
        if self.name == "share" and not 0.0 < size <= 1.0:
            raise ValueError(f"share={size!r} should be above 0, and 1 at most")
        return float(size)

    @property
    def labels(self) -> list[str]:
        """The labels of which each has a size of its own."""
        return [*self.size] if isinstance(self.size, Mapping) else []

    def wanted(self, n_rows: np.ndarray) -> np.ndarray:
        """How many of the rows of each group are chosen."""
        if self.name in ("threshold", "where"):
            return n_rows
        sizes = np.array([*self.size.values()] if self.labels else [self.size])
        return np.floor(sizes * n_rows + 0.5).astype(np.int64) if self.name == "share" else sizes.astype(np.int64)


def _labels(
    models: ScoringModels, label: Any, way: Way, condition: Condition | None, score: str | None
) -> ScoredLabels:
    """The labels whose scores are computed: those that are wanted, then others that the condition names."""
    if score is not None and not isinstance(score, str):
        raise TypeError(f"score={score!r} should be the name of a field, or None")
    if way.labels and label is not None:
        raise ValueError(f"label={label!r} and {way.name} by label are both given; give one of them")
    wanted = way.labels or ([] if label is None else [str(label)])
    if not wanted and way.name != "where":
        raise ValueError(f"{way.name}={way.size!r} needs a label; give label=")
    names = tuple(dict.fromkeys((*wanted, *(condition.names if condition else ()))))
    if not names and condition:
        raise ValueError(f"where={condition.text!r} names no label; it should compare one with a number: 'good > 0.3'")
    if not names:
        raise ValueError("nothing says which rows to keep; give threshold=, share=, number=, resample= or where=")
    columns = tuple(models.column(name, "label" if name in wanted else "where") for name in names)
    return ScoredLabels(names, columns, tuple(map(models.has_probabilities, columns)), len(wanted), score)


def _in_two_reads(
    stores: StoreScores, copies: KeepChosen, how: tuple[Way, int], parts: list[CorpusPart], options: RunOptions
) -> list[Written]:
    """Store the scores of all rows, find the cut between those that are chosen and others, and write the chosen."""
    way, seed = how
    try:
        if len(notes_of(copies, parts)) < len(parts):
            stored = write_parts(stores, parts, options)
            if way.name == "resample":
                firsts = np.cumsum([0, *(part.rows for part in stored)])[:-1].tolist()
                copies = replace(copies, ranking=replace(copies.ranking, seed=seed, firsts=tuple(firsts)))
            filled = [part for part, noted in zip(parts, stored, strict=True) if noted.rows]
            if stores.hashes:
                copies.ranking.mark_repeats(filled, options.memory_limit)
            copies = replace(copies, cut=cut_of(copies.ranking, filled, way.wanted, options))
        written = write_parts(copies, parts, options)
    except FileNotFoundError:  # another run of the same call has ended, and removed the scores
        if len(notes_of(copies, parts)) < len(parts):
            raise
        written = write_parts(copies, parts, options)
    copies.folder.remove([name for name in copies.folder.names() if name.startswith(f"{SCORES}/")])
    return written


@dataclass(frozen=True)
class KeepRows(PartWork):
    """Writes the rows whose score is high enough, and for which a condition holds."""

    models: ScoringModels
    labels: ScoredLabels
    condition: Condition | None
    threshold: float | None

    title = "selection"

    def made(self, rows: Any, begun: Any, job: Any) -> Made:
        odds = self.labels.odds(self.models, rows, job.first_row)
        keep = fit(self.labels.scores(odds), self.labels, self.condition, self.threshold)
        return kept(rows.beside, keep, self.labels.beside(odds[keep]), self.ending)


@dataclass(frozen=True)
class StoreScores(PartWork):
    """Stores the log-odds of all rows."""

    models: ScoringModels
    labels: ScoredLabels
    hashes: bool  # whether a last column has the hash of each text

    title, notes = "scores", SCORES

    def made(self, rows: Any, begun: Any, job: Any) -> Made:
        odds = self.labels.odds(self.models, rows, job.first_row)
        if self.hashes:
            hashes = hashes_of(self.models.texts(rows, job.first_row))
            odds = np.column_stack([odds, hashes.view(np.float64)])
        return Made(odds, len(odds), 0)

    def bad(self) -> Made:
        width = len(self.labels.names) + (self.labels.n_wanted > 1) + self.hashes
        return Made(np.full((1, width), np.nan), 1, 0, 1)

    def file_of(self, part: CorpusPart) -> str:
        return f"{SCORES}/{super().file_of(part)}"

    def writer(self, file: Any) -> Any:
        return ArrayWriter(file)


@dataclass(frozen=True)
class KeepChosen(PartWork):
    """Writes the rows that a cut leaves, which are not parsed again."""

    ranking: RankedRows
    cut: Cut | None = None

    title = "selection"

    def begun(self, part: CorpusPart) -> tuple[np.ndarray, ...]:
        """The log-odds of the rows of a part, which are chosen, and which repeat others."""
        assert self.cut is not None
        odds = self.ranking.stored(part)
        order, groups = self.ranking.ranked(odds, part)
        chosen = self.cut.chosen(order, groups, part)
        return odds, chosen, self.ranking.repeated(part, len(odds))

    def made(self, rows: Any, begun: tuple[np.ndarray, ...], job: Any) -> Made:
        odds, keep, repeated = (one[job.row : job.row + len(rows.beside)] for one in begun)
        made = kept(rows.beside, keep, self.ranking.labels.beside(odds[keep]), self.ending)
        return made._replace(skipped=int(np.isnan(odds[:, 0]).sum()), repeated=int(repeated.sum()))


class ArrayWriter:
    """Writes rows of numbers as one array."""

    def __init__(self, file: Any):
        self._file = file
        self._parts: list[np.ndarray] = []

    def write(self, rows: np.ndarray, header: bytes = b"") -> None:
        self._parts.append(rows)

    def close(self) -> None:
        np.save(self._file, np.concatenate(self._parts))


def kept(stored: Any, keep: np.ndarray, beside: FieldsBeside, ending: str) -> Made:
    """Rows to be written as they are, with scores beside them."""
    some = stored.picked(keep)
    content = some.with_columns(beside) if ending == ".parquet" else some.written(beside)
    return Made(content, len(stored), len(some), header=some.headed(beside))
