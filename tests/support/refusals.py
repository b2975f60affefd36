"""Tables of what is refused, and the words that its message must have."""

import pytest

WRONG = (TypeError, ValueError)


def refused(error, *words):
    """Expect an error whose message has a match for each of `words`, in any order and case."""
    return pytest.raises(error, match="(?is)" + "".join(f"(?=.*(?:{word}))" for word in words))


def refuses(error, words, call, *args, **options):
    """Call, and expect an error whose message has a match for `words`."""
    with pytest.raises(error, match=words):
        call(*args, **options)


def cases(table):
    return pytest.mark.parametrize("case", table.values(), ids=table)
