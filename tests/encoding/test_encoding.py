"""What makes columns of raw rows: two that differ are told apart."""

import pytest

from streamnb.encoding.encoding import Encoding, check_alike


class Letters(Encoding):
    def __init__(self, letters):
        self.letters = letters

    def differs(self, other):
        return "" if self.letters == other.letters else f"letters {other.letters}"


def test_columns_made_otherwise_are_refused():
    check_alike(Letters("ab"), Letters("ab"))
    check_alike(None, Letters("ab"))
    check_alike(Letters("ab"), None)
    with pytest.raises(ValueError, match="not those that were fitted: letters bc"):
        check_alike(Letters("ab"), Letters("bc"))
