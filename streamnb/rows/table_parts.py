"""Tables in parts that others read: datasets of Arrow, and data frames of Dask."""

import os
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from streamnb.rows.table_files import cut_jobs
from streamnb.rows.table_types import DATES, MEASURED, arrow, kind_of
from streamnb.rows.tables import PIECE_ROWS, Reading, Tables, batch_of_frame, check_names, schema_of_frame
from streamnb.rows.text_files import with_sizes

FORMED = *DATES, *MEASURED  # kinds whose types differ in units, zones and precision


class _InParts(Tables):
    """Parts of known lengths, of which each is read as record batches."""

    def _hold(self, lengths: list[int]) -> None:
        self._firsts = [0, *accumulate(lengths)]
        self.n_rows, self.step = self._firsts[-1], max(lengths, default=1)

    def _batches(self, part: int) -> Iterator[Any]:
        """Yield the record batches of a part; each subclass says how."""
        raise NotImplementedError

    def jobs(self, start: int, stop: int) -> Iterator[Reading]:
        first = max(bisect_right(self._firsts, start) - 1, 0)
        for part in range(first, len(self._firsts) - 1):
            if self._firsts[part] >= stop:
                return
            yield from cut_jobs(self.fields, self._batches(part), self._firsts[part], start, stop, "X")


class Dataset(_InParts):
    """A dataset of Arrow, fragment by fragment."""

    def __init__(self, dataset: Any):
        self._dataset, self.schema = dataset, dataset.schema
        self.files = with_sizes(path for path in getattr(dataset, "files", ()) if os.path.isfile(path))
        self._fragments = [part for fragment in dataset.get_fragments() for part in _row_groups(fragment)]
        self._hold([_rows_of(fragment) for fragment in self._fragments])
        width = sum(getattr(field.type, "bit_width", 64) / 8 if _fixed(field.type) else 16 for field in self.schema)
        self.nbytes = int(self.n_rows * width)

    def _batches(self, part: int) -> Iterator[Any]:
        fragment = self._fragments[part]
        own = {field.name: field for field in fragment.physical_schema if field.name in self.fields.features}
        types = []
        for field in self.schema:  # features are brought to one form as they are read, and exactly
            here = own.get(field.name, field)
            types.append(here if all(kind_of(one.type) in FORMED for one in (field, here)) else field)
        yield from fragment.to_batches(
            schema=arrow().schema(types),
            columns=self.fields.all,
            batch_size=PIECE_ROWS,
            batch_readahead=2,
            fragment_readahead=1,
        )


def _row_groups(fragment: Any) -> list[Any]:
    return fragment.split_by_row_group() if hasattr(fragment, "split_by_row_group") else [fragment]


def _rows_of(fragment: Any) -> int:
    groups = getattr(fragment, "row_groups", None)
    return fragment.count_rows() if groups is None else sum(group.num_rows for group in groups)


def _fixed(dtype: Any) -> bool:
    try:
        return bool(dtype.bit_width)
    except ValueError:
        return False


class DaskFrame(_InParts):
    """A data frame of Dask, partition by partition, each computed when it is read."""

    def __init__(self, frame: Any):
        self._frame = frame
        lengths = frame.map_partitions(len).compute()
        self._hold([int(n) for n in lengths])
        check_names([str(name) for name in frame.columns], "X")
        full = next((part for part, n in enumerate(lengths) if n), 0)
        some = frame.get_partition(full).compute()
        self.schema = schema_of_frame(some)
        self.nbytes = int(some.memory_usage(index=False).sum() / max(len(some), 1) * self.n_rows)

    def _batches(self, part: int) -> Iterator[Any]:
        frame = self._frame[self.fields.all].get_partition(part).compute()
        schema = self.schema
        import pyarrow as pa

        yield batch_of_frame(frame, pa.schema([schema.field(name) for name in self.fields.all]))
