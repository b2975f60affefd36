"""Saved files: read by NumPy and JSON alone, taken apart, and put together with a checksum that is right."""

import hashlib
import io
import json
import zipfile
from functools import cache

import numpy as np

from streamnb.core.persistence import FORMAT_VERSION
from tests.support.saved_kinds import HERE

SEAL = 64  # bytes of the checksum at the end


def read_without_pickle(path):
    """Fail unless every part of the file is an array without objects, or JSON."""
    with zipfile.ZipFile(path) as container:
        for name in container.namelist():
            if name.endswith(".npy"):
                with container.open(name) as file:
                    np.lib.format.read_array(file, allow_pickle=False)
            else:
                json.loads(container.read(name))


@cache
def members_of(kind):
    """The members of a file of this kind, by name."""
    with zipfile.ZipFile(HERE / f"v{FORMAT_VERSION}-{kind}.snb") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def sealed(path, members, compression=zipfile.ZIP_STORED):
    """A file of these members, pairs of a name and bytes, and the checksum of these."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", compression) as archive:
        for name, content in members:
            archive.writestr(name, content)
        archive.comment = bytes(SEAL)
    content = made.getvalue()[:-SEAL]
    path.write_bytes(content + hashlib.sha256(content).hexdigest().encode())
    return path
