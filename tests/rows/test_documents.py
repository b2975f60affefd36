"""Documents as rows: records of web archives and whole files."""

import gzip
import zlib

import numpy as np
import pyarrow as pa
import pytest

import streamnb as snb
from streamnb.rows.documents import (
    OF_FILES,
    OF_RECORDS,
    TEXT,
    DocumentPiece,
    TextFolders,
    WarcFiles,
    documents_of_files,
    documents_of_warc,
    pieces_of,
)
from tests.support.corpora import record, wet
from tests.support.read_rows import texts_of

PAGE = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=iso-8859-1\r\n\r\n"
    b"<html><script>no()</script><p>W\xf6rld <b>wide</b></p></html>"
)
PICTURE = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\nPNG"


def read(documents, names, beside, parse=True):
    return [piece() for piece in pieces_of(documents, DocumentPiece((), names, beside, parse, 0))]


def test_files_are_texts_with_their_paths(tmp_path):
    (tmp_path / "a.txt").write_text("é\nb")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"two"))
    paths = [str(tmp_path / "a.txt"), str(tmp_path / "b.txt.gz")]
    (rows,) = read(documents_of_files(paths), OF_FILES, (TEXT, "path"))
    assert [rows.decoded(k) for k in range(2)] == ["é\nb", "two"]
    assert rows.beside.batch.to_pydict() == {"text": ["é\nb", "two"], "path": paths}
    (alone,) = read(documents_of_files(paths), OF_FILES, ("path",), parse=False)
    assert alone.shape[0] == 2
    assert alone.beside.picked(np.array([False, True])).batch.to_pydict() == {"path": paths[1:]}
    assert len(alone.beside.picked(np.zeros(2, bool))) == 0
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"two" * 100)[:-5])
    with pytest.raises(snb.DataError, match=r"b.txt.gz' is damaged or cut off"):
        list(documents_of_files(paths))


def test_pieces_are_halved_until_a_bad_text_is_alone():
    documents = [(b"a", ("x",)), (b"\xff", ("y",)), (b"c", ("z",))]
    (piece,) = pieces_of(documents, DocumentPiece((), OF_FILES, (TEXT,), True, 0))
    with pytest.raises(snb.DataError, match="not UTF-8"):
        piece()
    first, last = piece.cut(0, 1), piece.cut(1, 3)
    assert first().decoded(0) == "a" and (last.row, last.n_rows) == (1, 2)
    bad, good = last.cut(0, 1), last.cut(1, 2)
    assert str(bad.named(snb.DataError("y: no"))) == "y: no" and good().decoded(0) == "c" and good.row == 2


@pytest.mark.parametrize("packed", [False, True])
def test_records_with_text_are_rows(packed, tmp_path):
    pytest.importorskip("fastwarc")
    pytest.importorskip("resiliparse")
    records = [record("warcinfo", "", b"software: x"), *wet(["fine é", "", "spam"])]
    records += [record("response", f"http://h/{k}", one, http=True) for k, one in enumerate([PAGE, PICTURE])]
    path = tmp_path / ("x.warc.gz" if packed else "x.warc")
    path.write_bytes(b"".join(gzip.compress(one) if packed else one for one in records))
    found = list(documents_of_warc(str(path)))
    assert [text.decode() for text, _ in found] == ["fine é", "", "spam", "Wörld wide"]
    assert [fields[0] for _, fields in found] == ["http://x/0", "http://x/1", "http://x/2", "http://h/0"]
    (rows,) = read(found, OF_RECORDS, OF_RECORDS)
    assert rows.beside.batch.column("date").to_pylist()[0].startswith("2026-01-02T03:04:05")
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(snb.DataError, match="cut off"):
        list(documents_of_warc(str(path)))


def raw_deflate(body):
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(body) + packer.flush()


def in_chunks(body):
    parts = [body[k : k + 10] for k in range(0, len(body), 10)]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in [*parts, b""])


