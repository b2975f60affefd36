"""Rows that are kept from read to read: once made, the same, freed in time, and read again where they are lost."""

import gc
import os
import subprocess
import sys
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.core import memory, scratch
from streamnb.rows.keeping import Keeping, KeptSource, Space
from streamnb.rows.opening import opened
from tests.support.failing_disk import flip_a_bit
from tests.support.read_rows import matrix_of

LIMIT = 10**9
rng = np.random.default_rng(7)
TEXTS = [" ".join(rng.choice(["ash", "birch", "cedar", "larch", "pine"], 6)) for _ in range(40)]


@pytest.fixture(autouse=True)
def own_folder(tmp_path):
    snb.set_scratch(tmp_path, LIMIT)
    yield
    assert scratch.space(tmp_path) == LIMIT  # all is freed
    snb.set_scratch()


def texts():
    return snb.text(TEXTS, y=np.arange(40) % 3, n_features=64)


def chunks(n=5):
    for first in range(0, 8 * n, 8):
        yield sp.csr_array(np.outer(np.arange(first, first + 8), [1.0, 0.0, 0.5])), np.arange(8) % 2


def kept(rows):
    return all([block.kept for block in rows.blocks()])  # a read to its end


@pytest.mark.parametrize("keep", ["auto", "memory", "disk"])
def test_rows_are_made_once_and_are_the_same(keep, tmp_path):
    made, source = matrix_of(texts()), texts()
    with Keeping(keep) as keeping:
        rows = keeping.kept(source)
        assert isinstance(rows, KeptSource) and (rows.n_rows, rows.n_features) == (40, 64)
        assert not kept(rows)
        taken, source.raw.jobs = LIMIT - scratch.space(tmp_path), None  # so that nothing can be made again
        for _ in range(2):
            np.testing.assert_array_equal(matrix_of(rows), made)
            assert kept(rows)
        np.testing.assert_array_equal(matrix_of(rows, 7, 19), made[7:19])
        assert next(rows.blocks(7, 19)).first_row == 7
        assert (taken > 0) == (keep == "disk") and os.listdir(tmp_path) == []


def test_rows_too_many_for_memory_go_to_disk(tmp_path):
    made = matrix_of(opened(chunks()))
    for keep in ("auto", "memory"):
        with Keeping(keep, memory_limit=500) as keeping:
            rows = keeping.kept(opened(lambda: chunks()))
            list(rows.blocks())
            assert keeping.space.memory_left == 125
            assert kept(rows) == (keep == "auto")
            np.testing.assert_array_equal(matrix_of(rows), made)


def test_a_read_that_stops_early_keeps_nothing_and_a_source_that_ends_frees_its_rows(tmp_path):
    with Keeping("disk") as keeping:
        rows = keeping.kept(opened(lambda: chunks()))
        reading = rows.blocks()
        next(reading)
        assert scratch.space(tmp_path) < LIMIT
        reading.close()
        assert scratch.space(tmp_path) == LIMIT and not kept(rows) and kept(rows)
        copy = rows.wanted(False, 1 << 20)
        assert kept(copy)
        del rows
        gc.collect()
        assert scratch.space(tmp_path) < LIMIT
        del copy
        gc.collect()
        assert scratch.space(tmp_path) == LIMIT


def test_the_collector_may_free_rows_while_others_take_their_room(monkeypatch):
    """It runs whenever it likes, also in a thread that holds the lock."""
    rows = Keeping("memory").kept(opened(lambda: chunks()))
    rows.cycle, taken = rows, []
    assert not kept(rows)
    del rows

    def collected(limit):
        taken.append(Space.taken_by_all)
        return gc.collect() + LIMIT

    monkeypatch.setattr(memory, "allowed", collected)
    assert Space("memory").takes(8) and Space.taken_by_all == 8 < taken[0]
    Space("memory").give_back(8)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs the files of this process")
@pytest.mark.parametrize("source", [texts, lambda: opened(lambda: chunks())])
def test_rows_that_have_changed_on_disk_are_read_from_their_source(source, tmp_path):
    made = matrix_of(source())
    with Keeping("disk") as keeping:
        rows = keeping.kept(source())
        list(rows.blocks())
        flip_a_bit(tmp_path, LIMIT - scratch.space(tmp_path) - 100)
        with pytest.warns(
            snb.StreamnbWarning, match="checksum is wrong; where rows are not kept, each read takes them"
        ):
            np.testing.assert_array_equal(matrix_of(rows), made)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_array_equal(matrix_of(rows), made)
        assert not kept(rows)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs the files of this process")
