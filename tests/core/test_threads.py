"""Work that threads share: results in order, few of them ahead of need."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import ThreadpoolController, threadpool_limits

from streamnb.core import threads
from streamnb.core.threads import one_thread


def left(before=()):
    """The threads of this module that run and did not run `before`: an earlier test's may not have ended yet."""
    return {thread for thread in threading.enumerate() if thread.name.startswith("streamnb-solve")} - {*before}


def test_how_many_are_asked_for():
    assert threads.check_n_threads(None) == threads.n_cores() >= 1
    assert threads.check_n_threads(np.int64(3)) == 3
    for wrong, error in ((0, ValueError), (2.0, TypeError), (True, TypeError)):
        with pytest.raises(error, match=r"^n_threads="):
            threads.check_n_threads(wrong)


@given(st.lists(st.floats(0, 1e-3), max_size=9), st.integers(1, 5))
def test_results_come_in_the_order_of_the_items(waits, n_threads):
    before = left()
    results = threads.in_order(lambda i: time.sleep(waits[i]) or i, range(len(waits)), n_threads)
    assert list(results) == [*range(len(waits))] and not left(before)


@pytest.mark.parametrize(("items", "n_threads"), [("abc", 1), ("a", 4)])
def test_one_thread_or_item_needs_no_other(items, n_threads):
    assert set(threads.in_order(lambda _: threading.get_ident(), items, n_threads)) == {threading.get_ident()}


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_only_as_many_ahead_as_there_are_threads(n_threads):
    begun, before = [], left()
    results = threads.in_order(lambda i: begun.append(i) or i, range(20), n_threads)
    assert begun == []
    for i in range(5):
        assert next(results) == i and len(begun) <= i + 1 + n_threads
    results.close()
    assert not left(before) and len(begun) < 20


def test_threads_work_at_the_same_time():
    meeting = threading.Barrier(3, timeout=60)
    assert len([*threads.in_order(lambda _: meeting.wait(), range(6), 3)]) == 6


@pytest.mark.parametrize("n_threads", [1, 3])
def test_an_error_comes_through_and_no_thread_stays(n_threads):
    before = left()
    with pytest.raises(ZeroDivisionError):
        list(threads.in_order(lambda i: 1 // (i - 2), range(20), n_threads))
    assert not left(before)


def n_threads():
    return [library.num_threads for library in ThreadpoolController().select(user_api="blas").lib_controllers]


@threadpool_limits.wrap(limits=2, user_api="blas")  # whatever this machine has, or was told
def test_all_threads_have_blas_to_themselves_until_the_last_is_done():
    import numpy as np

    assert np.ones((2, 2)) @ np.ones(2) @ np.ones(2) == 4.0  # so that there is BLAS
    before, seen = n_threads(), []
    entered, leave = threading.Event(), threading.Event()

    def inside():
        with one_thread():
            seen.append(n_threads())
            entered.set()
            leave.wait(10.0)
            seen.append(n_threads())

    other = threading.Thread(target=inside)
    other.start()
    entered.wait(10.0)
    with pytest.raises(KeyError), one_thread():
        raise KeyError
    leave.set()
    other.join()
    assert before and seen == [[1] * len(before)] * 2 and n_threads() == before
