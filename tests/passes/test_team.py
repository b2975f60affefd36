"""Threads that sum blocks: more join where sums are what takes the time, errors end all, large tables stay few."""

import threading

import pytest

import streamnb as snb
from streamnb.passes.run import Team

SMALL, LARGE = 1, 100  # bytes of tables, of which the team may take MOST
MOST = 64


class Task(snb.PassTask):
    """Adds up numbers; `meet`, where given, is done before each."""

    most_bytes = MOST

    def __init__(self, meet=None):
        self.meet, self.partials = meet, []

    def partial(self):
        self.partials.append(Sum())
        return self.partials[-1]

    def add(self, partial, number):
        if self.meet is not None:
            self.meet(number)
        partial.total += number
        partial.nbytes = max(partial.nbytes, LARGE if number < 0 else SMALL)


class Sum:
    nbytes = total = 0

    def finish(self):
        return self.total


def threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("streamnb-sum")]


def test_a_thread_joins_where_sums_are_waited_for_longer_than_rows():
    # the first block tells how large a table is; then two threads have to meet, or the barrier breaks
    barrier = threading.Barrier(2, timeout=60)
    task = Task(lambda number: barrier.wait() if number > 1 else None)
    with Team(task, 4) as team:
        for number in (1, 2, 2, 2, 2):
            team.add(number)
        found = team.totals()
    assert sum(found) == 9 and 2 <= len(found) <= len(task.partials) <= 4
    assert threads() == []


@pytest.mark.parametrize("n_more", [0, 1, 9])
def test_an_error_in_a_thread_is_raised_and_ends_all(n_more):
    def refuse(number):
        if number == 2:
            raise ValueError("two")

    task = Task(refuse)
    with pytest.raises(ValueError, match="two"), Team(task, 2) as team:
        for number in (1, 2, *[3] * n_more):
            team.add(number)
        team.totals()
    assert threads() == []


class Uncounted(Sum):
    @property
    def nbytes(self):
        if self.total > 1:
            raise ValueError("bytes")
        return SMALL

    @nbytes.setter
    def nbytes(self, value): ...


def test_an_error_while_bytes_are_counted_is_raised_and_nobody_waits(monkeypatch):
    monkeypatch.setitem(globals(), "Sum", Uncounted)
    barrier = threading.Barrier(2, timeout=60)
    with pytest.raises(ValueError, match="bytes"), Team(Task(lambda number: number > 1 and barrier.wait()), 2) as team:
        for number in (1, 2, 2, 3, 3):
            team.add(number)
        team.totals()
    assert threads() == []


def test_an_error_beside_the_threads_leaves_none_behind():
    with pytest.raises(KeyboardInterrupt), Team(Task(), 2) as team:
        team.add(1)
        raise KeyboardInterrupt
    assert threads() == []


def test_threads_leave_with_what_they_have_where_tables_have_grown_large():
    barrier = threading.Barrier(2, timeout=60)
    task = Task(lambda number: barrier.wait() if number in (2, -2) else None)
    with Team(task, 2) as team:
        for number in (1, 2, 2, -2, -2):  # two threads, each with a table of LARGE bytes then
            team.add(number)
        for number in (5, 6, 7):
            team.add(number)
        found = team.totals()
        assert len(team._members) < len(team._results)
    assert sum(found) == 1 + 5 + 6 + 7 and len(found) >= 2
    assert threads() == []
