"""What methods of training have in common: what models would take, and what is said of those that did not end."""

import numpy as np
import pytest

from streamnb.training.fitting import DescentMethod
from streamnb.training.method import Trained
from streamnb.training.objectives import softmax_of

METHOD = DescentMethod(softmax_of)


def test_what_models_would_take_is_refused_beforehand():
    METHOD.check_memory(10**6, 1000, 10, 1, 10_000_000)
    with pytest.raises(MemoryError, match=r"20 x 1,000 weights would take 5\.0 MB, and memory_limit allows 1\.0 MB"):
        METHOD.check_memory(10**6, 1000, 10, 2, 1_000_000)


def test_it_is_told_whether_reads_or_digits_were_not_enough():
    trained = Trained(np.zeros((2, 1)), False, 0.125, {"seconds": np.zeros(3)})
    assert METHOD.unconverged(trained, 1e-4, 3, 3).startswith("max_passes=3 reads were spent: the gradient is 1.2e-01")
    assert METHOD.unconverged(trained, 1e-4, 4, 4).endswith("and tol=0.0001; raise tol")
