"""Converts rows of any kind, with labels, weights and groups, to a Zarr store that is fast to read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import row_checks
from streamnb.core.arguments import PerRow, Rows
from streamnb.encoding.opening import opened
from streamnb.passes import stopping
from streamnb.passes.contract import client_for
from streamnb.passes.dask_workers import in_order, reachable
from streamnb.rows.row_blocks import Block
from streamnb.rows.source import Source
from streamnb.rows.writing import write_csr


def convert(
    X: Rows,
    store: Any,
    y: PerRow = None,
    *,
    sample_weight: PerRow = None,
    groups: PerRow = None,
    layer: str | None = None,
) -> Any:
    """Read rows once, block by block, and write them with names, labels, weights and groups to a new Zarr store.

    Parameters
    ----------
    X : (n_rows, n_features)
        As in `scan`, but not in Dask: a path to an .h5ad or svmlight file, AnnData, what `svmlight` or `text` opened,
        texts, a stream.
    store : path, URL or zarr store
        Where the group is created; it must be empty.
    y : (n_rows,) or (n_rows, n_labels), optional
        As in `scan`; not needed for files that hold labels and for streams.
    sample_weight, groups : (n_rows,), optional
        Arrays, or names of columns beside X.
    layer : str, optional
        The layer of AnnData to read instead of its X.

    Returns
    -------
    zarr.Group
        As `write_csr` makes it: ``fit(store, "y")``, with ``sample_weight="sample_weight"`` and ``groups="groups"``
        if these were given. `fit` uses the feature names like the column names of a data frame.

    Raises
    ------
    TypeError
        X is in Dask. (With an active Dask client, workers read and encode what they can open; it is written here.)
    ValueError, DataError
        As in `scan` and `write_csr`.

    Examples
    --------
    >>> import numpy as np
    >>> import streamnb as snb
    >>> group = snb.convert(np.array([[0, 2], [1, 0], [3, 0]]), "rows.zarr", ["a", "b", "b"])
    >>> snb.LinearNB().fit("rows.zarr", "y").predict([[0, 1]]).tolist()
    ['a']
    """
    rows = opened(X, y, sample_weight, labelled=False, layer=layer)
    if groups is not None:
        rows = rows.with_columns(split={"groups": groups})
    if rows.lazy:
        raise TypeError(
            "X is in Dask; convert reads rows where it runs: compute the blocks in a generator and give that to "
            "snb.write_csr, or write a dense array with X.to_zarr"
        )
    chunks = _chunks(rows)
    first = next(chunks, None)
    if first is None:
        row_checks.check_min_size(0, rows.n_features or 1)
    assert first is not None
    names = getattr(rows.given, "columns", None) if rows.feature_names is None else rows.feature_names
    return write_csr(store, chain([first], chunks), n_features=first[0].shape[1], feature_names=names)


def _chunks(rows: Source) -> Iterator[tuple[Any, ...]]:
    """Yield rows with labels, weights and groups, read and encoded here or on workers, in order."""
    client = client_for(None)
    if client is None or not reachable(rows):
        made: Iterator[Any] = map(_chunk, rows.blocks())
    else:
        made = chain.from_iterable(in_order(rows, client, "conversion", _of_segment, None))
    for chunk in made:
        stopping.check()
        yield chunk


def _of_segment(shared: None, rows: Source, start: int, stop: int) -> list[tuple[Any, ...]]:
    return [_chunk(block) for block in rows.blocks(start, stop)]


def _chunk(block: Block) -> tuple[Any, ...]:
    X = block.X
    if isinstance(X, tuple):
        data, indices, indptr, n_features = X
        data = np.ones(len(indices), np.uint8) if data is None else data
        X = sp.csr_array((data, indices, indptr - indptr[0]), shape=(len(indptr) - 1, n_features))
    return X, block.y, block.weight, block.split
