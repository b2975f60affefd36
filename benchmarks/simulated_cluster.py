"""How long scans, reads and corpora would take on 10 to 10,000 workers: `python -m benchmarks.simulated_cluster`.

Workers of one core read, decode and sum segments of rows; one scheduler hands tasks out; statistics are merged eight
at a time on the workers, and those of 512 segments go to the client, which adds them up. With `corpus` as the first
word each worker reads files, and writes the parts of their scores, or of the best of their rows. What a core does is
measured (benchmarks/scaling.py, benchmarks/filter_speed.py), the machines are assumed: every constant can be given on
the command line.
"""

import argparse
import heapq
import sys
from dataclasses import dataclass, fields, replace

import numpy as np

from streamnb.passes.dask_workers import FAN_IN
from streamnb.rows import row_blocks

LEVELS = 3  # of merging on the workers


@dataclass(frozen=True)
class Costs:
    """What the rows, the work and the machines are; sizes in bytes, times in seconds."""

    nonzeros: float = 1e13
    decoded: float = 5.0  # of a nonzero: an int32 index and a small value
    stored: float = 2.5  # of a nonzero
    segment: float = float(row_blocks.SEGMENT_BYTES)  # decoded, of one task
    per_nonzero: float = 4.1e-9  # of one core: decode, check and sum
    table: float = 42e6  # of statistics: 20 classes x 2^18 features x 8
    per_merged_byte: float = 2e-10  # of one core: unpack and add
    bandwidth: float = 150e6  # a second, of the network of each worker
    client_bandwidth: float = 1.2e9  # a second, of the network of the client
    store_bandwidth: float = 100e9  # a second, of the object store, for all workers
    per_task: float = 0.5e-3  # of the one scheduler
    spread: float = 0.15  # standard deviation of the logarithm of a segment's time
    slow: float = 0.01  # share of segments that take three times as long
    reads: int = 0  # that follow the scan: models of several reads
    read_times: float = 2.2  # what a read takes of a core, in terms of the scan


@dataclass
class Outcome:
    """What a scan took: its seconds, core-seconds of the workers, and seconds of the scheduler and of the client."""

    n_segments: int
    seconds: float = 0.0
    reading: float = 0.0
    summing: float = 0.0
    merging: float = 0.0
    scheduler: float = 0.0
    client: float = 0.0


def simulate(costs: Costs, n_workers: int, seed: int = 0) -> Outcome:
    """One scan, task by task."""
    out = Outcome(int(np.ceil(costs.nonzeros * costs.decoded / costs.segment)))
    rng = np.random.default_rng(seed)
    slowness = np.exp(rng.normal(0.0, costs.spread, out.n_segments))
    slowness[rng.random(out.n_segments) < costs.slow] *= 3.0
    nonzeros = costs.segment / costs.decoded
    reading = nonzeros * costs.stored / min(costs.bandwidth, costs.store_bandwidth / n_workers)
    summing = nonzeros * costs.per_nonzero
    merging = costs.table * (1.0 / costs.bandwidth + costs.per_merged_byte)
    gathering = costs.table * (1.0 / costs.client_bandwidth + costs.per_merged_byte)

    running: list[tuple[float, int]] = []  # when a task ends, and the level of its statistics
    unmerged = [0] * (LEVELS + 1)
    now, scheduler_free, client_free, n_begun = 0.0, 0.0, 0.0, 0
    while True:
        while len(running) < n_workers:  # merges go first, for statistics take memory
            last = n_begun == out.n_segments and not running
            level = next((at for at in range(LEVELS) if unmerged[at] >= (1 if last else FAN_IN)), None)
            if level is not None:
                n_merged = min(unmerged[level], FAN_IN)
                unmerged[level] -= n_merged
                seconds, level = n_merged * merging, level + 1
                out.merging += seconds
            elif n_begun < out.n_segments:
                read, level = slowness[n_begun] * reading, 0
                seconds = read + slowness[n_begun] * summing
                out.reading += read
                out.summing += seconds - read
                n_begun += 1
            else:
                break
            out.scheduler += costs.per_task
            scheduler_free = max(scheduler_free, now) + costs.per_task
            heapq.heappush(running, (scheduler_free + seconds, level))
        if not running:
            break
        now, level = heapq.heappop(running)
        if level == LEVELS:
            out.client += gathering
            client_free = max(client_free, now) + gathering
        else:
            unmerged[level] += 1
    out.seconds = max(now, client_free)
    return out


def simulate_reads(costs: Costs, n_workers: int) -> Outcome:
    """The scan and the reads after it: each begins with copies of the weights for all workers."""
    out = simulate(costs, n_workers)
    if costs.reads:
        one = simulate(replace(costs, per_nonzero=costs.per_nonzero * costs.read_times), n_workers, seed=1)
        copies = np.ceil(np.log2(n_workers)) * costs.table / costs.bandwidth  # who has the weights hands them on
        for part in ("seconds", "reading", "summing", "merging", "scheduler", "client"):
            setattr(out, part, getattr(out, part) + costs.reads * getattr(one, part))
        out.seconds += costs.reads * copies
    return out


