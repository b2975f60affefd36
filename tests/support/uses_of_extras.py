"""What each extra is for, done once on few rows: `python uses_of_extras.py EXTRA..`, in an empty folder.

Run in environments that have the package with these extras and nothing else; see `release_check`.
"""

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

import streamnb as snb

Y = np.array(["ash", "birch"])[np.arange(40) % 2]
X = np.random.default_rng(0).poisson(np.where((np.arange(6) % 2) == (np.arange(40) % 2)[:, None], 4.0, 1.0))
EXAMPLES = Path(__file__).parents[2] / "examples"


def model_of(rows="rows.zarr", y="y"):
    if rows == "rows.zarr" and not Path(rows).exists():
        snb.convert(X, rows, Y)
    return snb.LinearNBCV("poisson", snb.L1(n_taus=3), folds=2).fit(rows, y)


def table():
    with open("rows.csv", "w") as file:
        csv.writer(file).writerows([["a", "b", "kind"], *([*x, y] for x, y in zip(X[:, :2].tolist(), Y.tolist()))])


def distributed():
    from distributed import Client

    with Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None):
        assert model_of().best_score_ > 0.5


def tables():
    table()
    model = model_of("rows.csv", "kind")
    assert model.predict("rows.csv").shape == Y.shape
    import pyarrow.csv
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.csv.read_csv("rows.csv"), "rows.parquet")
    assert (model.predict("rows.parquet") == model.predict("rows.csv")).all()
    Path("texts.jsonl").write_text("".join(json.dumps({"body": f"the {y}", "kind": y}) + "\n" for y in Y.tolist()))
    model_of(snb.text("texts.jsonl", text="body", y="kind"), None)


def plot():
    import matplotlib

    matplotlib.use("agg")
    snb.RegularizationPathDisplay.from_estimator(model_of()).figure_.savefig("path.png")


def report():
    snb.report(model_of(), "rows.zarr", "y", "report.html")


def cells():
    import anndata

    adata = anndata.AnnData(X.astype(np.float32))
    adata.obs["kind"] = Y
    adata.write_h5ad("cells.h5ad")
    model_of("cells.h5ad", "obs/kind").annotate(adata, "found")


def command(*arguments):
    subprocess.run([Path(sys.executable).parent / "streamnb", *arguments], check=True, stdout=subprocess.DEVNULL)


def cli():
    model_of()
    rows = "rows.zarr", "--y", "y"
    command("plan", *rows)
    command("convert", *rows, "other.zarr")
    command("fit", *rows, "-o", "m.snb")
    command("search", *rows, "--budget", "40 reads", "-o", "best.snb")
    command("evaluate", "m.snb", *rows)
    command("inspect", "m.snb", "--top", "2")
    command("export", "m.snb", "m.json")
    command("predict", "m.snb", "rows.zarr", "--proba")
    for ending in ("csv", "jsonl", "npy"):
        command("predict", "m.snb", "rows.zarr", "--proba", "-o", f"p.{ending}")


def cli_and_tables():
    table()
    command("fit", "rows.csv", "--y", "kind", "-o", "t.snb")
    for ending in ("csv", "jsonl", "npy", "parquet"):
        command("predict", "t.snb", "rows.csv", "--proba", "-o", f"t.{ending}")


def onnx():
    import onnx

    model_of().export("m.onnx")
    onnx.checker.check_model("m.onnx")


def sql():
    model_of().export("m.sql", dialect="sqlite", table="new")
    assert "x5" in Path("m.sql").read_text()


def ecg():
    import wfdb

    sys.path.append(str(EXAMPLES))
    from ecg_records import read_beats

    at = np.arange(1, 60) * 300
    signal = np.zeros((at[-1] + 400, 1), np.int64)
    signal[at] = 300
    form = {"fs": 360, "units": ["mV"], "sig_name": ["MLII"], "fmt": ["16"], "adc_gain": [200.0], "baseline": [0]}
    wfdb.wrsamp("101", d_signal=signal, **form)
    notes = ["(N", *[""] * len(at)]
    wfdb.wrann("101", "atr", np.append(at[0] - 9, at), ["+", *["N"] * len(at)], aux_note=notes)
    assert len(read_beats(Path()).sample) == len(at)


def s3():
    """Where the environment names a server, which has the bucket."""
    snb.convert(X, "s3://rows/rows.zarr", Y)
    model_of("s3://rows/rows.zarr")


def private():
    stats = snb.scan(X, Y, clip=snb.Clip(presence=True, max_features=3), classes=["ash", "birch"], n_features=6)
    assert snb.solve(stats.privatize(epsilon=30.0, delta=1e-6), "bernoulli")[0].privacy_ is not None


def warc():
    Path("x.warc.wet").write_bytes(
        b"WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: http://x/\r\nWARC-Date: 2026-01-02T03:04:05Z\r\n"
        b"WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000000>\r\nContent-Length: 8\r\n\r\nred wine\r\n\r\n"
    )
    fitted = snb.LinearNB("multinomial").fit(snb.text(["red wine", "tea"], y=["wine", "tea"], n_features=2**10))
    assert snb.write_predictions(fitted, "x.warc.wet", "scores", keep=["url"], format="jsonl").rows == 1


USES = {
    "distributed": distributed,
    "tables": tables,
    "plot": plot,
    "report": report,
    "cells": cells,
    "cli": cli,
    "cli,tables": cli_and_tables,
    "onnx": onnx,
    "sql": sql,
    "ecg": ecg,
    "s3": s3,
    "private": private,
    "warc": warc,
}

if __name__ == "__main__":
    for extra in sys.argv[1:]:
        USES[extra]()
