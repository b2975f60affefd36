"""Counts n-grams of words, characters and bytes, hashed or in a vocabulary learned in one pass.

The loops over bytes are in `kernels/ngrams`.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from operator import add
from typing import Annotated, Any, Self

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments, memory, persistence
from streamnb.core.messages import DataError
from streamnb.core.persistence import shown
from streamnb.encoding.records import KINDS, seeds, tokens
from streamnb.kernels import ngrams
from streamnb.passes.contract import Report
from streamnb.passes.statistic import Statistic
from streamnb.rows.row_blocks import Block, frozen
from streamnb.rows.texts import Texts, TextSource, of_strings

PLANES = 0x40000  # higher code points are neither letters nor spaces, and have no case


@cache
def rules(lowercase: bool, ascii_only: bool) -> np.ndarray:
    """The class and lower case of each code point, as Python defines them; see kernels/ngrams."""
    if ascii_only:
        return rules(lowercase, False)[:128].copy()
    characters = "".join(map(chr, range(PLANES)))
    found = np.arange(PLANES, dtype=np.int32)
    if lowercase:
        low = characters.replace("\u0130", "i").replace("\u03a3", "i").lower()  # their lower case depends on context
        found = np.frombuffer(low.encode("utf-32-le", "surrogatepass"), np.int32).copy()
    kinds = np.zeros(PLANES, np.int32)
    for pattern, bit in ((r"\w+", ngrams.WORD), (r"\s+", ngrams.SPACE)):
        for match in re.finditer(pattern, characters):
            kinds[match.start() : match.end()] = bit
    found |= kinds[found]  # words are searched in lower case
    found[[0x130, 0x3A3]] |= ngrams.HARD * lowercase
    return found


@persistence.register
@dataclass(frozen=True)
class NGrams(persistence.Parameters):
    """N-grams of words, characters and bytes, (shortest, longest) each or None, and their columns.

    Words have at least two characters; bytes are those of the text as it is stored, UTF-8 or not. The column of an
    n-gram is the low bits of its hash, MurmurHash3 of its UTF-8 bytes as in scikit-learn's HashingVectorizer, or its
    number in the vocabulary. Of several kinds of n-grams, the hashes of each have a seed of their own, so that a word
    and the same characters share a column only by chance.
    """

    words: tuple[int, int] | None = (1, 1)
    chars: tuple[int, int] | None = None
    n_features: int = 1 << 18
    lowercase: bool = True
    alternate_sign: bool = False
    vocabulary: tuple[str, ...] | None = None
    errors: str = "strict"
    bytes: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        for name in KINDS:
            object.__setattr__(self, name, _sizes(name, getattr(self, name)))
        if not any(self._kinds):
            raise ValueError(
                "words=None, chars=None and bytes=None leave no n-grams: give one of them, such as words=(1, 2)"
            )
        if self.bytes and self.vocabulary is not None:
            raise ValueError(f"bytes={self.bytes!r} are hashed; a vocabulary is of words and chars")
        if self.vocabulary is None:
            check_n_features(self.n_features)
        arguments.one_of("errors", self.errors, ["strict", "replace", "ignore"])

    def columns(self) -> dict[str, Any]:
        """The options that determine the columns."""
        ignored = "errors", "n_features" if self.vocabulary else "vocabulary"
        return {name: value for name, value in self._to_state().items() if name not in ignored}

    @property
    def n_columns(self) -> int:
        return self.n_features if self.vocabulary is None else len(self.vocabulary)

    @property
    def _kinds(self) -> list[tuple[int, int] | None]:
        return [getattr(self, name) for name in KINDS]

    @property
    def n_sizes(self) -> list[int]:
        """How many lengths of n-grams there are of each kind."""
        return [0 if sizes is None else sizes[1] - sizes[0] + 1 for sizes in self._kinds]

    def __call__(self, stored: Texts, first_row: int = 0) -> sp.csr_array:
        """Counts of n-grams, (n_rows, n_columns) float32 with sorted columns."""
        texts, table = self.readable(stored, first_row)
        lengths = np.maximum(texts.stops - texts.starts, stored.stops - stored.starts)
        longest, n_bytes = int(lengths.max(initial=0)), int(lengths.sum())
        line, units = np.empty(2 * longest + 8 + ngrams.SPARE, np.uint8), np.empty((2, longest + 1), np.int64)
        hashes = np.empty((longest + 1) * sum(self.n_sizes), np.int64)
        keys, places = np.empty((2, len(hashes)), np.uint32), np.empty(1 << ngrams.DIGIT, np.int64)
        ranges, of_kinds = (
            np.array([sizes or (1, 0) for sizes in self._kinds], np.int64),
            np.array(seeds(self), np.int64),
        )
        most = n_bytes // 3 + len(lengths), n_bytes, n_bytes  # words, characters and bytes
        n = sum(n_units * sizes for n_units, sizes in zip(most, self.n_sizes, strict=True))
        width = np.int32 if n < 1 << 31 else np.int64  # the same for both, or SciPy would convert one
        indptr, indices, data = np.zeros(len(lengths) + 1, width), np.empty(n, width), np.empty(n, np.float32)
        ngrams.count_ngrams(
            texts.buffer, texts.starts, texts.stops, stored.starts, stored.stops, table, ranges, of_kinds,
            self._known, self.n_columns, int(self.alternate_sign), line, units, hashes, keys[0], keys[1], places,
            indptr, indices, data,
        )  # fmt: skip
        n = int(indptr[-1])
        return sp.csr_array((data[:n], indices[:n], indptr), shape=(texts.shape[0], self.n_columns))

    def readable(self, texts: Texts, first_row: int) -> tuple[Texts, np.ndarray]:
        """Texts that the table of rules handles, and the table; other texts are decoded and lowered by Python."""
        only_bytes = self.words is None and self.chars is None
        ascii_only = only_bytes or bool(len(texts.buffer) == 0 or texts.buffer.max() < 0x80)
        table = rules(self.lowercase, ascii_only)
        if ascii_only:
            return texts, table
        hard = np.empty(texts.shape[0], bool)
        ngrams.find_hard(texts.buffer, texts.starts, texts.stops, table, hard)
        rows = np.flatnonzero(hard)
        if not len(rows):
            return texts, table
        plain = of_strings([self._plain(texts, row, first_row) for row in rows.tolist()])
        starts, stops, n = texts.starts.copy(), texts.stops.copy(), len(texts.buffer)
        starts[rows], stops[rows] = plain.starts + n, plain.stops + n
        return Texts(frozen(np.concatenate([texts.buffer, plain.buffer])), starts, stops), table

    def _plain(self, texts: Texts, row: int, first_row: int) -> str:
        try:
            text = texts.decoded(row, self.errors)
        except UnicodeDecodeError as error:
            raise DataError(
                f"{texts.where}: the text of row {first_row + row} is not UTF-8 ({error}); errors='replace' puts "
                "U+FFFD for what cannot be read"
            ) from error
        return text.lower() if self.lowercase else text

    @cached_property
    def _known(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The vocabulary for the kernel: a hash table of its numbers, its bytes, and where each token begins."""
        if self.vocabulary is None:
            return np.empty(0, np.int32), frozen(np.empty(0, np.uint8)), np.empty(0, np.int64)
        slots = np.full(1 << (2 * len(self.vocabulary)).bit_length(), -1, np.int32)
        ngrams.place_each(hashes_of(self.vocabulary), slots)
        texts = of_strings(self.vocabulary)
        return slots, frozen(texts.buffer), np.append(texts.starts, len(texts.buffer))


