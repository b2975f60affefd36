"""Python in processes of its own, and how long tests wait for what comes with time."""

import subprocess
import sys

PATIENCE = 600.0  # seconds, only for what never comes: a machine may be slow, and may stand still for a while


def python(*arguments, **options):
    """Run Python with these arguments to its end; its `returncode`, `stdout` and `stderr`."""
    fixed = {"capture_output": True, "text": True, "stdin": subprocess.DEVNULL, "timeout": PATIENCE}
    return subprocess.run([sys.executable, *map(str, arguments)], **fixed, **options)
