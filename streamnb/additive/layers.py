"""Layers of an additive model: the same terms in coarse and in fine steps, of which every cell has the sum."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from streamnb.encoding.bins import BinEdges
from streamnb.encoding.terms import FINEST, CodedFeatures, TermColumns

FeaturePair = tuple[int, int]

PAIR_RESOLUTIONS = 4, 8, 16, 32
FINER = -0.5  # power of how many more steps there are than coarsest ones, by which factors fall; chosen on folds
PAIR_FINER = -0.125  # the same, of cells of pairs


@dataclass(frozen=True, eq=False)
class AdditiveTerms:
    """The terms of an additive model: features and pairs of them, each at several resolutions."""

    coded: CodedFeatures
    resolutions: tuple[int, ...]
    pairs: tuple[FeaturePair, ...] = ()

    def columns(self, base: BinEdges | None = None) -> TermColumns:
        """The step that makes columns of these terms, at the finest resolution of each; with `base`, of numbers."""
        return TermColumns.of(base, self.coded, [(term, resolutions[-1]) for term, resolutions in self._terms])

    @cached_property
    def layers(self) -> "TermLayers":
        """The terms at all of their resolutions."""
        return TermLayers.of(self.columns(), self.coded, [resolutions for _, resolutions in self._terms])

    def factors(self, pair_factor: float) -> np.ndarray:
        """Factors of the steps of layers, whose penalties are divided by their squares.

        The finer the steps, the smaller the expected differences between neighbours.
        """
        layers = self.layers
        alone = layers.terms < self.coded.n_features
        of_terms, power = np.where(alone, 1.0, pair_factor**-0.5), np.where(alone, FINER, PAIR_FINER)
        return np.repeat(of_terms * layers.finer**power, layers.widths)

    @property
    def _terms(self) -> list[tuple[tuple[int, ...], Sequence[int]]]:
        """The features of each term and its resolutions, the finest last."""
        mains = [((j,), self._of_feature(j)) for j in range(self.coded.n_features)]
        return [*mains, *((pair, PAIR_RESOLUTIONS) for pair in self.pairs)]

    def _of_feature(self, feature: int) -> list[int]:
        """The resolutions of a feature that differ; levels have their own alone."""
        if not self.coded.ordered[feature]:
            return [FINEST]
        n_codes = self.coded.firsts[feature + 1] - self.coded.firsts[feature]
        return [*(r for r in self.resolutions if r < n_codes), FINEST]


@dataclass(frozen=True, eq=False)
class TermLayers:
    """Steps at several resolutions, whose scores add up to those of the finest.

    Attributes
    ----------
    terms : (n_layers,) ints
        The number of each layer's term, ascending.
    widths : (n_layers,) ints
        The number of steps of each layer, or of cells of two features.
    parts : (n_columns, n_steps) CSR array
        1 where a column of the finest resolution is part of a step, of as many as its term has layers. Steps are parts
        of those of the coarser layers of their term.
    """

    terms: np.ndarray
    widths: np.ndarray
    parts: sp.csr_array

    @classmethod
    def of(cls, columns: TermColumns, coded: CodedFeatures, resolutions: Sequence[Sequence[int]]) -> "TermLayers":
        """The layers of terms, given their columns at the finest of these resolutions."""
        terms, widths, rows, places, first = [], [], [], [], 0
        for term, (features, sides) in enumerate(zip(columns.features.tolist(), columns.sides, strict=True)):
            of_column = np.arange(columns.starts[term], columns.starts[term + 1])
            layers, parts_of_it = list[tuple[int, np.ndarray]](), of_column - of_column[0]
            for resolution in reversed(resolutions[term]):
                coarse = [coded.steps(j, resolution) for j in features if j >= 0]
                cells = _steps_of_steps(sides[0], coarse[0])
                width = int(coarse[0].max()) + 1
                if len(coarse) > 1:
                    n_second = int(coarse[1].max()) + 1
                    cells = (cells[:, None] * n_second + _steps_of_steps(sides[1], coarse[1])).reshape(-1)
                    width *= n_second
                _, firsts, inverse = np.unique(parts_of_it, return_index=True, return_inverse=True)
                parts_of_it = cells[firsts][inverse]
                layers.append((width, parts_of_it))
            for width, cells in reversed(layers):
                terms.append(term)
                widths.append(width)
                rows.append(of_column)
                places.append(first + cells)
                first += width
        where = np.concatenate(rows), np.concatenate(places)
        parts = sp.csr_array((np.ones(len(where[0])), where), shape=(columns.n_columns, first))
        return cls(np.array(terms), np.array(widths), parts)

    @property
    def finer(self) -> np.ndarray:
        """How many times as many steps each layer has as the coarsest of its term, (n_layers,)."""
        return self.widths / self.widths[np.searchsorted(self.terms, self.terms)]

    @cached_property
    def tree(self) -> tuple[np.ndarray, np.ndarray]:
        """The step that each step is part of, -1 for the coarsest, and the finest step of each column."""
        indptr, steps = self.parts.indptr, self.parts.sorted_indices().indices
        parents = np.full(self.parts.shape[1], -1, np.int32)
        parents[steps[1:]] = steps[:-1]
        parents[steps[indptr[:-1]]] = -1
        return parents, steps[indptr[1:] - 1]

    def degrees_of_freedom(self, curvature: np.ndarray, l2: float) -> np.ndarray:
        """About how many free numbers each term has: the sum of h / (h + l2) over its steps.

        `curvature` (n_steps,) is the second derivative of the loss in the weight of each.
        """
        share = np.divide(curvature, curvature + l2, out=np.zeros(len(curvature)), where=curvature > 0.0)
        return np.bincount(np.repeat(self.terms, self.widths), share)


def _steps_of_steps(fine: np.ndarray, coarse: np.ndarray) -> np.ndarray:
    """The coarse step that each fine step is part of."""
    found = np.zeros(int(fine.max()) + 1, np.int64)
    found[fine] = coarse
    return found
