"""Pieces of work that do not depend on each other."""

import threading

import distributed
import pytest

from streamnb.passes import stopping
from streamnb.passes.answering import separately
from streamnb.passes.contract import RunOptions


class Square:
    title, here = "squares", False

    def __init__(self):
        self.threads = set()

    def __call__(self, item, n_threads):
        self.threads.add((threading.get_ident(), n_threads))
        if item is None:
            raise ValueError("no number")
        return item * item


def test_it_stops_between_items_where_the_process_is_asked_to():
    stopping.requested.set()
    try:
        with pytest.raises(stopping.Stopped):
            list(separately(Square(), [1, 2], RunOptions(n_threads=1)))
    finally:
        stopping.requested.clear()


@pytest.mark.cluster
def test_workers_do_it_and_errors_name_the_item():
    with distributed.Client(n_workers=1, processes=False, dashboard_address=":0") as client:
        assert sorted(separately(Square(), range(5), RunOptions(client=client))) == [0, 1, 4, 9, 16]
        with pytest.raises(ValueError, match="no number"):
            list(separately(Square(), [1, None], RunOptions(client=client)))
