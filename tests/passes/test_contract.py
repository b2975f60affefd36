"""What a task says unless it says something else."""

from dataclasses import dataclass

from streamnb.passes.contract import PassTask, Report, Wants


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