HTML = "<html><p>Wörld wide</p></html>".encode()
CODED = {
    "gzip": (gzip.compress(HTML), "Content-Encoding: gzip"),
    "two members": (gzip.compress(HTML), "content-encoding: X-GZIP"),
    "deflate with a header": (zlib.compress(HTML), "Content-Encoding: deflate"),
    "deflate without": (raw_deflate(HTML), "Content-Encoding: deflate"),
    "brotli": (pa.compress(HTML, "brotli", asbytes=True), "Content-Encoding: br"),
    "zstd": (pa.compress(HTML, "zstd", asbytes=True), "Content-Encoding: zstd"),
    "twice": (gzip.compress(zlib.compress(HTML)), "Content-Encoding: deflate, gzip"),
    "not at all": (HTML, "Content-Encoding: identity"),
    "unpacked by the crawler": (HTML, "Content-Encoding: gzip"),
    "unpacked by the crawler, brotli": (b"\n" + HTML, "Content-Encoding: br"),
    "chunks": (in_chunks(HTML), "Transfer-Encoding: chunked"),
    "chunks joined by the crawler": (HTML, "Transfer-Encoding: chunked"),
    "packed chunks": (in_chunks(gzip.compress(HTML)), "Transfer-Encoding: chunked\r\nContent-Encoding: gzip"),
    "cut off": (gzip.compress(HTML)[:-9], "Content-Encoding: gzip"),
    "damaged": (gzip.compress(HTML)[:9] + b"\xff" * 30, "Content-Encoding: gzip"),
}


def texts_of_pages(folder, pages, end=b"\r\n"):
    """The texts that are read of an archive of HTTP responses, given their headers and bodies."""
    heads = [f"HTTP/1.1 200 OK\r\n{head}\r\n\r\n".encode().replace(b"\r\n", end) for _, head in pages]
    records = [record("response", "http://h", h + body, http=True) for h, (body, _) in zip(heads, pages, strict=True)]
    (folder / "x.warc").write_bytes(b"".join(records))
    return [text.decode() for text, _ in documents_of_warc(str(folder / "x.warc"))]


@pytest.mark.parametrize("how", CODED)
def test_bodies_are_unpacked_as_their_headers_say(how, tmp_path):
    pytest.importorskip("fastwarc")
    pytest.importorskip("resiliparse")
    body, head = CODED[how]
    for end in (b"\r\n", b"\n"):
        found = texts_of_pages(tmp_path, [(body, f"Content-Type: text/html; charset=utf-8\r\n{head}")], end)
        assert found == ([] if how == "damaged" else ["Wörld wide"])


RUSSIAN = "Привет, мир"
ENCODINGS = {
    "named by the server before the page": ("", "<meta charset=utf-8>", "cp1251", "; charset=windows-1251"),
    "of a server that names none known": ("", "<meta charset=windows-1251>", "cp1251", '; charset="none"'),
    "meta": ("", '<META  CharSet = "windows-1251" />', "cp1251", ""),
    "meta of HTML 4": ("", '<meta http-equiv=Content-Type content="text/html; charset=koi8-r">', "koi8-r", ""),
    "meta after a comment": ("", "<!-- <meta charset=koi8-r> --><meta charset=cp1251>", "cp1251", ""),
    "meta that names UTF-16 in ASCII": ("", "<meta charset=utf-16>", "utf-8", ""),
    "an XML declaration": ('<?xml version="1.0" encoding="windows-1251"?>', "", "cp1251", ""),
    "a mark before all others": ("\ufeff", "<meta charset=cp1251>", "utf-8", "; charset=koi8-r"),
    "a mark of UTF-16, little end": ("\ufeff", "", "utf-16-le", ""),
    "a mark of UTF-16, big end": ("\ufeff", "", "utf-16-be", ""),
    "UTF-8 that is not named": ("", "", "utf-8", ""),
    "found by the bytes": ("", f"<title>{RUSSIAN}, как дела у всех сегодня</title>", "cp1251", ""),
}


