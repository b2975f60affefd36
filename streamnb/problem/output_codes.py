"""Error-correcting output codes (Dietterich and Bakiri 1995): classes as words of bits."""

from typing import Any

import numpy as np

from streamnb.core import arguments

DRAWS = 32  # random codes, from which the one with the largest distance is taken


def check_code(code: Any, n_classes: int) -> np.ndarray:
    """Check a given code and return it as (n_classes, n_bits) bool.

    Raises
    ------
    ValueError
        An entry is neither 0 nor 1, the number of words is not that of the classes, all classes share a bit, or two
        classes have the same word.
    """
    given = np.asarray(code)
    if given.ndim != 2 or given.dtype.kind not in "buif" or not np.isin(given, (0, 1)).all():
        raise ValueError(f"code={code!r} should have a row of bits, 0 or 1, for each class")
    if len(given) != n_classes:
        raise ValueError(f"code has {len(given)} words; it should have one for each of the {n_classes} classes")
    words = given.astype(bool)
    same = np.flatnonzero(words.all(axis=0) | ~words.any(axis=0))
    if same.size:
        raise ValueError(f"bit {same[0]} of code is the same in all words; each should tell some classes from others")
    if n_classes > 1 and distance(words) == 0:
        raise ValueError("two classes have the same word of code; nothing would tell them apart")
    return words


def random_code(n_classes: int, code_size: float, seed: int) -> np.ndarray:
    """A code of ``code_size * n_classes`` bits, (K, B) bool: of several random ones, that with the largest distance."""
    size = arguments.finite_number("code_size", code_size, minimum=0.0)
    n_bits = max(int(size * n_classes), 1)
    least = max(int(np.ceil(np.log2(max(n_classes, 2)))), 1)
    if size == 0.0 or n_bits < least:
        raise ValueError(
            f"code_size={code_size} makes {n_bits} bits for {n_classes} classes, which have no words of their own in "
            f"these; it should be at least {least / n_classes:.3g}"
        )
    rng, best = np.random.default_rng(seed), np.zeros((n_classes, 0), bool)
    for _ in range(DRAWS):
        words = rng.random((n_classes, n_bits)) < 0.5
        same = words.all(axis=0) | ~words.any(axis=0)
        # a bit that all classes share carries no information
        words[rng.integers(n_classes, size=n_bits), np.arange(n_bits)] ^= same
        if not best.size or distance(words) > distance(best):
            best = words
    return best


def distance(words: np.ndarray) -> int:
    """The smallest number of bits in which two words differ."""
    signs = 2.0 * words - 1.0
    alike = signs @ signs.T
    np.fill_diagonal(alike, -np.inf)
    return round((words.shape[1] - float(alike.max())) / 2.0) if len(words) > 1 else words.shape[1]
