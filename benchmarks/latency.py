"""Reads from an object store whose answers take their time: `python -m benchmarks.latency [--milliseconds 5 50 200]`.

A server on this machine, in a process of its own, answers each request after a delay and then sends at most 20 MB/s on
a connection. One scan of each input is measured: requests and requests a MiB, MB/s, and the share of what 16
connections would bring (320 MB/s), the share of the time that this machine's processors work, for reader and server,
and the seconds of the same scan of the local files. Where processors work all the time, they are the limit.
"""

import argparse
import asyncio
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp
import zarr
from aiohttp import ClientSession, web

import streamnb as snb
from streamnb.core.threads import n_cores

SPEED, CONNECTIONS, SLICE = 20e6, 16, 1 << 20  # bytes a second of one connection, and bytes sent at once


# ---- the server ------------------------------------------------------------------------------------------------------


def serve(folder: Path, delay: float, port: Any) -> None:
    """Serve the files of a folder, with ranges of bytes, until the process is ended."""
    asked = {"requests": 0, "bytes": 0}

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/asked":
            return web.json_response(asked | {"cpu": time.process_time()})
        path = folder / request.path[1:]
        await asyncio.sleep(delay)
        asked["requests"] += 1
        if not path.is_file():
            raise web.HTTPNotFound
        size = path.stat().st_size
        wanted = request.http_range
        start, stop, _ = slice(wanted.start, wanted.stop).indices(size)
        headers = {
            "Content-Length": str(stop - start),
            "ETag": f'"{path.stat().st_mtime_ns}"',
            "Accept-Ranges": "bytes",
        }
        if wanted.start is not None or wanted.stop is not None:
            headers["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
        response = web.StreamResponse(status=206 if "Content-Range" in headers else 200, headers=headers)
        await response.prepare(request)
        if request.method == "GET":
            with open(path, "rb") as file:
                file.seek(start)
                began = time.perf_counter()
                for sent in range(0, stop - start, SLICE):
                    part = file.read(min(SLICE, stop - start - sent))
                    await response.write(part)
                    asked["bytes"] += len(part)
                    await asyncio.sleep(began + (sent + len(part)) / SPEED - time.perf_counter())
        return response

    async def run() -> None:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port.send(runner.addresses[0][1])
        await asyncio.Event().wait()

    asyncio.run(run())


@contextmanager
def served(folder: Path, delay: float) -> Iterator[str]:
    """The address of a server of this folder."""
    receiver, sender = multiprocessing.get_context("spawn").Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(folder, delay, sender))
    process.start()
    try:
        yield f"http://127.0.0.1:{receiver.recv()}"
    finally:
        process.terminate()
        process.join()


async def counted(address: str) -> dict[str, int]:
    async with ClientSession() as session, session.get(f"{address}/asked") as answer:
        return await answer.json()


# ---- input -----------------------------------------------------------------------------------------------------------