@pytest.mark.parametrize("how", ENCODINGS)
def test_encodings_of_pages_are_found_as_browsers_do(how, tmp_path):
    pytest.importorskip("fastwarc")
    pytest.importorskip("resiliparse")
    before, head, encoding, named = ENCODINGS[how]
    page = f"{before}<html><head>{head}</head><body><p>{RUSSIAN}</p></body></html>"
    assert texts_of_pages(tmp_path, [(page.encode(encoding), f"Content-Type: text/html{named}")]) == [RUSSIAN]


def test_archives_of_lines_that_end_in_a_line_feed_and_of_resources(tmp_path):
    pytest.importorskip("fastwarc")
    pytest.importorskip("resiliparse")
    picture = record("resource", "http://p", b"\x89PNG").replace(b"text/plain", b"image/png")
    page = record("resource", "http://h", HTML).replace(b"text/plain", b"text/html; charset=utf-8")
    records = [*wet(["one\r\n", "", "two"]), record("resource", "log", b"text"), picture, page]
    texts = ["one\r\n", "", "two", "text", "Wörld wide"]
    path = tmp_path / "x.wet"
    for make in (lambda head: head, lambda head: head.replace(b"\r\n", b"\n")):
        parts = [make(head) + b"\r\n\r\n" + body for head, body in (one.split(b"\r\n\r\n", 1) for one in records)]
        path.write_bytes(b"".join(parts))
        assert [text.decode() for text, _ in documents_of_warc(str(path))] == texts
        path.write_bytes(b"".join(map(gzip.compress, parts)))
        assert [text.decode() for text, _ in documents_of_warc(str(path))] == texts
    path.write_bytes(b"".join(records)[:-120])
    with pytest.raises(snb.DataError, match=r"x.wet: the (header of the )?record of .* is cut off"):
        list(documents_of_warc(str(path)))
    path.write_bytes(b"no archive\n" * 9)
    with pytest.raises(snb.DataError, match=r"x.wet is not a WARC or WET file: it begins with b'no archive'"):
        list(documents_of_warc(str(path)))


def test_records_are_rows_of_texts_read_from_any_of_them_on(tmp_path):
    pytest.importorskip("fastwarc")
    texts = [f"fine{k} text{k}" for k in range(7)]
    for k, some in enumerate((texts[:4], texts[4:])):
        (tmp_path / f"{k}.warc.wet.gz").write_bytes(b"".join(map(gzip.compress, wet(some))))
    files = WarcFiles([str(path) for path in sorted(tmp_path.glob("*.gz"))])
    assert (files.n_rows, files.step, files.nbytes) == (7, 4, sum(map(len, texts)))
    for start, stop in ((0, 7), (2, 5), (4, 7), (6, 7), (3, 3)):
        assert texts_of(files, start, stop) == texts[start:stop]
    pattern = str(tmp_path / "*.wet.gz")
    model = snb.LinearNB("multinomial").fit(snb.text(pattern, n_features=64), [0, 0, 0, 0, 1, 1, 1])
    assert model.predict(pattern).tolist() == model.predict(texts).tolist()
    with pytest.raises(ValueError, match="y='url' names a column, but the records of"):
        snb.text(pattern, y="url")
    (tmp_path / "none.wet").write_bytes(b"")
    with pytest.raises(snb.DataError, match=r"none.wet holds no record with text"):
        snb.text(tmp_path / "none.wet")


def test_a_folder_has_a_class_in_each_folder_and_a_row_in_each_file(tmp_path):
    rows = [f"row {i} " + "x" * (i % 7) for i in range(30)]
    for i, row in enumerate(rows):
        (tmp_path / f"class{i % 3}").mkdir(exist_ok=True)
        content = row.encode() if i else gzip.compress(b"\xef\xbb\xbf" + row.encode())
        (tmp_path / f"class{i % 3}" / (f"{i:02}.txt" if i else "00.gz")).write_bytes(content)
    folder = TextFolders(tmp_path)
    assert folder.n_rows == 30 and texts_of(folder) == [row for k in range(3) for row in rows[k::3]]
    (_, make), *_ = folder.jobs(9, 12)
    assert make().y.tolist() == ["class0", "class1", "class1"]
    assert next(iter(folder.without_labels().jobs(0, 3)))[1]().y is None
