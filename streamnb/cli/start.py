"""Where the process of the command line begins: ready for signals before anything that takes time is imported."""

import signal
import sys
from typing import Any

from streamnb.passes import stopping


def main() -> None:
    """Run the command of this process, and leave with its status."""
    signal.signal(signal.SIGTERM, _stop)
    try:
        from streamnb.cli.main import main as run
    except KeyboardInterrupt:
        print("interrupted; nothing is half written", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
    run()


def _stop(number: int, frame: Any) -> None:
    """Passes end after the next block, with what is done in their checkpoint; a second signal ends at once."""
    if stopping.asked.is_set():
        raise stopping.Stopped
    stopping.asked.set()
