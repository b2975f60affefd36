"""How long a new process takes to its first model, compiled kernels being kept from an earlier one."""

import tempfile
from pathlib import Path

from benchmarks.peers.problems import counts, labels, write_own
from benchmarks.peers.processes import fit_in_a_process


class Start:
    """Of a fit from Zarr."""

    rows, n_features = 2_000, 2**10

    def setup(self):
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name, "rows")
        self.path = write_own(path, counts(self.rows, self.n_features, "zipf"), labels(self.rows, 20))
        fit_in_a_process(self.path)

    def teardown(self):
        self.folder.cleanup()

    def track_import(self):
        """`import streamnb` after `import numpy`."""
        _, before, after, *_ = fit_in_a_process(self.path)
        return after - before

    def track_first_fit(self):
        """The first fit over the second: imports on first use, and kernels from the disk."""
        _, _, before, between, after, _ = fit_in_a_process(self.path)
        return (between - before) - (after - between)

    track_import.unit = track_first_fit.unit = "seconds"
