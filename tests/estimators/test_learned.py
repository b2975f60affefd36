"""Attributes that follow from the statistics: computed once when asked for, again when these change."""

import numpy as np
import pytest

from streamnb.estimators.parameters import learned, logs


class Model:
    asked = 0

    @learned
    def mean_(self):
        """Of the statistics."""
        self.asked += 1
        return sum(self.stats_) / len(self.stats_)

    @learned
    def double_(self):
        return 2.0 * self.mean_

    def fit(self, stats):
        self.stats_, self._learned = stats, {}
        return self


def test_computed_when_asked_for_and_kept():
    model = Model().fit([1.0, 3.0])
    assert model.asked == 0
    assert model.double_ == 4.0 and model.mean_ == 2.0 and model.asked == 1
    assert model.fit([5.0]).double_ == 10.0 and model.asked == 2


def test_each_object_keeps_its_own():
    one, two = Model().fit([1.0]), Model().fit([2.0])
    assert (one.mean_, two.mean_, one.mean_) == (1.0, 2.0, 1.0)


def test_there_is_nothing_before_fit():
    with pytest.raises(AttributeError, match="Model has no 'mean_' before fit"):
        _ = Model().mean_
    assert not hasattr(Model(), "double_") and hasattr(Model().fit([1.0]), "double_")


def test_attributes_are_not_set():
    model = Model().fit([1.0])
    with pytest.raises(AttributeError, match=r"'mean_' follows from the statistics; change the parameters with refit"):
        model.mean_ = 3.0
    assert model.mean_ == 1.0


def test_the_class_has_their_descriptions():
    assert isinstance(Model.mean_, learned) and Model.mean_.__doc__ == "Of the statistics."


def test_logarithm_of_nothing():
    np.testing.assert_array_equal(logs(np.array([0.0, 1.0])), [-np.inf, 0.0])
