"""Examples that serve a model: started as a user starts them, and called over loopback."""

import http.client
import json
import os
import runpy
import shutil
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import streamnb as snb
from tests.support.processes import PATIENCE, python

ROOT = Path(__file__).parents[2]
EXAMPLES, SERVICE = ROOT / "examples", "service"
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(ROOT),
    "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
    "MLFLOW_DISABLE_TELEMETRY": "true",
}
RECORD = {"size of it": 1.5, "city": "Rome", "day": "2026-01-03", "open": True}

pytestmark = [pytest.mark.slow, pytest.mark.process]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two models of the same columns, one of others, and rows."""
    folder, rng = tmp_path_factory.mktemp("served"), np.random.default_rng(0)
    rows = pd.DataFrame({"size of it": rng.normal(size=300), "city": rng.choice(["Rome", "Oslo"], 300)})
    rows["day"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 40, 300), "D")
    rows["open"] = rng.random(300) < 0.5
    y = np.where(rows["size of it"] + rng.normal(size=300) > 0.0, "late", "early")
    rows.loc[3, "size of it"] = np.nan
    snb.SoftmaxRegression(l2=1.0).fit(snb.table(rows, y)).save(folder / "old.snb", stats=False)
    snb.LinearNB().fit(snb.table(rows, y)).save(folder / "new.snb")
    snb.LinearNB().fit(snb.table(rows[["city", "open"]], y)).save(folder / "other.snb")
    rows.to_parquet(folder / "rows.parquet")
    return folder


@contextmanager
def started(*arguments, **environment):
    """The port of a server that is started with it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, *map(str, arguments), "--port", str(port)]
    server = subprocess.Popen(command, cwd=EXAMPLES, env=ENVIRONMENT | environment, start_new_session=True)
    try:
        yield port, server
    finally:
        server.terminate()
        server.wait(PATIENCE)


def called(port, path, given=None):
    """The status and what is answered."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    body = None if given is None else json.dumps(given)
    connection.request("GET" if given is None else "POST", path, body, {"content-type": "application/json"})
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def soon(condition, server):
    """Wait until a condition holds."""
    ends = time.monotonic() + PATIENCE
    while True:
        assert server.poll() is None and time.monotonic() < ends
        try:
            if condition():
                return
        except OSError:
            pass  # it does not listen yet
        time.sleep(0.1)


def most_megabytes(pid):
    """The resident memory of the largest child of a process, which has answered: a first answer takes memory."""
    if not Path("/proc").exists():
        return 0.0
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    texts = [Path(f"/proc/{child}/status").read_text() for child in children]
    return max(int(text.partition("VmRSS:")[2].split()[0]) for text in texts if "VmRSS:" in text) / 1024


def shares(model):
    return snb.load(model).predict_proba_one(RECORD)


def test_a_service_answers_and_takes_a_new_model_meanwhile(folder):
    pytest.importorskip("fastapi")
    pytest.importorskip("uvicorn")
    served = folder / "served.snb"
    shutil.copy(folder / "old.snb", served)
    old, new = shares(folder / "old.snb"), shares(folder / "new.snb")
    with started("-m", "uvicorn", f"{SERVICE}:app", "--workers", 2, MODEL=str(served)) as (port, server):
        soon(lambda: called(port, "/health")[0] == 200, server)

        def answer(record=RECORD, path="/predict"):
            status, found = called(port, path, record)
            return status, json.loads(found)

        assert answer() == (200, old) and answer([RECORD] * 3, "/predict_batch") == (200, [old] * 3)
        schema = json.loads(called(port, "/openapi.json")[1])["components"]["schemas"]["Record"]
        assert [*schema["properties"]] == [*RECORD]
        for wrong, named in (
            ({key: RECORD[key] for key in RECORD if key != "city"}, "city"),
            (RECORD | {"town": "Rome"}, "town"),
            (RECORD | {"size of it": "large"}, "size of it"),
            ([RECORD], "body"),
        ):
            status, found = answer(wrong)
            assert status == 422 and named in str(found["detail"][0]["loc"])
        assert answer(dict.fromkeys(RECORD))[0] == 200 and answer(RECORD | {"city": "Kyiv"})[0] == 200

        before = most_megabytes(server.pid)
        for file in (folder / "rows.parquet", folder / "other.snb"):  # no model, and one of other columns
            shutil.copy(file, served)
            time.sleep(2.5)
            assert answer() == (200, old)
        with ThreadPoolExecutor(4) as pool:
            under_load = [pool.submit(answer) for _ in range(300)]
            shutil.copy(folder / "new.snb", served)
            found = [each.result() for each in under_load]
        assert all(each in ((200, old), (200, new)) for each in found)
        soon(lambda: all(answer() == (200, new) for _ in range(20)), server)
        assert most_megabytes(server.pid) - before < 50.0


def test_a_regression_is_served_and_texts_are_refused(folder, monkeypatch):
    pytest.importorskip("fastapi")
    rows = pd.read_parquet(folder / "rows.parquet").dropna()
    model, script = snb.Ridge().fit(rows, "size of it"), EXAMPLES / f"{SERVICE}.py"
    monkeypatch.setenv("MODEL", str(folder / "served.snb"))
    model.save(folder / "served.snb", stats=False)
    service, record = runpy.run_path(script), {"city": "Rome", "day": "2026-01-03", "open": True}
    assert service["predict"](service["Record"](**record)) == {"prediction": model.predict([record])[0]}
    snb.LinearNB().fit(["red wine", "calm sea"], ["wine", "sea"]).save(folder / "served.snb")
    with pytest.raises(SystemExit, match="cannot be served: it is no model of a table"):
        runpy.run_path(script)


def test_a_model_in_mlflow_is_served(folder, tmp_path):
    pytest.importorskip("mlflow")
    script = EXAMPLES / "mlflow_model.py"
    ended = python(script, folder / "old.snb", folder / "rows.parquet", "saved", cwd=tmp_path, env=ENVIRONMENT)
    assert ended.returncode == 0, ended.stderr
    expected = snb.load(folder / "old.snb").predict_proba(pd.read_parquet(folder / "rows.parquet").head())
    found = [[float(share) for share in line.split()[1:]] for line in ended.stdout.splitlines()[-5:]]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    serve = "-m", "mlflow", "models", "serve", "-m", tmp_path / "saved", "--env-manager", "local"
    with started(*serve) as (port, server):
        soon(lambda: called(port, "/ping")[0] == 200, server)
        status, found = called(port, "/invocations", {"dataframe_records": [RECORD | {"day": "2026-01-03T00:00:00"}]})
        assert status == 200 and json.loads(found)["predictions"] == [shares(folder / "old.snb")]


@pytest.mark.cluster
def test_rows_are_scored_in_a_graph_of_dask(folder, tmp_path):
    rows = pd.read_parquet(folder / "rows.parquet")
    for k in range(3):
        rows[k * 100 : k * 100 + 100].to_parquet(tmp_path / f"{k}.parquet")
    script = EXAMPLES / "dask_scoring.py"
    ended = python(script, folder / "old.snb", tmp_path / "*.parquet", tmp_path / "scored", env=ENVIRONMENT)
    assert ended.returncode == 0, ended.stderr
    found = pd.read_parquet(tmp_path / "scored")
    np.testing.assert_array_equal(found[["p_early", "p_late"]], snb.load(folder / "old.snb").predict_proba(rows))
