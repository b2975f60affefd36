"""Tokens that have names: a vocabulary learned in one pass, and what stands behind hashed columns, of a sample."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamnb.core import memory
from streamnb.encoding.ngrams import NGrams, columns_of, hashes_of
from streamnb.kernels import ngrams
from streamnb.passes.contract import PassTask
from streamnb.rows.block import Block
from streamnb.rows.raw import TextSource
from streamnb.rows.texts import Texts

ENTRY_BYTES = 120  # of a short token in a dict, with its count
PLACES, SAMPLE_ROWS = 64, 256  # where rows are read for names, and how many at each
SHOWN = 3  # tokens of a column that its name has


class TokenCounts:
    """How often each token occurs: partial result and total at once."""

    def __init__(self, tokens: Any = (), counts: Any = (), limit: int | None = None):
        self.counts: Counter[bytes] = Counter()
        for token, n in zip(tokens, counts, strict=True):
            self.counts[token.encode() if isinstance(token, str) else token] = int(n)
        self._limit = limit

    @property
    def nbytes(self) -> int:
        return ENTRY_BYTES * len(self.counts)

    def add(self, found: Mapping[bytes, int]) -> None:
        self.counts.update(found)
        if self.nbytes > memory.allowed(self._limit):
            raise MemoryError(
                f"the texts have more than {len(self.counts):,} different tokens, which take "
                f"{memory.size(self.nbytes)} while a vocabulary is learned; take hashed columns "
                "(vocabulary=None), shorter n-grams, or a larger memory_limit"
            )

    def __add__(self, other: "TokenCounts") -> "TokenCounts":
        both = TokenCounts(limit=self._limit)
        both.counts = self.counts + other.counts
        return both

    def arrays(self) -> dict[str, Any]:
        return {"tokens": [token.decode() for token in self.counts], "counts": list(self.counts.values())}

    def finish(self) -> "TokenCounts":
        return self

    def most_frequent(self, n: int) -> tuple[str, ...]:
        """Those that occur most, of equals those that come first in the order of their code points; in that order."""
        chosen = sorted(self.counts, key=lambda token: (-self.counts[token], token))[:n]
        return tuple(token.decode() for token in sorted(chosen))


@dataclass(frozen=True)
class TokenScan(PassTask):
    """Counts the n-grams of texts."""

    ngrams: NGrams
    memory_limit: int | None = None
    title = "vocabulary"

    def partial(self) -> TokenCounts:
        return TokenCounts(limit=self.memory_limit)

    def add(self, partial: TokenCounts, block: Block) -> None:
        texts, table = self.ngrams.readable(block.X, block.first_row)
        for kind, sizes in ((ngrams.WORDS, self.ngrams.words), (ngrams.CHARACTERS, self.ngrams.chars)):
            if sizes is not None:
                partial.add(_counted(texts, table, kind, sizes))


def _counted(texts: Texts, table: np.ndarray, kind: int, sizes: tuple[int, int]) -> dict[bytes, int]:
    """How often each n-gram occurs in some texts."""
    lengths = texts.stops - texts.starts
    total, longest = int(lengths.sum()), int(lengths.max(initial=0))
    n = ((total // 3 + len(lengths)) if kind == ngrams.WORDS else total) * (sizes[1] - sizes[0] + 1)
    line = np.empty(2 * total + len(lengths) + 8 + ngrams.SPARE, np.uint8)
    slots = np.full(1 << (2 * n).bit_length(), -1, np.int32)
    begins, ends, hits = np.empty(n, np.int64), np.empty(n, np.int64), np.zeros(n, np.int64)
    units = np.empty((2, longest + 1), np.int64)
    found = ngrams.collect_ngrams(
        texts.buffer, texts.starts, texts.stops, table, kind, *sizes, line, units, slots, begins, ends, hits
    )
    joined = line.tobytes()
    bounds = zip(begins[:found].tolist(), ends[:found].tolist(), strict=True)
    return {joined[begin:end]: count for (begin, end), count in zip(bounds, hits[:found].tolist(), strict=True)}


def names_of_hashed(texts: TextSource, ngrams: NGrams, n_tokens: int, prefix: str) -> np.ndarray:
    """Names of hashed columns, (n_features,) str: the tokens of a sample of rows that stand behind each.

    The sample are rows from a few places, the same for the same texts; of its tokens the `n_tokens` most frequent ones
    are kept. A column of which none is known is called by its number.
    """
    n_rows = texts.n_rows or 0
    counts: Counter[tuple[int, str]] = Counter()
    for start in np.unique(np.linspace(0, max(n_rows - SAMPLE_ROWS, 0), PLACES).astype(int)).tolist():
        for block in texts.blocks(start, min(start + SAMPLE_ROWS, n_rows)):
            for row in range(block.n_rows):
                counts.update(ngrams.tokens(block.X.decoded(row, "replace")))
    kept = [pair for pair, _ in counts.most_common(n_tokens)]
    behind: dict[int, list[str]] = {}
    for seed in sorted({seed for seed, _ in kept}):
        tokens = [token for own, token in kept if own == seed]
        columns, _ = columns_of(hashes_of(tokens, seed), ngrams.n_features)
        for column, token in zip(columns.tolist(), tokens, strict=True):
            behind.setdefault(column, []).append(token)
    names = np.array([f"x{column}" for column in range(ngrams.n_features)], object)
    for column, tokens in behind.items():
        names[column] = named(prefix, *tokens[:SHOWN])
    return names


def named(prefix: str, *tokens: str) -> str:
    """The name of a column, such as 'body: "whole word"'."""
    return f"{prefix}: " + " or ".join(f'"{token}"' for token in tokens)
