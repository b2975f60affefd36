"""`select`: writes the rows of a corpus that models choose, as they are, with their scores beside them.

The best rows are chosen exactly: counts of the bits of scores, added up over parts, give the cut-off.
"""

from __future__ import annotations

import ast
import io
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from streamnb.core import arguments, memory
from streamnb.corpora.predictions import (
    ABOUT,
    SKIP,
    STRICT,
    Folder,
    Made,
    PartWork,
    Written,
    begin,
    check_text,
    corpus,
    description,
    notes_of,
    write_parts,
)
from streamnb.corpora.reading import CorpusPart, CorpusReading, kind_of_files, parts_of
from streamnb.corpora.scoring import ScoredLabels, ScoringModels
from streamnb.passes.answering import separately
from streamnb.passes.contract import RunOptions
from streamnb.rows.files import CSV, FILES, JSON, LINES, WARC, compression_by_name
from streamnb.rows.records import FieldsBeside

COMPARED = {ast.Gt: np.greater, ast.GtE: np.greater_equal, ast.Lt: np.less, ast.LtE: np.less_equal}
JOINED = {ast.And: np.logical_and, ast.Or: np.logical_or}
DIGIT = 16  # bits of the order that a round of counting looks at
SPACES = b" \t\n\r\x0b\x0c"
NEVER = np.iinfo(np.uint64).max  # above the order of every number


@dataclass(frozen=True)
class Condition:
    """A condition as it was written; `names` are those of the labels whose scores it compares."""

    text: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise TypeError(f"where={self.text!r} should be a condition such as 'good > 0.3'")
        try:
            self.holds(dict.fromkeys(self.names, np.zeros(0)))
        except RecursionError as error:
            raise self._wrong("it is nested too deeply") from error

    @property
    def _tree(self) -> Any:
        try:
            return ast.parse(self.text.strip(), mode="eval").body
        except SyntaxError as error:
            raise self._wrong(f"it cannot be read ({error.msg})") from error

    @property
    def names(self) -> tuple[str, ...]:
        """The labels, in the order in which they are named."""
        sides = [side for one in ast.walk(self._tree) if isinstance(one, ast.Compare) for side in self._sides(one)]
        return tuple(dict.fromkeys(name for side in sides if (name := _name(side)) is not None))

    def holds(self, scores: Mapping[str, np.ndarray]) -> np.ndarray:
        """The rows for which it holds, given the scores of each label."""
        return np.asarray(self._evaluated(self._tree, scores))

    def _evaluated(self, node: Any, scores: Mapping[str, np.ndarray]) -> Any:
        if isinstance(node, ast.BoolOp):
            return reduce(JOINED[type(node.op)], [self._evaluated(one, scores) for one in node.values])
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return np.logical_not(self._evaluated(node.operand, scores))
        if isinstance(node, ast.Compare) and all(type(one) in COMPARED for one in node.ops):
            sides = [self._side(one, scores) for one in self._sides(node)]
            pairs = zip(node.ops, sides, sides[1:], strict=False)
            return reduce(np.logical_and, [COMPARED[type(how)](left, right) for how, left, right in pairs])
        raise self._wrong(f"{ast.unparse(node)!r} is no comparison")

    def _sides(self, node: ast.Compare) -> list[Any]:
        return [node.left, *node.comparators]

    def _side(self, node: Any, scores: Mapping[str, np.ndarray]) -> Any:
        name = _name(node)
        if name is not None:
            return scores[name]
        sign = -1.0 if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else 1.0
        value = node.operand if isinstance(node, ast.UnaryOp) else node
        if isinstance(value, ast.Constant) and isinstance(value.value, int | float):
            return sign * value.value
        raise self._wrong(f"{ast.unparse(node)!r} is neither a label nor a number")

    def _wrong(self, why: str) -> ValueError:
        return ValueError(
            f"where={self.text!r}: {why}; it should compare labels with numbers, such as \"en > 0.65 and 'good' > 0.3\""
        )


