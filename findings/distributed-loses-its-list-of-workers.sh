#!/usr/bin/env bash
# distributed 2026.8.0: Client.scheduler_info() now and then returns no workers though the cluster has two: the client
# asks in the background for totals without workers, every two seconds, and the method returns whichever answer came
# last. One would expect the workers at each call, since it asks for all of them by default. It matters here because
# code that binds workers to cores or waits until one has left looks there; the scheduler's identity, asked directly,
# always has them. Seen, when the background asks each millisecond: "no worker in some calls: True, asked directly:
# False". This fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet distributed==2026.8.0 dask==2026.8.0
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import dask
from distributed import Client, LocalCluster

dask.config.set({"distributed.client.scheduler-info-interval": "1ms"})
with LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as cluster:
    with Client(cluster) as client:
        client.wait_for_workers(2)
        told = any(not client.scheduler_info()["workers"] for _ in range(3000))
        asked = any(not client.sync(client.scheduler.identity, n_workers=-1)["workers"] for _ in range(3000))
print(f"no worker in some calls: {told}, asked directly: {asked}")
assert (told, asked) == (True, False), (told, asked)
PYTHON