def _sizes(name: str, given: Any) -> tuple[int, int] | None:
    """The shortest and the longest n-gram, from a pair or from one number for both."""
    if given is None:
        return None
    pair = (given, given) if isinstance(given, int | np.integer) else given
    try:
        low, high = (arguments.positive_integer(name, size) for size in pair)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}={given!r} should be (shortest, longest), such as (1, 2), or None") from error
    if low > high:
        raise ValueError(f"{name}={given!r} should be (shortest, longest), with the shorter length first")
    return low, high


def check_n_features(n_features: Any, name: str = "n_features") -> int:
    """Check a number of hashed columns, which is a power of two."""
    n = arguments.positive_integer(name, n_features)
    if n & (n - 1) or n > 1 << 30:
        below = 1 << min(n.bit_length() - 1, 30)
        raise ValueError(
            f"{name}={n_features!r} should be a power of two, at most 2**30, because a column is the low bits of a "
            f"hash; such as {below:,}" + (f" or {2 * below:,}" if below < 1 << 30 else "")
        )
    return n


def hashes_of(tokens: Sequence[Any], seed: int = 0) -> np.ndarray:
    """32-bit MurmurHash3 of strings or bytes, (n,) int64."""
    texts = of_strings([*tokens, "\0" * ngrams.SPARE])
    hashes = np.empty(len(tokens), np.int64)
    ngrams.hash_each(texts.buffer, texts.starts[:-1], texts.stops[:-1], seed, hashes)
    return hashes


