"""Ranges of lines: all of the text once, cut where lines end, whatever it is packed by."""

import bz2
import gzip
import lzma

import pytest

from streamnb.core.messages import DataError
from streamnb.rows import sizes
from streamnb.rows.lines import PAD, LineRange, Lines

TEXT = b"".join(b"%d " % n * (n % 5) + b"\n" for n in range(60)) + b"x" * 300 + b"\nlast"
PACKED = {"plain": bytes, "gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}


@pytest.fixture(autouse=True)
def short_ranges(monkeypatch):
    monkeypatch.setattr(sizes, "TEXT_BYTES", 64)


@pytest.mark.parametrize("how", PACKED)
def test_ranges_are_all_of_the_text(how, tmp_path):
    path = tmp_path / "text"
    path.write_bytes(PACKED[how](TEXT))
    lines = Lines(path)
    assert lines.packed == (how != "plain")
    places, found = [], []
    for offset, size, text in lines.ranges():
        places.append(LineRange(offset, size, 0))
        found.append(text.tobytes())
    assert b"".join(found) == TEXT + b"\n" and len(found) > 5 and sum(place.size for place in places) == len(TEXT)
    assert all(text.endswith(b"\n") for text in found)
    for some in (places, places[3:5], places[-1:]):
        read = [(place, text()) for place, text in lines.texts(some)]
        assert [text.tobytes() for _, text in read] == [text for place, text in zip(places, found) if place in some]
        assert all(len(text.base) >= len(text) + PAD // 2 for _, text in read)


def test_files_that_end_early(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(gzip.compress(TEXT)[:-12])
    with pytest.raises(DataError, match="damaged or cut off"):
        list(Lines(path).ranges())
    path.write_bytes(TEXT)
    lines = Lines(path)
    path.write_bytes(TEXT[:40])
    with pytest.raises(DataError, match="become shorter"):
        [text() for _, text in lines.texts([LineRange(30, 20, 0)])]
