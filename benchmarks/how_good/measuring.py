"""One tool on one set, in a process of its own."""

import multiprocessing
import os
import resource
import sys
import warnings
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

import streamnb as snb
from benchmarks.how_good.sets import Rows, read
from benchmarks.how_good.tools import TOOLS, Tool

AGAIN = 5.0  # seconds: shorter fits are done twice, the first loads what the process needs
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}


def in_a_process(folder: Path, name: str, tool: str, most: int | None, limit: float) -> dict[str, Any]:
    """What `measured` finds, or why it was not found; processes start with the libraries loaded."""
    os.environ.update(ONE_THREAD)  # before the first of them loads a library
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sender, folder, name, tool, most), daemon=True)
    process.start()
    sender.close()
    try:
        found = receiver.recv() if receiver.poll(limit) else None
    except EOFError:
        process.join()
        return {"failed": f"ended with code {process.exitcode}"}
    if found is None:
        process.kill()
    process.join()
    return found or {"failed": f"took more than {limit / 60:g} minutes"}


def _send(sender, *given) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # streamnb has as many threads as cores
    warnings.simplefilter("ignore")  # of what converges late, and of folds that lack a class
    folder, name, tool, most = given
    try:
        sender.send(measured(read(folder, name, most), TOOLS[tool]))
    except Exception as error:  # is told of this tool and set; others go on
        sender.send({"failed": f"{type(error).__name__}: {error}"})


def measured(rows: Rows, tool: Tool) -> dict[str, Any]:
    """Judged on the rows held out; CPU seconds are those of fit and predictions."""
    load, seconds = os.getloadavg()[0], []
    while len(seconds) < 2 and (not seconds or seconds[0] < AGAIN):
        start = cpu_seconds()
        model = tool.fitted(rows)
        predicted, proba = model.predict(rows.X_new), np.asarray(model.predict_proba(rows.X_new), np.float64)
        seconds.append(cpu_seconds() - start)
    found = judged(rows.y_new, predicted, proba, log_odds(model, rows.X_new, proba), model.classes_)
    found |= {"seconds": seconds[-1], "memory": memory(), "load": load}
    return found | {"version": tool.version, "date": str(date.today()), "chosen": getattr(model, "chosen", None)}


def judged(y, predicted, proba, scores, classes) -> dict[str, float]:
    of_proba = snb.evaluate(y, predicted, proba=proba, classes=classes)
    ranked = snb.evaluate(y, predicted, scores=scores[:, 1] if len(classes) == 2 else scores, classes=classes)
    return {
        "accuracy": of_proba.accuracy(),
        "roc_auc": ranked.roc_auc(),
        "log_loss": of_proba.log_loss(),
        "calibration_error": of_proba.expected_calibration_error(),
    }


def log_odds(model, X, proba) -> np.ndarray:
    """Of each class, from logarithms of probabilities where a model has them: what is rounded to 1 is no tie then."""
    logs = model.predict_log_proba(X) if hasattr(model, "predict_log_proba") else np.log(np.maximum(proba, 1e-300))
    logs = np.maximum(np.asarray(logs, np.float64), -1e9)
    rest = [np.logaddexp.reduce(np.delete(logs, k, axis=1), axis=1) for k in range(logs.shape[1])]
    return logs - np.transpose(rest)


def cpu_seconds() -> float:
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def memory() -> float:
    """The largest that the process had, in MiB: with Python, its libraries and the rows."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