def columns_of(hashes: np.ndarray, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns and signs of hashes, as in scikit-learn's FeatureHasher."""
    negative = hashes >> 31
    return (hashes ^ -negative) + negative & (n_features - 1), 1 - 2 * negative


ENTRY_BYTES = 120  # of a short token and its count in a dict
PLACES, SAMPLE_ROWS = 64, 256  # positions at which rows are sampled for names, and rows at each
SHOWN = 3  # tokens of a column that appear in its name


@dataclass(eq=False)
class TokenCounts(Statistic):
    """The count of each n-gram of texts, as bytes of UTF-8; weights are numbers of copies."""

    ngrams: NGrams
    memory_limit: int | None = None
    counts: Annotated[Counter[bytes], add] = field(default_factory=Counter)
    title = "vocabulary"

    @property
    def nbytes(self) -> int:
        return ENTRY_BYTES * len(self.counts)

    def add_block(self, block: Block) -> None:
        texts, table = self.ngrams.readable(block.X, block.first_row)
        copies = np.ones(block.n_rows, np.int64) if block.weight is None else block.weight.astype(np.int64)
        for kind, sizes in ((ngrams.WORDS, self.ngrams.words), (ngrams.CHARACTERS, self.ngrams.chars)):
            if sizes is not None:
                self.counts.update(_counted(texts, copies, table, kind, sizes))
        if self.nbytes > memory.allowed(self.memory_limit):
            raise MemoryError(
                f"the texts have more than {len(self.counts):,} different tokens, which take "
                f"{memory.size(self.nbytes)} while a vocabulary is learned; use hashed columns "
                "(vocabulary=None), shorter n-grams, or a larger memory_limit"
            )

    def scaled(self, factor: float) -> Self:
        """The counts multiplied by a factor."""
        return replace(self, counts=Counter({token: count * factor for token, count in self.counts.items()}))

    def ended(self, report: Report) -> Self:
        return self

    def about(self) -> dict[str, str]:
        return {"ngrams": shown(self.ngrams)}

    def arrays(self) -> dict[str, Any]:
        return {"tokens": [token.decode() for token in self.counts], "counts": list(self.counts.values())}

    def of_arrays(self, arrays: Mapping[str, Any]) -> Self:
        tokens, counts = persistence.part(arrays, "tokens", list[str]), persistence.part(arrays, "counts", list[int])
        return replace(self, counts=Counter(dict(zip(map(str.encode, tokens), counts, strict=True))))

    def most_frequent(self, n: int) -> tuple[str, ...]:
        """The n most frequent tokens, sorted by code points, which also break ties."""
        chosen = sorted(self.counts, key=lambda token: (-self.counts[token], token))[:n]
        return tuple(token.decode() for token in sorted(chosen))


def _counted(
    texts: Texts, copies: np.ndarray, table: np.ndarray, kind: int, sizes: tuple[int, int]
) -> dict[bytes, int]:
    """The counts of the n-grams in a block of texts, each in so many copies."""
    lengths = texts.stops - texts.starts
    total, longest = int(lengths.sum()), int(lengths.max(initial=0))
    n = ((total // 3 + len(lengths)) if kind == ngrams.WORDS else total) * (sizes[1] - sizes[0] + 1)
    line = np.empty(2 * total + len(lengths) + 8 + ngrams.SPARE, np.uint8)
    slots = np.full(1 << (2 * n).bit_length(), -1, np.int32)
    begins, ends, hits = np.empty(n, np.int64), np.empty(n, np.int64), np.zeros(n, np.int64)
    units = np.empty((2, longest + 1), np.int64)
    found = ngrams.collect_ngrams(
        texts.buffer, texts.starts, texts.stops, copies, table, kind, *sizes, line, units, slots, begins, ends, hits
    )
    joined = line.tobytes()
    bounds = zip(begins[:found].tolist(), ends[:found].tolist(), strict=True)
    return {joined[begin:end]: count for (begin, end), count in zip(bounds, hits[:found].tolist(), strict=True)}


def names_of_hashed(texts: TextSource, ngrams: NGrams, n_tokens: int, prefix: str) -> np.ndarray:
    """Names of hashed columns, (n_features,) str: the tokens in a sample of rows that hash to each.

    The sample is a few runs of rows, the same for the same texts; only its `n_tokens` most frequent tokens
    are kept. A column without a known token is named by its number.
    """
    n_rows = texts.n_rows or 0
    counts: Counter[tuple[int, bytes]] = Counter()
    for start in np.unique(np.linspace(0, max(n_rows - SAMPLE_ROWS, 0), PLACES).astype(int)).tolist():
        for block in texts.blocks(start, min(start + SAMPLE_ROWS, n_rows)):
            for row in range(block.n_rows) if block.weight is None else np.flatnonzero(block.weight).tolist():
                counts.update(tokens(ngrams, block.X.raw(row)))
    kept = [pair for pair, _ in counts.most_common(n_tokens)]
    by_column: dict[int, list[bytes]] = {}
    for seed in sorted({seed for seed, _ in kept}):
        own = [token for its_seed, token in kept if its_seed == seed]
        columns, _ = columns_of(hashes_of(own, seed), ngrams.n_features)
        for column, token in zip(columns.tolist(), own, strict=True):
            by_column.setdefault(column, []).append(token)
    names = np.array([f"x{column}" for column in range(ngrams.n_features)], object)
    for column, found in by_column.items():
        names[column] = named(prefix, *(token.decode(errors="backslashreplace") for token in found[:SHOWN]))
    return names


def named(prefix: str, *tokens: str) -> str:
    """The name of a column, such as 'body: "whole word"'."""
    return f"{prefix}: " + " or ".join(f'"{token}"' for token in tokens)
