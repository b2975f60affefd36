import numpy as np
import pytest

from streamnb.encoding import counters

CLASSES = np.array(["ash", "birch"])


def test_pseudo_counts_of_every_kind():
    np.testing.assert_array_equal(counters.of_classes(2, CLASSES), [2.0, 2.0])
    np.testing.assert_array_equal(counters.of_classes({"birch": 2, "ash": 1}, CLASSES), [1.0, 2.0])
    assert counters.of_classes("prior", CLASSES) == 1.0 and counters.of_classes(("prior", 3), CLASSES) == 3.0
    given = [1.0, {"ash": 1.0, "birch": 2.0}, ("prior", 5.0)]
    assert counters._from_state(counters._to_state(given)) == given
    counters.check(given, above_zero=True)
    for wrong in ([1.0, -1.0], {"ash": np.nan}, ("prior", -1), "prio", []):
        with pytest.raises(ValueError, match="c"):
            counters.check(wrong, above_zero=False)
    with pytest.raises(TypeError, match="c="):
        counters.check(("prior", 1.0, 2.0), above_zero=False)
    with pytest.raises(ValueError, match="take c > 0"):
        counters.check([1.0, ("prior", 0)], above_zero=True)
