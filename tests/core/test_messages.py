"""Errors and warnings in the package's own words."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.core import messages


def test_kinds_that_users_can_catch():
    assert issubclass(messages.DataError, ValueError) and issubclass(messages.StreamnbWarning, UserWarning)


def test_what_many_fits_say_is_said_once():
    with pytest.warns() as caught, messages.each_once():
        for n in range(4):
            messages.warn(f"it is {n % 2}")
    messages_of = [str(one.message) for one in caught]
    assert messages_of == ["it is 0", "it is 1"]
    for _ in range(2):
        with pytest.warns(messages.StreamnbWarning, match="it is 0"):
            messages.warn("it is 0")


def test_a_warning_shows_the_line_that_called_the_package():
    X, y = [[-2, 0], [-3, 1], [1, 4], [0, 5]] * 3, [0, 0, 1, 1] * 3
    options = {"families": ["gaussian", "poisson"], "penalties": [None], "folds": 2, "show": False}
    with pytest.warns(messages.StreamnbWarning) as caught:
        snb.LinearNB("gaussian").fit(X, y, classes=[0, 1, 2])
        snb.search(X, y, **options)  # leaves out poisson, as there are negative values
    assert len(caught) > 1 and {one.filename for one in caught} == {__file__}


def test_lists_stay_short():
    labels = np.arange(1254)
    assert messages.listed(labels[:0]) == "[]"
    assert messages.listed(labels[:20]) == str([*range(20)])
    assert messages.listed(labels[:21]) == f"{[*range(20)]} and 1 more"
    assert messages.listed(labels) == f"{[*range(20)]} and 1,234 more"
    assert messages.listed(np.array(["a", "b"])) == "['a', 'b']"  # without NumPy's types


def test_warnings_are_ours_and_errors_where_asked_for():
    with pytest.warns(messages.StreamnbWarning, match=r"^classes without any weight: \['elm'\]; .* never predicted$"):
        messages.warn_absent(np.array(["elm"]))
    with pytest.raises(messages.StreamnbWarning, match=r"^so it is$"):  # as the settings of these tests ask for
        messages.warn("so it is")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://a.org/x.csv?X-Amz-Date=1&X-Amz-Signature=ab", "https://a.org/x.csv"),
        ("https://a.org/x.csv?sv=1&sig=ab%3D", "https://a.org/x.csv"),
        ("https://me:secret@a.org/x.csv?version=2", "https://a.org/x.csv?version=2"),
        *((url, url) for url in ("https://a.org/x.csv?version=2", "s3://a/b?.csv", "s3://a/b@c?", "memory://a[1]?")),
    ],
)
def test_what_opens_a_file_to_anyone_is_not_shown(url, shown):
    assert messages.unsigned(url) == shown
    assert messages.unsigned(f"get ('{url}') failed") == f"get ('{shown}') failed"
