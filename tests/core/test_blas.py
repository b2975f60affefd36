"""BLAS in one thread, whoever asks for it, and as before afterwards."""

import threading

import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from streamnb.core.threads import one_thread


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