def _name(node: Any) -> str | None:
    """The label that a name, a quoted string, or a model and a name such as `quality.good` stand for."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Constant) and isinstance(node.value, str | bool):
        return str(node.value)
    if isinstance(node, ast.Attribute) and (model := _name(node.value)) is not None:
        return f"{model}.{node.attr}"
    return None


@dataclass(frozen=True)
class RankedRows:
    """Ranks rows by the scores that a first pass has stored.

    Attributes
    ----------
    folder : Folder
    file : str
        The name of the file with the log-odds of a part, with the part's number to be filled in.
    labels : ScoredLabels
        If several are wanted, the rows with the same best label are a group, which this label ranks.
    condition : Condition, optional
        Rows for which it does not hold are not ranked.
    threshold : float, optional
        Rows whose score is lower are not ranked.
    seed : int, optional
        Seed of the noise with which the best rows are a sample, drawn without replacement by the odds.
    firsts : tuple of int
        Number of the first row of each part, for the noise.
    repeats : str, optional
        Name of the file with a mask of the rows of a part that repeat an earlier row, and are not ranked.
    """

    folder: Folder
    file: str
    labels: ScoredLabels
    condition: Condition | None = None
    threshold: float | None = None
    seed: int | None = None
    firsts: tuple[int, ...] = ()
    repeats: str | None = None

    def stored(self, part: CorpusPart) -> np.ndarray:
        """The log-odds of the rows of a part; NaN of rows that cannot be read."""
        stored = self._loaded(self.file, part)
        return stored if self.repeats is None else stored[:, :-1]  # without the hashes

    def _loaded(self, file: str, part: CorpusPart) -> np.ndarray:
        return np.asarray(np.load(io.BytesIO(self.folder.read(file.format(part.number))), allow_pickle=False))

    def repeated(self, part: CorpusPart, n_rows: int) -> np.ndarray:
        """Which rows of a part repeat an earlier one."""
        return np.zeros(n_rows, bool) if self.repeats is None else self._loaded(self.repeats, part)

    def mark_repeats(self, parts: Sequence[CorpusPart], memory_limit: int | None) -> None:
        """Store which rows repeat an earlier one, by the hashes in the last column of what is stored."""
        assert self.repeats is not None
        seen = Seen(memory_limit)
        for part in parts:
            stored = self._loaded(self.file, part)
            repeated, readable = np.zeros(len(stored), bool), ~np.isnan(stored[:, 0])
            repeated[readable] = seen.repeated(np.ascontiguousarray(stored[readable, -1]).view(np.uint64))
            with self.folder.writing(self.repeats.format(part.number)) as file:
                np.save(file, repeated)

    def ranked(self, odds: np.ndarray, part: CorpusPart) -> tuple[np.ndarray, np.ndarray]:
        """Scores of the rows of a part as whole numbers in the same order; their groups, -1 for rows not ranked."""
        keys, groups = odds[:, 0], np.zeros(len(odds), np.int64)
        if self.labels.n_wanted > 1:
            groups = np.nan_to_num(odds[:, -1], nan=-1.0).astype(np.int64)
            keys = odds[np.arange(len(odds)), groups]
        if self.seed is not None:
            keys = keys + gumbel(self.seed, self.firsts[part.number], len(keys))
        fits = ~(np.isnan(odds[:, 0]) | self.repeated(part, len(odds)))
        if self.condition is not None or self.threshold is not None:
            fits &= fit(self.labels.scores(odds), self.labels, self.condition, self.threshold)
        return ordered(keys), np.where(fits, groups, -1)


def fit(
    scores: dict[str, np.ndarray], labels: ScoredLabels, condition: Condition | None, threshold: float | None
) -> Any:
    """A mask of the rows for which a condition holds, and whose score is high enough."""
    score = scores[labels.names[0]]
    holds = np.broadcast_to(True if condition is None else condition.holds(scores), len(score))
    return holds if threshold is None else holds & (score >= threshold)


class Cut(NamedTuple):
    """For each group the order of the last row chosen, and for each part how many rows of exactly this order."""

    last: np.ndarray
    ties: dict[int, np.ndarray]

    def chosen(self, order: np.ndarray, groups: np.ndarray, part: CorpusPart) -> np.ndarray:
        """A mask of the rows of a part that are chosen; of equal rows the first ones."""
        chosen = np.zeros(len(order), bool)
        n_ties = self.ties.get(part.number, np.zeros(len(self.last), np.int64))
        for group, last in enumerate(self.last):
            members = groups == group
            chosen |= members & (order > last)
            chosen[np.flatnonzero(members & (order == last))[: n_ties[group]]] = True
        return chosen


@dataclass(frozen=True)
class CountOrders:
    """Counts the next digit of the order of the rows whose digits before are those of their group's last row."""

    ranking: RankedRows
    before: tuple[int, ...]
    shift: int

    title, here = "choosing", False

    def __call__(self, part: CorpusPart, n_threads: int) -> tuple[int, list[tuple[np.ndarray, np.ndarray]]]:
        order, groups = self.ranking.ranked(self.ranking.stored(part), part)
        counts = []
        for group, before in enumerate(self.before):
            members = order[groups == group]
            if self.shift + DIGIT < 64:
                members = members[members >> np.uint64(self.shift + DIGIT) == np.uint64(before)]
            digits = (members >> np.uint64(self.shift)).astype(np.int64) & ((1 << DIGIT) - 1)
            counts.append(np.unique(digits, return_counts=True))
        return part.number, counts


