"""The report of a pass: rows, bytes, blocks and seconds."""

from dataclasses import dataclass

from streamnb.core import notebook, persistence
from streamnb.rows.block import Block


@persistence.register
@dataclass(frozen=True)
class Report(persistence.Parameters):
    """The work of passes: reads, rows, decoded bytes, blocks and seconds.

    Of `reads` of the rows and their `bytes`, `reads_kept` and `bytes_kept` came from what an earlier read had kept, in
    memory or on disk, and the others from the source; a read of both counts as one from the source. `seconds_reading`
    and `seconds_computing` are summed over threads, `seconds_waiting` is the time that computing waited for reading,
    `seconds` is the wall time: of a pass, or of all that a fit or a search did.
    """

    rows: int = 0
    bytes: int = 0
    blocks: int = 0
    seconds: float = 0.0
    seconds_reading: float = 0.0
    seconds_computing: float = 0.0
    seconds_waiting: float = 0.0
    bytes_kept: int = 0
    reads: int = 0
    reads_kept: int = 0

    @classmethod
    def of_block(cls, block: Block) -> "Report":
        """The report of one block of rows, without times."""
        return cls(block.n_rows, block.nbytes, 1, bytes_kept=block.nbytes if block.kept else 0)

    def __add__(self, other: "Report") -> "Report":
        return Report(**{name: getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__})

    def __str__(self) -> str:
        return (
            f"{self.rows:,} rows, {self.bytes / 1e9:.2f} GB in {self.blocks:,} blocks, {self.seconds:.1f} s "
            f"(reading {self.seconds_reading:.1f}, computing {self.seconds_computing:.1f}, "
            f"waiting {self.seconds_waiting:.1f})"
        ) + self._of_kept

    @property
    def _of_kept(self) -> str:
        """What came from where, if rows were kept."""
        if not self.bytes_kept:
            return ""
        source = f"{self.reads - self.reads_kept} from the source, {(self.bytes - self.bytes_kept) / 1e9:.2f} GB"
        return f"; {self.reads} reads: {source}, {self.reads_kept} of what was kept, {self.bytes_kept / 1e9:.2f} GB"

    def _repr_html_(self) -> str:
        speed = f"{self.bytes / 1e6 / self.seconds:,.1f}" if self.seconds > 0 else "–"
        rows = [
            ("rows", f"{self.rows:,}"),
            ("MB", f"{self.bytes / 1e6:,.1f}"),
            ("blocks", f"{self.blocks:,}"),
            ("seconds", f"{self.seconds:,.2f}"),
            ("seconds reading, over threads", f"{self.seconds_reading:,.2f}"),
            ("seconds computing, over threads", f"{self.seconds_computing:,.2f}"),
            ("seconds waiting for rows", f"{self.seconds_waiting:,.2f}"),
            ("MB/s", speed),
        ]
        if self.reads_kept:
            rows += [("reads", f"{self.reads:,}"), ("reads of what was kept", f"{self.reads_kept:,}")]
            rows += [("MB of what was kept", f"{self.bytes_kept / 1e6:,.1f}")]
        return notebook.table("One scan", rows)
