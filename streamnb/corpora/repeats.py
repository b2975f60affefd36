"""Texts that repeat an earlier one, letter case and spaces aside, found by hashes of 64 bits."""

from hashlib import blake2b
from typing import Any

import numpy as np

from streamnb.core import memory

SPACES = b" \t\n\r\x0b\x0c"


def hashes_of(texts: Any) -> np.ndarray:
    """Hashes of texts without spaces and in lower case, (n_rows,) uint64; letters beyond ASCII keep their case."""
    whole, bounds = texts.buffer.tobytes(), zip(texts.starts.tolist(), texts.stops.tolist(), strict=True)
    plain = (whole[start:stop].lower().translate(None, SPACES) for start, stop in bounds)
    digests = b"".join(blake2b(text, digest_size=8).digest() for text in plain)
    return np.frombuffer(digests, np.uint64)


class Seen:
    """Hashes that were seen, as sorted arrays each of which is at most half as long as the one before."""

    def __init__(self, limit: int | None = None):
        self._runs: list[np.ndarray] = []
        self._limit = limit

    def repeated(self, hashes: np.ndarray) -> np.ndarray:
        """Which hashes were seen before, here or earlier; the others are seen from now on.

        Raises
        ------
        MemoryError
            The hashes take more than the limit.
        """
        own, first = np.unique(hashes, return_index=True)
        for run in self._runs:
            places = np.minimum(np.searchsorted(run, own), len(run) - 1)
            new = run[places] != own
            own, first = own[new], first[new]
        found = np.ones(len(hashes), bool)
        found[first] = False
        self._add(own)
        return found

    def _add(self, run: np.ndarray) -> None:
        while self._runs and 2 * len(run) > len(self._runs[-1]):
            run = np.union1d(self._runs.pop(), run)
        if len(run):
            self._runs.append(run)
        n_bytes = 3 * sum(one.nbytes for one in self._runs)  # two arrays are merged into a third
        if n_bytes > memory.allowed(self._limit):
            raise MemoryError(
                f"drop_repeats: {n_bytes // 24:,} different texts take {memory.size(n_bytes)}; give a larger "
                "memory_limit, or select from parts of the corpus separately"
            )
