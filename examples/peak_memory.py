"""How far a block of code raises the peak resident size of this process."""

import resource
import sys
from contextlib import suppress
from pathlib import Path


class PeakMemory:
    """Context manager; afterwards `peak` (bytes) is the peak inside the block, `growth` that less the size before.

    Where the peak so far cannot be set back, `growth` is no less than the truth on Linux; on systems without
    /proc it is what the block added to the highest peak of the process.
    """

    def __enter__(self):
        forget_peak()
        self._before, _ = resident_and_peak()
        return self

    def __exit__(self, *error):
        _, peak = resident_and_peak()
        self.growth, self.peak = peak - self._before, peak


def forget_peak():
    with suppress(OSError):  # not Linux, or not allowed
        Path("/proc/self/clear_refs").write_text("5")


def resident_and_peak():
    """Resident size now and its peak, in bytes (the peak for both where only that is known)."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        status = dict(line.split(":", 1) for line in lines)
        return tuple(int(status[name].removesuffix("kB")) * 1024 for name in ("VmRSS", "VmHWM"))
    except (OSError, KeyError):
        unit = 1 if sys.platform == "darwin" else 1024
        return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit,) * 2
