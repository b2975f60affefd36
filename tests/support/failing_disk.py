"""A disk that changes what was written."""

import os
from pathlib import Path


def flip_a_bit(folder, at):
    """Change a file without a name in a folder, as a disk that fails does."""
    for link in Path("/proc/self/fd").iterdir():
        if os.path.exists(link) and os.readlink(link).startswith(str(folder)):
            with open(link, "r+b") as file:
                file.seek(at)
                byte = file.read(1)[0]
                file.seek(at)
                file.write(bytes([byte ^ 16]))
            return
    raise AssertionError(f"no file is open in {folder}")
