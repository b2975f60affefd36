"""What a family of one's own gets from its base class, and what it has to say itself."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.core import persistence


class Decay(snb.Family):  # c(theta) = -2 ln(-theta): Gamma of shape 2, so that m = -2 / theta
    lowest = 0.0

    def __init__(self, half=1.0):
        self.half = half

    def link(self, m):
        return -2.0 / m

    def variance(self, m):
        return m * m / 2.0

    def cumulant(self, m):
        return 2.0 * np.log(m / 2.0)


class Seen(Decay):
    name = "seen or not"
    moment = "above"


M = np.array([0.2, 1.0, 7.0])


def test_a_name_and_the_moments_follow_from_the_class():
    assert Decay.name == "decay" and Seen.name == "seen or not"
    assert Decay.moments == ("sum",) and Seen.moments == ("above",)
    assert persistence.registered(Decay()) and not persistence.registered(object())
    with pytest.raises(ValueError, match="moment='median' is unknown; it should be one of"):
        type("Median", (snb.Family,), {"moment": "median"})


def test_the_range_of_means_is_that_of_the_moment():
    assert Decay().mean_range == (0.0, np.inf) and Decay().nonnegative
    assert Seen().mean_range == (0.0, 1.0)
    assert type("Logs", (snb.Family,), {"moment": "log_sum"})().mean_range == (-np.inf, np.inf)
    assert type("Away", (snb.Family,), {"moment": "deviation"})().mean_range == (0.0, np.inf)
    assert not type("Real", (snb.Family,), {})().nonnegative


def test_what_is_not_said_is_named():
    bare = type("Bare", (snb.Family,), {})()
    for function, name in ((bare.link, "link"), (bare.variance, "variance"), (bare.cumulant, "cumulant")):
        with pytest.raises(NotImplementedError, match=rf"family=Bare\(\) has no {name}\(m\); a family of your own"):
            function(M)


def test_equal_are_families_of_one_kind_with_equal_parameters():
    assert Decay(2.0) == Decay(2.0) and hash(Decay(2.0)) == hash(Decay(2.0))
    assert Decay(2.0) != Decay(3.0) and Decay(1.0) != Seen(1.0) and Decay() != "decay"
    assert repr(Decay(2.0)) == "Decay(half=2.0)" and repr(Seen()) == "Seen(half=1.0)"
    assert Decay._from_state(Decay(4.0)._to_state()) == Decay(4.0)
