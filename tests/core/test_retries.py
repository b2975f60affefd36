"""Actions that are tried again."""

import pytest

from streamnb.core import stored_files


def failing(*errors):
    """An action that raises these first, and its number of calls."""
    left, calls = list(errors), []

    def action():
        calls.append(1)
        if left:
            raise left.pop(0)
        return "done"

    return action, calls


def test_an_action_that_fails_is_tried_again_so_many_times(monkeypatch, caplog):
    monkeypatch.setattr(stored_files, "PAUSE", 0.0)
    action, calls = failing(OSError("busy"), RuntimeError("late"))
    assert stored_files.retried(action, "it", 3) == "done" and len(calls) == 3
    assert [r.getMessage() for r in caplog.records] == [
        "it: attempt 1 of 3 failed: OSError('busy')",
        "it: attempt 2 of 3 failed: RuntimeError('late')",
    ]
    action, calls = failing(OSError("busy"), OSError("busy"))
    with pytest.raises(OSError, match="busy"):
        stored_files.retried(action, "it", 2)
    assert len(calls) == 2


def test_what_no_second_attempt_cures_is_raised_at_once():
    for error, how in ((PermissionError(), {}), (KeyError(), {"final": KeyError})):
        action, calls = failing(error)
        with pytest.raises(type(error)):
            stored_files.retried(action, "it", 3, **how)
        assert len(calls) == 1
