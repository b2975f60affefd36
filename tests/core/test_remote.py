"""Files at URLs: whole and in ranges, listed, written, and what is said where that fails."""

import fsspec
import pytest
from fsspec.registry import known_implementations

import streamnb as snb
from streamnb.core import stored_files
from streamnb.core.stored_files import RemoteFile, asked, downloaded, exists, is_folder, listed, stored, uploading
from tests.support.refusals import refuses
from tests.support.web_server import serving

CONTENT = bytes(range(256)) * 40


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Nobody waits long, and no file is small."""
    monkeypatch.setattr(stored_files, "PAUSE", 0.0)
    monkeypatch.setattr(stored_files, "SMALL", 0)


@pytest.fixture(scope="module")
def web():
    with serving() as server:
        yield server


@pytest.fixture(params=["file", "memory", "http"])
def url(request, web, tmp_path):
    """The same bytes in three places."""
    if request.param == "http":
        return web.put("a.bin", CONTENT)
    place = f"file://{tmp_path}/a.bin" if request.param == "file" else f"memory://{tmp_path.name}/a.bin"
    with uploading(place) as file:
        file.write(CONTENT)
    return place


def test_errors_and_logs_do_not_show_signatures(web, caplog):
    place = web.put("signed.bin", CONTENT)
    web.fail["/signed.bin"] = [500] * 20
    signed = f"{place}?X-Amz-Expires=60&X-Amz-Signature=secret"
    with (
        pytest.raises(snb.DataError, match=r"signed\.bin cannot be read in 5 attempts") as failed,
        RemoteFile(signed) as file,
    ):
        file.read()
    with pytest.raises(FileNotFoundError, match="no such file") as missing:
        stored(signed.replace("signed.bin", "missing.bin"))
    assert "signed.bin: attempt 1" in caplog.text
    for text in (str(failed.value), str(missing.value), caplog.text):
        assert "secret" not in text and "Expires" not in text


def test_bytes_from_any_place_on(url):
    assert stored(url)[:2] == (url, len(CONTENT)) and exists(url) and not exists(url + "x")
    with RemoteFile(url) as file:
        assert file.read(10) == CONTENT[:10] and file.tell() == 10
        assert file.seek(-5, 2) == len(CONTENT) - 5 and file.read(10) == CONTENT[-5:] and file.read(10) == b""
        assert file.seek(7) == 7 and file.seek(1, 1) == 8 and file.read() == CONTENT[8:]
    with downloaded(url) as file:
        assert file.read() == CONTENT


def test_small_files_are_asked_for_once(web, monkeypatch):
    monkeypatch.setattr(stored_files, "SMALL", 1 << 20)
    place = web.put("small", CONTENT)
    web.asked.clear()
    with RemoteFile(place) as file:
        assert file.read(5) + file.read(5) == CONTENT[:10]
    assert [method for method, *_ in web.asked] == ["HEAD", "GET"]


def test_an_answer_that_fails_or_breaks_off_is_asked_for_again(web, caplog):
    place = web.put("b", CONTENT)
    web.fail["/b"], web.cut["/b"] = [500, 503], []
    assert RemoteFile(place).read(100) == CONTENT[:100]
    web.cut["/b"] = [10, 10]
    assert RemoteFile(place).read(100) == CONTENT[:100]
    web.fail["/b"] = [500] * 5
    refuses(snb.DataError, r"/b cannot be read in 5 attempts .*500", lambda: RemoteFile(place).read(100))
    assert len(caplog.records) == 8


def test_a_busy_server_is_asked_again_when_it_says(web, monkeypatch):
    place, pauses = web.put("b", CONTENT), []
    monkeypatch.setattr(stored_files.time, "sleep", pauses.append)
    monkeypatch.setattr(web, "wait", 7)
    web.fail["/b"] = [503, 429]
    assert RemoteFile(place).read(100) == CONTENT[:100] and pauses == [7.0, 7.0]
    web.wait, web.fail["/b"] = 100_000, [429]
    assert RemoteFile(place).read(100) == CONTENT[:100] and pauses[2:] == [stored_files.LONGEST]
    web.wait, web.fail["/b"] = "Wed, 21 Oct 2099 07:28:00 GMT", [503]
    assert RemoteFile(place).read(100) == CONTENT[:100] and pauses[3:] == [stored_files.PAUSE]


def test_a_file_that_has_changed_is_noticed(url):
    before = stored(url)
    assert RemoteFile(url, before).read(1) == CONTENT[:1]
    files, name = stored_files.file_system(url)
    refuses(snb.DataError, "has changed since it was opened", RemoteFile, url, before._replace(version="another"))
    with pytest.raises(snb.DataError, match="is shorter"):
        file = RemoteFile(url)
        file.stored = before._replace(size=len(CONTENT) + 10)
        file.seek(len(CONTENT) - 10)
        file.read(20)
    assert files.exists(name)


def test_objects_of_one_length_are_told_apart(web, tmp_path):
    place = web.put("c", b"one")
    before = stored(place)
    web.put("c", b"two")
    assert stored(place) != before
    memory = fsspec.filesystem("memory")
    memory.pipe("/told/c", b"one")
    before = stored("memory://told/c")
    memory.pipe("/told/c", b"two")
    assert stored("memory://told/c") != before


def test_a_server_of_whole_files_is_refused_before_they_are_read():
    with serving(ranges=False) as web:
        file = RemoteFile(web.put("d", CONTENT))
        assert file.read(9) == CONTENT[:9]  # it gives the beginning of what it sends
        file.seek(50)
        refuses(snb.DataError, r"gives whole files only, no ranges of bytes; download", lambda: file.read(9))


def test_patterns_and_folders_without_hidden_files(tmp_path):
    memory, root = fsspec.filesystem("memory"), f"memory:///{tmp_path.name}"
    for name in ("a.csv", "b/c.csv", "_done", "b/.d", "_log/e.csv"):
        memory.pipe(f"/{tmp_path.name}/{name}", b"12")
    assert is_folder(root) and not is_folder(f"{root}/a.csv")
    assert listed(root) == listed(root + "/") == [(f"{root}/a.csv", 2), (f"{root}/b/c.csv", 2)]
    assert listed(f"{root}/*.csv") == [(f"{root}/a.csv", 2)] and listed(f"{root}/*.txt") == []
    assert listed(f"{root}/a.csv") == [(f"{root}/a.csv", 2)]
    refuses(IsADirectoryError, "is a folder", lambda: stored(root))


@pytest.mark.parametrize(
    ("place", "error", "words"),
    [
        ("memory://nothing/here", FileNotFoundError, "there is no such file"),
        ("nowhere://a", snb.DataError, "not a URL that fsspec can open"),
        ("http://127.0.0.1:1/a", snb.DataError, r"cannot be read in 5 attempts .*Cannot connect"),
    ],
)
def test_what_cannot_be_opened_is_named(place, error, words):
    refuses(error, f"{place}.*{words}", lambda: RemoteFile(place))


def test_a_package_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(known_implementations, "gs", {"class": "no_gcsfs.System", "err": "no gcsfs"})
    refuses(ImportError, r"gs://a/b needs another package: no gcsfs; pip install gcsfs", lambda: stored("gs://a/b"))


def test_a_refusal_is_final(web):
    def refused():
        raise PermissionError("Forbidden")

    refuses(PermissionError, r"s3://a: access is denied .Forbidden", lambda: asked(refused, "s3://a"))
    web.files.pop("/e", None)
    refuses(FileNotFoundError, r"no such file .*404", lambda: stored(f"{web.url}/e"))


def test_what_cannot_be_written_is_named(tmp_path):
    with (
        pytest.raises(snb.DataError, match="cannot be written in 5 attempts"),
        uploading("http://127.0.0.1:1/a") as file,
    ):
        file.write(b"1")


def test_a_file_that_is_read_ahead_has_all_bytes_from_anywhere_on(monkeypatch):
    fsspec.filesystem("memory").pipe("/ahead.bin", CONTENT)
    monkeypatch.setattr(stored_files, "SMALL", 10)
    monkeypatch.setattr(stored_files, "AHEAD_BYTES", 1_000)
    with stored_files.FileAhead("memory://ahead.bin") as file:
        assert file.read(2_300) == CONTENT[:2_300] and file.read(900) == CONTENT[2_300:3_200]
        assert file.seek(5_000) == 5_000 and file.read(3_001) == CONTENT[5_000:8_001] and file.read() == CONTENT[8_001:]
        assert file.read(5) == b"" and file.seek(0) == 0 and file.read() == CONTENT