def rows(n_rows: int) -> Iterator[tuple[sp.csr_array, np.ndarray]]:
    """Counts of a hundred of 65,536 columns."""
    rng = np.random.default_rng(0)
    for _ in range(n_rows // 10_000):
        columns = rng.integers(0, 2**16, 1_000_000, dtype=np.int32)
        counts = rng.integers(1, 6, len(columns)).astype(np.uint8)
        x = sp.csr_array((counts, columns, np.arange(10_001) * 100), shape=(10_000, 2**16))
        yield x, rng.integers(0, 20, 10_000).astype(np.int8)


def write_csr(folder: Path, n_rows: int) -> None:
    snb.write_csr(folder / "csr.zarr", rows(n_rows), n_features=2**16)


def write_dense(folder: Path, n_rows: int, chunk: int, shard: int | None = None) -> None:
    """Numbers of 100 columns, in chunks of so many rows, of a shard of so many where that is given."""
    group = zarr.create_group(folder / ("dense.zarr" if shard is None else "shards.zarr"))
    how = {"chunks": (chunk, 100), "shards": None if shard is None else (shard, 100), "dtype": "float32"}
    x = group.create_array("X", shape=(n_rows, 100), **how)
    x[:] = np.random.default_rng(0).normal(size=(n_rows, 100)).astype(np.float32)
    group.create_array("y", data=np.arange(n_rows) % 3, chunks=(n_rows,))


def write_parquet(folder: Path, n_rows: int) -> None:
    """Twenty columns of numbers, ten of which are asked for."""
    rng = np.random.default_rng(0)
    table = pa.table({f"x{k}": rng.normal(size=n_rows) for k in range(20)} | {"y": np.arange(n_rows) % 3})
    pq.write_table(table, folder / "table.parquet", row_group_size=100_000)


def write_lines(folder: Path, n_rows: int) -> None:
    """JSON lines in one file, compressed by Zstandard."""
    rng = np.random.default_rng(0)
    words = rng.integers(0, 50_000, (n_rows, 30))
    lines = "".join(f'{{"text": "{" ".join(map(str, row))}", "y": {k % 5}}}\n' for k, row in enumerate(words.tolist()))
    with pa.output_stream(str(folder / "lines.jsonl.zst"), compression="zstd") as file:
        file.write(lines.encode())


class Input(NamedTuple):
    write: Callable[[Path], None]
    scan: Callable[[str], Any]  # of the address of the folder


def model() -> Any:
    return snb.LinearNB("gaussian")


INPUTS = {
    "Zarr, CSR, chunks of 1 M values": Input(
        lambda folder: write_csr(folder, 1_000_000), lambda at: snb.LinearNB().fit(f"{at}/csr.zarr", "y")
    ),
    "Zarr, dense, chunks of 1 MiB": Input(
        lambda folder: write_dense(folder, 4 * 655_360, 2_621), lambda at: model().fit(f"{at}/dense.zarr", "y")
    ),
    "Zarr, dense, shards of 16 MiB of chunks of 100 kB": Input(
        lambda folder: write_dense(folder, 4 * 655_360, 256, 40_960), lambda at: model().fit(f"{at}/shards.zarr", "y")
    ),
    "Parquet, 11 of 21 columns": Input(
        lambda folder: write_parquet(folder, 2_000_000),
        lambda at: model().fit(
            snb.table(f"{at}/table.parquet", y="y", columns=[f"x{k}" for k in range(10)], bins=None)
        ),
    ),
    "JSON lines, .zst": Input(
        lambda folder: write_lines(folder, 400_000),
        lambda at: snb.LinearNB().fit(snb.text(f"{at}/lines.jsonl.zst", "text", y="y")),
    ),
}


def measured(name: str, folder: Path, delay: float) -> str:
    """A row of the table."""
    scan = INPUTS[name].scan
    scan(str(folder))  # compiles
    began = time.perf_counter()
    scan(str(folder))
    local = time.perf_counter() - began
    with served(folder, delay) as address:
        before = time.process_time() + asyncio.run(counted(address))["cpu"]
        began = time.perf_counter()
        scan(address)
        seconds, asked = time.perf_counter() - began, asyncio.run(counted(address))
        busy = (time.process_time() + asked["cpu"] - before) / seconds / n_cores()
    speed, per_mib = asked["bytes"] / seconds, asked["requests"] / (asked["bytes"] / 2**20)
    return (
        f"| {name} | {delay * 1000:.0f} ms | {asked['requests']:,} | {per_mib:.2f} | "
        f"{speed / 1e6:,.0f} | {speed / SPEED / CONNECTIONS:.0%} | {busy:.0%} | {seconds:.1f} | {local:.1f} |"
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--milliseconds", type=float, nargs="+", default=[5.0, 50.0, 200.0])
    parser.add_argument("--inputs", nargs="+", default=list(INPUTS), help="; ".join(INPUTS))
    options = parser.parse_args(arguments)
    print("| | delay | requests | a MiB | MB/s | of 320 MB/s | processors | seconds | of local files |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in options.inputs:
        with tempfile.TemporaryDirectory() as folder:
            INPUTS[name].write(Path(folder))
            for delay in options.milliseconds:
                print(measured(name, Path(folder), delay / 1000), flush=True)


if __name__ == "__main__":
    main()
