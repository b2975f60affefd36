"""Folders in which a file appears whole or not at all."""

import json

import pytest

from streamnb.corpora.parts import RUN, Folder


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
    with pytest.raises(ValueError, match="is a file"):
        Folder.at(tmp_path / "file")
    with pytest.raises(TypeError, match="folder=None"):
        Folder.at(None)