def cut_of(
    ranking: RankedRows, parts: Sequence[CorpusPart], wanted: Callable[[np.ndarray], np.ndarray], options: RunOptions
) -> Cut:
    """The cut of the best rows; `wanted` maps the number of rows of each group to how many are chosen."""
    n_groups = max(ranking.labels.n_wanted, 1)
    left, before = np.zeros(n_groups, np.int64), [0] * n_groups
    quiet = replace(options, progress=False)
    for shift in range(64 - DIGIT, -1, -DIGIT):
        totals, by_part = np.zeros((n_groups, 1 << DIGIT), np.int64), {}
        for number, counts in separately(CountOrders(ranking, tuple(before), shift), parts, quiet):
            for group, (digits, n) in enumerate(counts):
                totals[group, digits] += n
            if not shift:
                by_part[number] = counts
        if shift == 64 - DIGIT:
            n_rows = totals.sum(axis=1)
            left = np.minimum(wanted(n_rows), n_rows)
        for group in np.flatnonzero(left).tolist():
            from_best: Any = np.cumsum(totals[group, ::-1])
            place = int(np.searchsorted(from_best, left[group]))
            digit = (1 << DIGIT) - 1 - place
            left[group] -= from_best[place] - totals[group, digit]
            before[group] = before[group] << DIGIT | digit
    last = np.array([order if n else NEVER for order, n in zip(before, left, strict=True)], np.uint64)
    return Cut(last, _ties(left, last, by_part))


def _ties(left: np.ndarray, last: np.ndarray, by_part: dict[int, Any]) -> dict[int, np.ndarray]:
    """How many rows with the order of the last one are chosen in each part: those of the first parts, until enough."""
    ties, left = {}, left.copy()
    digits = last & np.uint64((1 << DIGIT) - 1)
    for number in sorted(by_part):
        chosen = np.zeros(len(left), np.int64)
        for group, (part_digits, counts) in enumerate(by_part[number]):
            equal = int(counts[part_digits == digits[group]].sum()) if left[group] else 0
            chosen[group] = min(equal, left[group])
        left -= chosen
        ties[number] = chosen
    return ties


