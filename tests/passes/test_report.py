"""What a pass did, in numbers that add."""

from dataclasses import replace

from streamnb.core.threads import n_cores
from streamnb.passes.contract import Report


def test_it_says_what_was_done():
    report = Report(1_500_000, 2_000_000_000, 12, 4.0)
    assert "1,500,000 rows" in str(report) and "2.00 GB in 12 blocks" in str(report)
    assert "500.0" in report._repr_html_() and "–" in Report()._repr_html_()  # MB/s


def test_it_says_what_was_the_limit():
    busy = Report(seconds=4.0, seconds_waiting=3.9, seconds_busy=4.0 * n_cores())
    assert "processors were the limit" in str(busy)
    assert "larger chunks, shards" in str(replace(busy, seconds_busy=0.4))
    assert "limit" not in f"{replace(busy, seconds_busy=0.0)} {Report()}"
