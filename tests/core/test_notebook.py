"""Tables in notebooks: any text comes out as it went in."""

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from streamnb.core.frames import table

TEXT = st.text(st.characters(exclude_categories=["C", "Z"], include_characters=" <>&\"'"), min_size=1)


@given(TEXT, st.lists(st.tuples(TEXT, TEXT), max_size=4))
def test_any_text(caption, rows):
    page = ElementTree.fromstring(table(caption, iter(rows)))
    assert page.tag == "table" and page.findtext("caption") == caption
    assert [tuple(cell.text for cell in line) for line in page.findall("tbody/tr")] == rows
