"""Chooses the best rows of a corpus exactly: counts of the bits of scores, added up over parts, give the cut-off."""

import ast
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from streamnb.core import memory
from streamnb.corpora.parts import Folder
from streamnb.corpora.reading import CorpusPart
from streamnb.corpora.scoring import ScoredLabels
from streamnb.passes.answering import separately
from streamnb.passes.contract import RunOptions

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
    negative = bits >> np.uint64(63) == 1
    return np.where(negative, ~bits, bits | np.uint64(1 << 63))


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
