"""What a task says unless it says something else."""

import pickle
from dataclasses import dataclass

import numpy as np

import streamnb as snb
from streamnb.passes.contract import PassTask, Wants, shown
from streamnb.passes.report import Report


@dataclass
class Count:
    n: int = 0
    nbytes = 8

    def __add__(self, other):
        return Count(self.n + other.n)

    def arrays(self):
        return {"n": self.n}

    def finish(self):
        return self


@dataclass(frozen=True)
class Counting(PassTask):
    step: int = 2

    def partial(self):
        return Count()

    def add(self, partial, block):
        partial.n += self.step


def test_what_fits_most_tasks():
    task, total = Counting(), Count(5)
    assert task.wants(None, None) == Wants(values=True, block_bytes=0)
    assert task.ended(total, Report()) is task.packed(total) is task.unpacked(total) is total
    assert task.title == "pass" and task.n_rows is None and task.most_bytes is None


def test_a_total_is_made_again_of_its_arrays():
    assert Counting().total(Count(5).arrays()) == Count(5)


def test_a_task_is_told_by_its_fields():
    assert Counting().about() == {"the task": "Counting", "step": "2"}
    assert Counting(3).about() != Counting().about()


def test_long_values_are_shown_by_their_beginning_and_a_digest():
    one, two = np.arange(1000).tolist(), np.arange(1000).tolist()
    two[-1] = 7
    assert shown(one) != shown(two) and len(shown(one)) < 130 and shown(3) == "3"


def test_values_are_shown_whole_or_told_by_a_digest():
    """The repr of a long array leaves its middle out, that of a model its weights; sets have no order."""
    one, two = np.zeros(5000), np.zeros(5000)
    two[2500] = 1.0
    assert shown(one) != shown(two) == shown(two.copy()) and shown(np.array([1, 2])) == "[1, 2]"
    assert shown(frozenset("cab")) == "['a', 'b', 'c']" == shown({"b", "c", "a"})
    models = [snb.solve(snb.scan(np.eye(3) * n, ["a", "b", "c"]), "poisson")[0] for n in (1, 2)]
    assert repr(models[0]) == repr(models[1]) and shown(models[0]) != shown(models[1])
    assert shown(models[0]) == shown(pickle.loads(pickle.dumps(models[0])))
