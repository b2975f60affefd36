"""Scratch files: what they hold, how much they may take, and where they lie."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import streamnb as snb
from streamnb.core import scratch
from streamnb.core.scratch import ScratchFile
from tests.support.failing_disk import flip_a_bit
from tests.support.refusals import refuses


@pytest.fixture(autouse=True)
def default_scratch():
    yield
    snb.set_scratch()


def buffers(*arrays):
    return [memoryview(np.ascontiguousarray(array)).cast("B") for array in arrays]


def test_records_come_back_and_take_no_name_and_no_space_once_closed(tmp_path):
    snb.set_scratch(tmp_path, limit=5000)
    file, rng = ScratchFile(tmp_path), np.random.default_rng(0)
    records = [[rng.integers(0, 256, n, np.uint8) for n in sizes] for sizes in ((3, 0, 200), (64,), (1, 1))]
    for record in records:
        file.append(buffers(*record))
    file.close_writing()
    assert len(file) == 3 and os.listdir(tmp_path) == []
    for number in (2, 0, 1, 2):
        found = [np.frombuffer(part, np.uint8) for part in file.read(number)]
        assert [part.tolist() for part in found] == [part.tolist() for part in records[number]]
    free = scratch.space(tmp_path)
    file.close()
    assert scratch.space(tmp_path) == 5000 > free
    with pytest.raises(OSError, match="is closed"):
        file.append([])
        file.read(0)


def test_no_more_is_written_than_the_limit_of_all_files(tmp_path):
    snb.set_scratch(tmp_path, limit=1000)
    first, second = ScratchFile(tmp_path), ScratchFile(tmp_path)
    first.append(buffers(np.zeros(600, np.uint8)))
    refuses(OSError, r"more than the limit of 1\.0 kB", lambda: second.append(buffers(np.zeros(600, np.uint8))))
    first.close()
    second.append(buffers(np.zeros(600, np.uint8)))
    second.close()


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs the files of this process")
def test_a_bit_that_has_changed_is_found(tmp_path):
    file = ScratchFile(tmp_path)
    for _ in range(2):
        file.append(buffers(np.arange(100)))
    file.close_writing()
    flip_a_bit(tmp_path, 900)
    assert len(file.read(0)) == 1
    refuses(OSError, "checksum is wrong", lambda: file.read(1))
    file.close()


FULL = """
import resource, numpy as np
from pathlib import Path
from streamnb.core.scratch import ScratchFile
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
file = ScratchFile(Path({folder!r}))
try:
    file.append([memoryview(bytes(200_000))])
    file.close_writing()
except OSError as error:
    print("refused:", error)
file.close()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of file sizes differ")
def test_the_system_refuses_to_write_and_that_is_an_oserror(tmp_path):
    code = FULL.format(folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=True)
    assert done.stdout.startswith("refused: [Errno 27]") and not done.stderr


def test_the_folder_is_the_one_set_then_that_of_the_environment(tmp_path, monkeypatch):
    assert scratch.folder() == Path("/var/tmp") and not scratch.chosen_by_user()
    monkeypatch.setenv("STREAMNB_SCRATCH", str(tmp_path))
    assert scratch.folder() == tmp_path and scratch.chosen_by_user()
    snb.set_scratch(tmp_path / "made" / "here", limit="1GB")
    assert scratch.folder() == tmp_path / "made" / "here" and scratch.folder().is_dir()
    assert scratch.space(scratch.folder()) == 10**9 and scratch.space(tmp_path / "missing") == 0
    snb.set_scratch()
    assert scratch.folder() == tmp_path


def test_folders_and_limits_that_cannot_be(tmp_path):
    with pytest.raises(ValueError, match=r"path='/dev/null/x' cannot be written .* give a folder on a local disk"):
        snb.set_scratch("/dev/null/x")
    refuses(ValueError, "limit='much' should be a number of bytes above 0", snb.set_scratch, tmp_path, limit="much")
    assert scratch.folder() == Path("/var/tmp")


def test_network_disks_and_memory_are_told_from_local_disks(tmp_path):
    mounts = tmp_path / "mounts"
    home = os.path.realpath(tmp_path)
    mounts.write_text(
        f"/dev/vda / ext4 rw 0 0\nserver:/x {home}/far\\040away nfs4 rw 0 0\ntmpfs {home}/mem tmpfs rw 0 0\n"
    )
    assert scratch.drawback(tmp_path, str(mounts)) is None
    assert scratch.drawback(tmp_path / "far away" / "deep", str(mounts)) == "lies on a network disk (nfs4)"
    assert scratch.drawback(tmp_path / "far awaya", str(mounts)) is None
    assert scratch.drawback(tmp_path / "mem", str(mounts)) == "is in memory (tmpfs)"
    assert scratch.drawback(tmp_path, str(tmp_path / "none")) is None


@pytest.mark.skipif(scratch.drawback(Path("/dev/shm")) is None, reason="no folder in memory")
def test_a_folder_in_memory_is_warned_of():
    with pytest.warns(snb.StreamnbWarning, match=r"/dev/shm is in memory \(tmpfs\)"):
        snb.set_scratch("/dev/shm")


@pytest.mark.skipif(scratch.drawback(Path("/dev/shm")) is None, reason="no folder in memory")
def test_a_folder_of_the_environment_is_warned_of_once_it_is_used(monkeypatch):
    monkeypatch.setenv("STREAMNB_SCRATCH", "/dev/shm")
    monkeypatch.setattr(scratch._Settings, "warned_of", set())

    def X():
        yield np.arange(40.0).reshape(20, 2), np.arange(20) % 2

    with pytest.warns(snb.StreamnbWarning, match=r"/dev/shm is in memory \(tmpfs\); snb.set_scratch\(path\) sets"):
        assert snb.SoftmaxRegression().fit(X, keep="disk").report_.reads_kept > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        snb.SoftmaxRegression().fit(X, keep="disk")