def ordered(numbers: np.ndarray) -> np.ndarray:
    """uint64 numbers in the order of these float64 numbers."""
    bits = (numbers + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    return np.where(bits >> np.uint64(63) == 1, ~bits, bits | np.uint64(1 << 63))


def gumbel(seed: int, first_row: int, n_rows: int) -> np.ndarray:
    """Gumbel noise for rows; a row's noise depends only on its number and the seed."""
    generator = np.random.Philox(key=seed).advance(first_row // 4)  # a step makes four numbers
    raw = generator.random_raw(first_row % 4 + n_rows)[first_row % 4 :]
    return -np.log(-np.log(((raw >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53))


# ---- texts that repeat an earlier one --------------------------------------------------------------------------------


def hashes_of(texts: Any) -> np.ndarray:
    """Hashes of texts without spaces and in lower case, (n_rows,) uint64; letters beyond ASCII keep their case."""
    whole, bounds = texts.buffer.tobytes(), zip(texts.starts.tolist(), texts.stops.tolist(), strict=True)
    plain = (whole[start:stop].lower().translate(None, SPACES) for start, stop in bounds)
    digests = b"".join(blake2b(text, digest_size=8).digest() for text in plain)
    return np.frombuffer(digests, np.uint64)


class Seen:
    """Hashes seen so far, in sorted arrays, each at most half as long as the one before."""

    def __init__(self, limit: int | None = None):
        self._runs: list[np.ndarray] = []
        self._limit = limit

    def repeated(self, hashes: np.ndarray) -> np.ndarray:
        """A mask of the hashes that occurred before, in these or in earlier ones.

        Raises
        ------
        MemoryError
            The hashes take more than the limit.
        """
        new, first = np.unique(hashes, return_index=True)
        for run in self._runs:
            is_new = run[np.minimum(np.searchsorted(run, new), len(run) - 1)] != new
            new, first = new[is_new], first[is_new]
        repeated = np.ones(len(hashes), bool)
        repeated[first] = False
        self._add(new)
        return repeated

    def _add(self, run: np.ndarray) -> None:
        while self._runs and 2 * len(run) > len(self._runs[-1]):
            run = np.union1d(self._runs.pop(), run)
        if len(run):
            self._runs.append(run)
        n_bytes = 3 * sum(run.nbytes for run in self._runs)  # two arrays are merged into a third
        if n_bytes > memory.allowed(self._limit):
            raise MemoryError(
                f"drop_repeats: {n_bytes // 24:,} different texts take {memory.size(n_bytes)}; give a larger "
                "memory_limit, or select from parts of the corpus separately"
            )


SCORES = f"{ABOUT}/scores"
ENDINGS = dict.fromkeys((JSON, LINES, WARC, FILES), ".jsonl") | {CSV: ".csv"}  # others are tables, in Parquet


# ---- selection -------------------------------------------------------------------------------------------------------


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
    """Select rows of a corpus by a model, and write them to a folder unchanged, with their scores added.

    Rows keep their order. A line of JSON keeps its bytes and gets the score as a last field; blank lines are left out.
    Parts are written as by `write_predictions`: whole or not at all, and only those that are missing.

    Parameters
    ----------
    model : fitted classifier, or dict of these by name
        Several models of texts score the rows in one read.
    X, folder, text, whole_files, errors, force, progress, n_threads, client
        As in `write_predictions`. Kept rows are written in the format of X, compressed like its first file by gzip or
        Zstandard, or else by the latter; plain text and documents as JSON lines.
    label : label, optional
        The wanted class. The score of a row is the probability of this class, or the margin if the model has no
        probabilities.
    threshold : float, optional
        Keep the rows with at least this score.
    share, number : float, int, or dict of these by label, optional
        Keep this share, or number, of the rows: those with the best scores. By label: among the rows for which the
        label is the most probable one. Rows are compared by log-odds, which still differ where probabilities round to
        1.
    resample : int, optional
        Draw this many rows without replacement, with probabilities proportional to the odds of the label (importance
        resampling, Xie et al. 2023).
    where : str, optional
        A condition that kept rows meet, such as ``"en > 0.65 and good > 0.3"``. It names labels, of any model;
        ``'zh-cn' > .5`` quotes a label that is not a word, ``quality.good > .3`` names the model first.
    seed : int
        Seed of `resample`; the draw is the same for any parts, threads and workers.
    drop_repeats : bool
        Leave out rows whose text repeats that of an earlier row, apart from spaces and the case of ASCII letters,
        before any share or number is taken. Texts are compared by 64-bit hashes.
    score : str or None
        The name of the field for the score. Scores of other labels in `where` are written to NAME_LABEL. None writes
        the rows alone.
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
            raise ValueError(f"{ways[0].name}= and {ways[1].name}= are both given; give only one of {one_of}")
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
        raise ValueError(f"label={label!r} and {way.name} by label are both given; give only one of them")
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
        return odds, self.cut.chosen(order, groups, part), self.ranking.repeated(part, len(odds))

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
