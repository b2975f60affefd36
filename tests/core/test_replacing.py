"""Whatever is interrupted, and wherever: the old file or folder is there, or the new one, whole and under its name."""

import builtins
import io
import os
import shutil
import signal
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from streamnb.core.stored_files import put_back, remove_unfinished, replacing, replacing_folder
from tests.support.processes import python

CALLS = ["rename", "replace", "unlink", "rmdir", "open", "fsync", "close", "mkdir"]


def write_file(path, words):
    with replacing(path) as file:
        file.write(words.encode())


def write_folder(path, words):
    with replacing_folder(path) as new:
        (new / "c").mkdir(parents=True)
        for part in (new / "zarr.json", new / "c/0"):
            part.write_text(words)


def read(path):
    """What a file, or all files of a folder, say; they all say the same."""
    files = [path] if path.is_file() else [path / "zarr.json", path / "c/0"]
    (words,) = {file.read_text() for file in files}
    return words


WRITERS = {"file": write_file, "folder": write_folder}


@contextmanager
def stopped_at(n, stop, before):
    """Call `stop` at the n-th system call, before it or right after it; yields a list of the calls."""
    calls, places = [], [*((os, name) for name in CALLS), (builtins, "open"), (io, "open"), (shutil, "rmtree")]
    patch = pytest.MonkeyPatch()

    def counted(name, function):
        def call(*args, **options):
            calls.append(name)
            now = len(calls) == n
            if now and before:
                stop()
            try:
                return function(*args, **options)
            finally:
                if now and not before:
                    stop()

        return call

    for module, name in places:
        patch.setattr(module, name, counted(name, getattr(module, name)))
    try:
        yield calls
    finally:
        patch.undo()


def interrupt():
    raise KeyboardInterrupt


def fail():
    raise OSError(28, "No space left on device")


CLEANING = {"unlink", "rmdir", "rmtree"}
REPLACED = [(kind, before) for kind in WRITERS for before in (True, False)]


@pytest.mark.parametrize("stop", [interrupt, fail])
@pytest.mark.parametrize(("kind", "before"), REPLACED)
def test_an_error_at_any_call_leaves_the_old_or_the_new(kind, before, stop, tmp_path):
    path, write = tmp_path / "rows.zarr", WRITERS[kind]
    for n in range(1, 100):
        if path.exists():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        write(path, "old")
        with suppress(KeyboardInterrupt, OSError), stopped_at(n, stop, before) as calls:
            write(path, "new")
        assert read(path) in ("old", "new")
        if len(calls) < n:
            break
        left = [other for other in tmp_path.iterdir() if other != path]
        assert not left or calls[n - 1] in {*CLEANING, "open", "close"}, (n, calls)
        for other in left:
            shutil.rmtree(other) if other.is_dir() else other.unlink()
    assert 5 < n < 99 and read(path) == "new"


def killed_before_each_call(kind, folder):
    """What is there after a call is there before the next one."""
    path, write = folder / "rows.zarr", WRITERS[kind]
    write(path, "old")
    for n in range(1, 100):
        child = os.fork()
        if not child:
            with stopped_at(n, lambda: os.kill(os.getpid(), signal.SIGKILL), before=True):
                write(path, "new")
            os._exit(0)
        _, status = os.waitpid(child, 0)
        put_back(path)
        assert read(path) in ("old", "new")
        assert not list(folder.glob("*.replaced"))
        if os.WIFEXITED(status):
            break
        write(path, "old")
    assert os.WEXITSTATUS(status) == 0 and 5 < n < 99 and read(path) == "new"
    if kind == "file":
        remove_unfinished(path)
        assert list(folder.iterdir()) == [path]


@pytest.mark.process
@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process is forked to be killed")
@pytest.mark.parametrize("kind", WRITERS)
def test_a_process_killed_before_any_call_leaves_the_old_or_the_new(kind, tmp_path):
    """In a process without threads: a fork of one that has some may wait for them for ever."""
    ended = python("-m", "tests.core.test_replacing", kind, tmp_path, cwd=Path(__file__).parents[2])
    assert ended.returncode == 0, ended.stderr


def test_a_name_that_leads_elsewhere_still_does(tmp_path):
    write_folder(tmp_path / "rows.zarr", "old")
    (tmp_path / "link.zarr").symlink_to("rows.zarr")
    write_folder(tmp_path / "link.zarr", "new")
    assert (tmp_path / "link.zarr").is_symlink() and read(tmp_path / "rows.zarr") == "new"


def test_a_folder_takes_the_place_of_a_file(tmp_path):
    write_file(tmp_path / "rows.zarr", "old")
    write_folder(tmp_path / "rows.zarr", "new")
    assert read(tmp_path / "rows.zarr") == "new" and len(list(tmp_path.iterdir())) == 1


def test_folders_that_are_not_made_leave_the_old_one(tmp_path):
    write_folder(tmp_path / "rows.zarr", "old")
    with pytest.raises(FileNotFoundError), replacing_folder(tmp_path / "rows.zarr"):
        pass
    assert read(tmp_path / "rows.zarr") == "old" and len(list(tmp_path.iterdir())) == 1


def test_what_is_left_of_names_that_begin_alike_is_left_alone(tmp_path):
    others = [tmp_path / f".rows.{name}.7.8.{state}" for name in ("zarr", "5") for state in ("replaced", "unfinished")]
    for other in others:
        other.touch()
    write_folder(tmp_path / "rows", "new")
    remove_unfinished(tmp_path / "rows")
    put_back(tmp_path / "row")
    assert sorted(tmp_path.iterdir()) == sorted([*others, tmp_path / "rows"])


if __name__ == "__main__":
    killed_before_each_call(sys.argv[1], Path(sys.argv[2]))
