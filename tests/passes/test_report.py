"""What a pass did, in numbers that add."""

from streamnb.passes.contract import Report


def test_it_says_what_was_done():
    report = Report(1_500_000, 2_000_000_000, 12, 4.0)
    assert "1,500,000 rows" in str(report) and "2.00 GB in 12 blocks" in str(report)
    assert "500.0" in report._repr_html_() and "–" in Report()._repr_html_()  # MB/s
