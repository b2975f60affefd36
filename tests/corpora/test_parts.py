"""Parts are written whole, once, by whoever comes first, and a run goes on where another was broken off."""

import errno
import json
import threading

import distributed
import pytest

import streamnb as snb
from streamnb.corpora import predictions, reading
from streamnb.corpora.predictions import RUN, Folder, Written
from tests.support.corpora import corpus, model, written
from tests.support.processes import python
from tests.support.refusals import refuses


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "PART_BYTES", 8000)
    fitted, data = model(), corpus(tmp_path / "in")

    def run(name, **options):
        options = {"text": "text", "share": 0.25, "label": "good", "n_threads": 1} | options
        return snb.select(fitted, data, tmp_path / name, **options)

    run("whole")
    return run


def test_only_parts_that_are_missing_are_written(run, tmp_path):
    expected = written(tmp_path / "whole")
    times = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "whole").glob("*.jsonl")}
    lost = tmp_path / "whole" / "part-00002.jsonl"
    lost.unlink()
    found = run("whole")
    assert (found.parts, found.there) == (len(expected), len(expected) - 1) and found.kept == 75
    assert written(tmp_path / "whole") == expected
    after = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "whole").glob("*.jsonl")}
    assert [name for name in times if times[name] != after[name]] == [lost.name]


def test_several_runs_at_once_write_the_same(run, tmp_path):
    found = []
    threads = [threading.Thread(target=lambda: found.append(run("at once"))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one.kept for one in found] == [75] * 3
    assert written(tmp_path / "at once") == written(tmp_path / "whole")


@pytest.mark.parametrize("after", [0, 3, 9])
def test_a_full_disk_leaves_nothing_half_written(after, run, tmp_path, monkeypatch):
    writing, left = Folder.writing, [after]

    def failing(self, name):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return writing(self, name)

    monkeypatch.setattr(Folder, "writing", failing)
    refuses(OSError, "No space left", lambda: run("full"))
    monkeypatch.undo()
    monkeypatch.setattr(reading, "PART_BYTES", 8000)
    expected = written(tmp_path / "whole")
    assert written(tmp_path / "full").items() <= expected.items() if (tmp_path / "full").exists() else True
    run("full")
    assert written(tmp_path / "full") == expected


@pytest.mark.process
def test_runs_that_are_killed_leave_the_same_bytes(tmp_path):
    ended = python("-m", "tests.support.killed_corpora", tmp_path, 2)
    assert ended.stdout.split() == ["2", "True"], ended.stderr


@pytest.mark.cluster
def test_workers_write_their_own_parts(run, tmp_path):
    with distributed.Client(n_workers=2, processes=False, threads_per_worker=1, dashboard_address=":0") as client:
        found = run("workers", client=client)
    assert found.kept == 75 and written(tmp_path / "workers") == written(tmp_path / "whole")


def test_parts_that_workers_write_elsewhere_are_missed(run, tmp_path, monkeypatch):
    monkeypatch.setattr(predictions, "separately", lambda work, missing, options: [])
    refuses(FileNotFoundError, "workers have written parts that are not there", lambda: run("elsewhere"))


def test_sums_and_words():
    total = Written.of([Written(10, 2, 1, 500_000, 1), Written(10, 3, 0, 500_000, 1, 1)], 0.0)
    assert (total.rows, total.kept, total.skipped, total.bytes, total.parts, total.there) == (20, 5, 1, 1_000_000, 2, 1)
    assert str(total).startswith("20 rows, 1 bad ones skipped, 5 kept (25.0%), 1.0 MB read in 2 parts (1 were there), ")
    assert "<td" in total._repr_html_()
    assert str(Written(1, 1, 0, 2_000_000, 1, 0, 2.0)).endswith("in 1 parts, 2.0 s, 1 MB a second")


@pytest.fixture(params=["here", "url"])
def folder(request, tmp_path):
    return Folder.at(tmp_path / "out" if request.param == "here" else f"memory://{tmp_path.name}/out")


def test_files_are_there_once_they_are_whole(folder):
    assert folder.names() == set()
    with folder.writing("a/b.txt") as file:
        file.write(b"half")
        assert folder.names() == set()
        file.write(b" whole")
    assert folder.names() == {"a/b.txt"} and folder.read("a/b.txt") == b"half whole"
    with pytest.raises(ZeroDivisionError), folder.writing("c.txt") as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert folder.names() == {"a/b.txt"}
    folder.remove(["a/b.txt", "nothing"])
    assert folder.names() == set()


def test_the_first_run_says_what_a_folder_is_of(folder):
    assert folder.write_new(RUN, b"1") == b"1" == folder.write_new(RUN, b"2")
    assert folder.names() == {RUN}


def test_a_writer_that_comes_late_is_no_fault(tmp_path):
    folder = Folder.at(tmp_path)
    with folder.writing("x") as file:
        file.write(b"late")
        with folder.writing("y") as other:
            other.write(b"")
        (tmp_path / "x").write_bytes(b"early")
        folder.remove_unfinished()
    assert folder.read("x") == b"early" and folder.names() == {"x", "y"}
    with pytest.raises(FileNotFoundError), folder.writing("z") as file:
        folder.remove_unfinished()


def test_what_is_no_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text(json.dumps(1))
    refuses(ValueError, "is a file", lambda: Folder.at(tmp_path / "file"))
    refuses(TypeError, "folder=None", lambda: Folder.at(None))