def test_an_iterator_fits_or_is_refused(tmp_path):
    made = matrix_of(opened(chunks()))
    with Keeping("disk") as keeping:
        rows = keeping.kept(opened(chunks()))
        rows.check_read_again("this")
        for _ in range(3):
            np.testing.assert_array_equal(matrix_of(rows), made)
        flip_a_bit(tmp_path, 1)
        with pytest.raises(ValueError, match=r"can be read once, and what was kept of it is lost .*checksum"):
            list(rows.blocks())
    with Keeping("memory", memory_limit=500) as keeping, pytest.raises(ValueError, match="fit neither into memory nor"):
        list(keeping.kept(opened(chunks())).blocks())
    snb.set_scratch(tmp_path, limit=500)
    refused = pytest.raises(ValueError, match=r"limit of 0\.5 kB\); pass a callable .* snb.set_scratch\(path, limit=")
    with Keeping("disk") as keeping, pytest.warns(snb.StreamnbWarning, match=r"limit of 0\.5 kB"), refused:
        list(keeping.kept(opened(chunks())).blocks())
    snb.set_scratch(tmp_path, LIMIT)


@pytest.mark.parametrize("limit", [1, 1000])
def test_without_space_rows_are_read_from_their_source(limit, tmp_path):
    snb.set_scratch(tmp_path, limit=limit)
    made = matrix_of(opened(chunks()))
    with Keeping("disk") as keeping:
        rows = keeping.kept(opened(lambda: chunks()))
        with pytest.warns(snb.StreamnbWarning, match="rows cannot be kept on disk .*more than the limit") as warned:
            for _ in range(3):
                np.testing.assert_array_equal(matrix_of(rows), made)
        assert len(warned) == 1 and not kept(rows) and scratch.space(tmp_path) == limit
    snb.set_scratch(tmp_path, LIMIT)


def test_the_warning_of_a_full_disk_says_how_much_is_needed(tmp_path):
    snb.set_scratch(tmp_path, limit="10MB")
    said = r"on disk in .*; snb.set_scratch\(path, limit=..\) gives more space, of which all rows need about 12\.8 MB"
    with Keeping("disk") as keeping, pytest.warns(snb.StreamnbWarning, match=said):
        x = np.random.default_rng(0).normal(size=(200_000, 8))
        list(keeping.kept(opened(x, labelled=False), costly=True).blocks())
    snb.set_scratch(tmp_path, LIMIT)


def test_a_folder_that_has_gone(tmp_path):
    gone = tmp_path / "gone"
    snb.set_scratch(gone)
    gone.rmdir()
    gone.write_text("a file in its place")
    with Keeping("disk") as keeping:
        rows = keeping.kept(opened(lambda: chunks()))
        with pytest.warns(snb.StreamnbWarning, match="rows cannot be kept on disk"):
            list(rows.blocks())
        assert not kept(rows)
    snb.set_scratch(tmp_path, LIMIT)


LONG_FIT = """
import os, sys
import numpy as np
import streamnb as snb
from streamnb.rows.keeping import KeptRows

snb.set_scratch(sys.argv[1])
finish = KeptRows.finish

def kept(rows):
    finish(rows)
    assert rows._file is not None
    print("kept", flush=True)
    sys.stdin.readline()

KeptRows.finish = kept
X = np.random.default_rng(0).random((3_000, 8))
model = snb.SoftmaxRegression().fit(lambda: iter([(X, np.arange(3_000) % 2)]), keep="disk")
print(model.coef_.tobytes().hex())
"""


def open_files(process):
    """The names of the files that a process has open; it may close some while one looks."""
    for one in Path(f"/proc/{process.pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            yield os.readlink(one)


@pytest.mark.process
def test_two_fits_at_once_share_a_folder_and_one_that_is_killed_leaves_nothing_there(tmp_path):
    """Each waits with its rows on disk until the other has kept its own; the system frees files without a name."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    lost, other = (subprocess.Popen([sys.executable, "-c", LONG_FIT, str(tmp_path)], **pipes) for _ in range(2))
    for fit in (lost, other):
        assert fit.stdout.readline() == "kept\n"
        assert any(str(tmp_path) in name and "deleted" in name for name in open_files(fit))
    lost.kill()
    lost.communicate()
    found = other.communicate("\n" * 9)[0].replace("kept\n", "")
    assert other.returncode == 0 and not list(tmp_path.iterdir())
    X = np.random.default_rng(0).random((3_000, 8))
    model = snb.SoftmaxRegression().fit(X, np.arange(3_000) % 2, keep="no")
    assert found == model.coef_.tobytes().hex() + "\n"


def test_values_by_column_are_kept_in_memory_and_freed():
    words, y = rng.choice(["ash", "birch", "cedar", "larch", "pine", "yew"], (3_000, 40)), np.arange(3_000) % 5
    rows = snb.text([" ".join(row) for row in words], y=y, n_features=64)
    with pytest.warns(snb.StreamnbWarning, match="reads were not enough"):
        found = [snb.SoftmaxRegression(max_passes=5, tol=0.0).fit(rows, keep=keep).coef_ for keep in ("no", "memory")]
    np.testing.assert_array_equal(*found)
    assert Space.taken_by_all == 0
