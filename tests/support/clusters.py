"""Clusters of processes on this machine, and what their schedulers know."""

import threading
import time
from contextlib import contextmanager
from multiprocessing import forkserver

import dask
import distributed
import numpy as np
import scipy.sparse as sp
from zarr.storage import WrapperStore

import streamnb as snb
from tests.support.processes import PATIENCE

PATIENT = {  # with workers that start, or answer, late
    "distributed.comm.timeouts.connect": PATIENCE,
    "distributed.comm.timeouts.tcp": PATIENCE,
    "distributed.deploy.lost-worker-timeout": PATIENCE,
    "distributed.scheduler.worker-ttl": None,
    "distributed.worker.profile.enabled": False,  # its look at all threads can wait forever (python/cpython#106883)
}
PRELOADED = ["distributed", "zarr", "streamnb.passes.dask_workers", "streamnb.estimators.trained"]


@contextmanager
def cluster_of(n_workers, folder, allowed_failures=3, start="forkserver", **options):
    """A client of a cluster of that many processes of one thread each.

    A process that is forked starts sooner, with the environment of the first, and has imported what it needs; one that
    is spawned has the environment of now.
    """
    forkserver.set_forkserver_preload(PRELOADED)
    forkserver.ensure_running()
    started = {
        "distributed.worker.multiprocessing-method": start,
        "distributed.scheduler.allowed-failures": allowed_failures,
    }
    options = {"n_workers": n_workers, "threads_per_worker": 1, "memory_limit": 0} | options
    with (
        dask.config.set(PATIENT | started),
        distributed.LocalCluster(dashboard_address=":0", local_directory=folder, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.register_plugin(Watch())
        yield client


class Watch(distributed.SchedulerPlugin):
    """Counts what the scheduler does: the most tasks it knew at once, and the tasks that were computed."""

    name = "watch"

    def start(self, scheduler):
        self.scheduler, self.most, self.computed = scheduler, 0, 0

    def transition(self, key, start, finish, *args, **kwargs):
        self.most = max(self.most, len(self.scheduler.tasks))
        self.computed += finish == "memory"


def watched(client):
    """What the scheduler did since this was called last: most tasks at once, and tasks computed."""

    def read(dask_scheduler):
        watch = dask_scheduler.plugins["watch"]
        seen, watch.most, watch.computed = (watch.most, watch.computed), 0, 0
        return seen

    return client.run_on_scheduler(read)


def prefixes(client):
    """The names of all work that the scheduler ever had, without numbers."""
    return set(client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.task_prefixes)))


def n_tasks(client, state=None):
    """How many tasks the scheduler has now, of any state or of one."""

    def count(dask_scheduler):
        return sum(state in (None, task.state) for task in dask_scheduler.tasks.values())

    return client.run_on_scheduler(count)


def workers_of(client):
    """What the scheduler says of each worker by its address; `scheduler_info` now and then tells of none.

    The client keeps what it was told last, and asks for totals without workers every two seconds (distributed 2026.8).
    """
    return client.sync(client.scheduler.identity, n_workers=-1)["workers"]


def until(condition):
    """Wait for a condition that comes with time; what it gave in the end."""
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)
    return found


class SlowStore(WrapperStore):
    """A store of which each read takes a while; `before` says whether to do more, in a process that reads a key."""

    def __init__(self, store, seconds, before=None):
        super().__init__(store)
        self.seconds, self.before = seconds, before

    def _with_store(self, store):
        return type(self)(store, self.seconds, self.before)

    async def get(self, key, prototype, byte_range=None):
        import asyncio

        if "/c/" in key:
            await asyncio.sleep(self.seconds)
            if self.before is not None:
                self.before(key)
        return await super().get(key, prototype, byte_range)


def rows_in_store(store, n_rows=20_000, n_features=60, whole=True):
    """Sparse rows with labels in a CSR group of a store."""
    rng = np.random.default_rng(0)
    x = sp.random_array((n_rows, n_features), density=0.1, format="csr", rng=rng)
    x.data = np.ceil(3 * x.data) if whole else x.data
    y = np.array(["ash", "birch", "willow"])[rng.integers(0, 3, n_rows)]
    snb.write_csr(store, ((x[i : i + 1000], y[i : i + 1000]) for i in range(0, n_rows, 1000)), n_features=n_features)
    return x, y


@contextmanager
def in_thread(function, *args, **options):
    """Run a function meanwhile; yields a list that holds the result, or the error, in the end."""
    out = []

    def run():
        try:
            out.append(function(*args, **options))
        except Exception as error:
            out.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    yield out
    thread.join(PATIENCE)
    assert out, "the work did not end"