@dataclass(frozen=True)
class CorpusCosts:
    """A corpus of files, each of them a part, of which the best rows are selected; sizes in bytes, times in seconds."""

    files: int = 90_000
    stored: float = 333e6  # of a file
    unpacked: float = 1.11e9  # of a file
    rows: float = 33_333.0  # of a file
    kept: float = 0.1  # share of rows
    speed: float = 45e6  # unpacked bytes a second of one core: read and score
    second_speed: float = 65e6  # the same of the second read, which scores nothing and packs what is kept
    bandwidth: float = 150e6  # a second, of the network of each worker
    client_bandwidth: float = 1.2e9  # a second, of the network of the client
    store_bandwidth: float = 100e9  # a second, of the object store, for all workers
    request: float = 0.05  # until an object store answers
    per_task: float = 1e-3  # of the one scheduler
    counts: float = 8e3  # of a part, that go to the client in the first of four rounds of counting
    spread: float = 0.15  # standard deviation of the logarithm of a task's time
    slow: float = 0.01  # share of tasks that take three times as long


def simulate_parts(costs: CorpusCosts, n_workers: int, share: bool, seed: int = 0) -> Outcome:
    """Scores of a corpus, or with `share` also the rounds of counting, and the read that writes what is kept."""
    out, rng = Outcome(costs.files), np.random.default_rng(seed)
    bandwidth = min(costs.bandwidth, costs.store_bandwidth / n_workers)

    def phase(n_bytes: float, seconds: float, n_requests: int) -> None:
        """Tasks of which each moves bytes between a worker and the store, and computes for some seconds."""
        slowness = np.exp(rng.normal(0.0, costs.spread, costs.files))
        slowness[rng.random(costs.files) < costs.slow] *= 3.0
        moving = n_bytes / bandwidth + n_requests * costs.request
        free = [0.0] * min(n_workers, costs.files)
        for k, factor in enumerate(slowness.tolist()):
            begun = max(heapq.heappop(free), (k + 1) * costs.per_task)
            heapq.heappush(free, begun + factor * (moving + seconds))
        out.seconds += max(free)
        out.reading += moving * slowness.sum()
        out.summing += seconds * slowness.sum()
        out.scheduler += costs.files * costs.per_task

    scores = 8.0 * costs.rows
    phase(costs.stored + scores, costs.unpacked / costs.speed, 3)
    if share:
        for n_bytes in (costs.counts, 0.0, 0.0, 0.0):
            phase(scores, costs.rows * 2e-7, 1)  # sorts the digits of all rows
            received = costs.files * n_bytes / costs.client_bandwidth
            out.client, out.seconds = out.client + received, out.seconds + received
        phase(scores + (1.0 + costs.kept) * costs.stored, costs.unpacked / costs.second_speed, 4)
    return out


def corpus_table(costs: CorpusCosts, n_workers: tuple[int, ...] = (100, 1_000, 10_000)) -> str:
    """Hours, efficiency and bytes a second from the store, of scores and of the best rows."""
    lines = ["| workers | scores | efficiency | the best rows | efficiency | from the store |"]
    lines.append("| ---: | ---: | ---: | ---: | ---: | ---: |")
    for n in n_workers:
        columns = [f"{n:,}"]
        for share in (False, True):
            out = simulate_parts(costs, n, share)
            columns += [_duration(out.seconds), f"{(out.reading + out.summing) / (n * out.seconds):.2f}"]
        rate = costs.files * costs.stored / simulate_parts(costs, n, False).seconds
        lines.append(f"| {' | '.join(columns)} | {rate / 1e9:,.1f} GB a second |")
    return "\n".join(lines)


def table(costs: Costs, n_workers: tuple[int, ...] = (10, 100, 1_000, 10_000)) -> str:
    """The outcomes as a table in Markdown: shares of all core-seconds, and how busy scheduler and client are."""
    lines = [
        "| workers | time | efficiency | reading | summing | merging | idle | scheduler | client |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    fewest = None
    for n in n_workers:
        out = simulate_reads(costs, n)
        in_all = n * out.seconds
        fewest = fewest or in_all
        busy = out.reading, out.summing, out.merging
        shares = [*(part / in_all for part in busy), 1.0 - sum(busy) / in_all]
        shares += [out.scheduler / out.seconds, out.client / out.seconds]
        columns = [f"{n:,}", _duration(out.seconds), f"{fewest / in_all:.2f}", *(f"{share:.0%}" for share in shares)]
        lines.append(f"| {' | '.join(columns)} |")
    return "\n".join(lines)


def _duration(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.1f} min"


def main() -> None:
    of_corpus = sys.argv[1:2] == ["corpus"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    for constant in fields(CorpusCosts if of_corpus else Costs):
        kind = type(constant.default)
        parser.add_argument(f"--{constant.name.replace('_', '-')}", type=kind, default=constant.default)
    given = vars(parser.parse_args(sys.argv[1 + of_corpus :]))
    print(corpus_table(CorpusCosts(**given)) if of_corpus else table(Costs(**given)))


if __name__ == "__main__":
    main()
