"""What a run says of its rows."""

from streamnb.corpora.written import Written


def test_sums_and_words():
    total = Written.of([Written(10, 2, 1, 500_000, 1), Written(10, 3, 0, 500_000, 1, 1)], 0.0)
    assert (total.rows, total.kept, total.skipped, total.bytes, total.parts, total.there) == (20, 5, 1, 1_000_000, 2, 1)
    assert str(total).startswith("20 rows, 1 bad ones skipped, 5 kept (25.0%), 1.0 MB read in 2 parts (1 were there), ")
    assert "<td" in total._repr_html_()
    assert str(Written(1, 1, 0, 2_000_000, 1, 0, 2.0)).endswith("in 1 parts, 2.0 s, 1 MB a second")
