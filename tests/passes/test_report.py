"""What a pass did, in numbers that add."""

from streamnb.passes.contract import Report


def test_reports_add():
    total = Report(3, 10, 1, 0.5, seconds_reading=0.25) + Report(4, 20, 2, 1.0, seconds_waiting=0.5)
    assert total == Report(7, 30, 3, 1.5, 0.25, 0.0, 0.5)


def test_it_says_what_was_done():
    report = Report(1_500_000, 2_000_000_000, 12, 4.0)
    assert "1,500,000 rows" in str(report) and "2.00 GB in 12 blocks" in str(report)
    assert "500.0" in report._repr_html_() and "–" in Report()._repr_html_()  # MB/s
