"""Folders of parts, here or on an object store, in which a file appears whole or not at all."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import uuid4

from streamnb.core.stored_files import asked, file_system, replacing

ABOUT = "_streamnb"  # the folder with what is known of a run; readers of folders leave out such names
RUN = f"{ABOUT}/run.json"
UNFINISHED = ".unfinished"


@dataclass(frozen=True)
class Folder:
    """A folder on a local or shared disk, or the URL of one that fsspec knows."""

    path: str

    @classmethod
    def at(cls, path: Any, name: str = "folder") -> "Folder":
        """A folder as it was given, by the argument `name`."""
        if not isinstance(path, str | os.PathLike) or not os.fspath(path):
            raise TypeError(f"{name}={path!r} should be the path or the URL of a folder")
        given = os.fspath(path)
        if "://" in given:
            return cls(given.rstrip("/"))
        if os.path.exists(given) and not os.path.isdir(given):
            raise ValueError(f"{name}={given!r} is a file; predictions of a corpus are written to a folder, in parts")
        return cls(os.path.abspath(given))

    @cached_property
    def _store(self) -> tuple[Any, str]:
        return file_system(self.path)

    @property
    def _local(self) -> bool:
        return "://" not in self.path

    def names(self) -> set[str]:
        """The names of all files, relative to the folder; not those that are being written."""
        if self._local:
            root = Path(self.path)
            found = (str(one.relative_to(root)) for one in root.rglob("*") if one.is_file())
            return {name for name in found if not name.endswith(UNFINISHED)}
        files, place = self._store
        files.invalidate_cache()
        return {name[len(place) :].strip("/") for name in files.find(place)} if files.exists(place) else set()

    def read(self, name: str) -> bytes:
        """The content of a file."""
        if self._local:
            return (Path(self.path) / name).read_bytes()
        files, root = self._store
        return asked(lambda: bytes(files.cat_file(f"{root}/{name}")), f"{self.path}/{name}")

    @contextmanager
    def writing(self, name: str) -> Iterator[Any]:
        """Open a file, which appears under its name once it is complete; whoever writes it writes the same bytes."""
        if self._local:
            path = Path(self.path) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                with replacing(path) as file:
                    yield file
            except FileNotFoundError:
                if not path.exists():  # else another run was faster, and has removed what it had no more use for
                    raise
            return
        with replacing(f"{self.path}/{name}") as file:
            yield file

    def write_new(self, name: str, content: bytes) -> bytes:
        """Write a small file unless it is there, and return what it holds then: of several writers, one wins."""
        if name not in self.names():
            if self._local:
                path = Path(self.path) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                mine = path.with_name(f".{path.name}.{uuid4().hex}{UNFINISHED}")
                mine.write_bytes(content)
                with suppress(FileExistsError):
                    os.link(mine, path)
                mine.unlink(missing_ok=True)
            else:
                with self.writing(name) as file:
                    file.write(content)
        return self.read(name)

    def remove(self, names: Any) -> None:
        """Remove files."""
        for name in names:
            with suppress(FileNotFoundError):
                if self._local:
                    (Path(self.path) / name).unlink()
                else:
                    files, root = self._store
                    files.rm_file(f"{root}/{name}")

    def remove_unfinished(self) -> None:
        """Remove what writers that were killed have left, once all files are there."""
        if self._local:
            for left in Path(self.path).rglob(f".*{UNFINISHED}"):
                with suppress(OSError):
                    left.unlink()


def as_json(found: Any) -> bytes:
    """A value as the bytes of a JSON file."""
    return json.dumps(found, indent=1, sort_keys=True).encode()
