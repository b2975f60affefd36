"""New processes: compiled kernels come from the disk, whoever wrote them and when; nothing is imported in vain."""

import json
import os
import pty
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

import streamnb
from tests.support.processes import PATIENCE, python

pytestmark = pytest.mark.process

PACKAGE = Path(streamnb.__file__).parent
KERNEL = """
import json, os
import numpy as np
from streamnb.kernels.exact import renormalise, two_sum

out = []
for dtype in (np.float64, np.float32):  # two compiled forms of each kernel
    hi, lo = np.array([[[1.0, 3.0]], [[1e-17, 2.0]]], dtype)
    renormalise(hi, lo)
    out += [*hi[0].tolist(), *lo[0].tolist()]
hits = [sum(kernel.stats.cache_hits.values()) for kernel in (renormalise, two_sum)]
print(json.dumps([out, renormalise.stats.cache_misses != {}, sum(hits)]))
"""
SUMS = [1.0, 5.0, 1e-17, 0.0]


def start(code=KERNEL, package=PACKAGE, **environment):
    """What a new process prints, as JSON."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    kept |= {"PYTHONDONTWRITEBYTECODE": "1", **{name: str(value) for name, value in environment.items()}}
    ended = python("-c", code, cwd=package.parent, env=kept)  # the folder that Python searches first
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    return json.loads(ended.stdout)


def files(folder):
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def test_processes_that_compile_at_once_agree_and_the_next_compiles_nothing(tmp_path):
    with ThreadPoolExecutor(2) as pool:
        ended = list(pool.map(lambda _: start(NUMBA_CACHE_DIR=tmp_path), range(2)))
    assert all(out == ended[0][0] and out[:4] == SUMS for out, *_ in ended) and any(
        compiled for _, compiled, _ in ended
    )
    written = files(tmp_path)
    assert {path.suffix for path in written} == {".nbc"}  # nothing half written
    out, compiled, hits = start(NUMBA_CACHE_DIR=tmp_path)
    assert out == ended[0][0] and not compiled and hits == 2  # what two_sum became is inside renormalise
    assert files(tmp_path) == written
    assert start(NUMBA_CACHE_DIR=tmp_path, NUMBA_BOUNDSCHECK=1)[1]  # kernels that check are others


def test_kernels_are_kept_in_the_folder_of_the_user_and_a_change_of_one_reaches_those_that_call_it(tmp_path):
    homes = {"XDG_CACHE_HOME": tmp_path / "cache", "HOME": tmp_path / "home"}
    package = shutil.copytree(PACKAGE, tmp_path / "site" / "streamnb", ignore=shutil.ignore_patterns("__pycache__"))
    first, *_ = start(package=package, **homes)
    kept = files(tmp_path / "cache" / "streamnb")
    assert kept and {path.suffix for path in kept} == {".nbc"}
    assert not (tmp_path / "home").exists()
    assert {path.suffix for path in files(package)} <= {".py", ".pyi", ".typed", ".html", ".css", ".js"}
    called = package / "kernels" / "exact.py"
    code = called.read_text()
    assert "(b - v)\n" in code
    stamp = called.stat()
    called.write_text(code.replace("(b - v)\n", "(b + 1)\n"))
    os.utime(called, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # installers may keep the time of a file
    second, compiled, _ = start(package=package, **homes)
    assert compiled and second[3] != first[3]


def test_a_cache_folder_that_is_empty_or_relative_counts_as_not_given(tmp_path):
    """As the XDG Base Directory Specification wants it."""
    code = """
import importlib, json, os

found = []
for given in ("", "some/where"):
    os.environ["XDG_CACHE_HOME"] = given
    from streamnb.kernels import compiler
    found.append(str(importlib.reload(compiler).FOLDER))
print(json.dumps(found))
"""
    assert start(code, HOME=tmp_path) == [str(tmp_path / ".cache" / "streamnb")] * 2


def test_a_scan_imports_neither_scikit_learn_nor_dask_nor_pandas():
    code = """
import json, sys
import numpy as np
import streamnb as snb

stats = snb.scan(np.eye(4, dtype=np.float32), [0, 1, 0, 1])
print(json.dumps([stats.sum.sum(), sorted({name.partition(".")[0] for name in sys.modules})]))
"""
    total, modules = start(code)
    assert total == 4.0
    assert {"numba", "scipy"} <= {*modules} and {"sklearn", "dask", "distributed", "pandas"}.isdisjoint(modules)


def test_whatever_can_be_saved_is_loaded_by_a_new_process():
    """The classes that a file may name are the same, whether what saves them was imported or not."""
    code = """
import importlib, json, pkgutil
import streamnb as snb
from streamnb.core import persistence

try:
    persistence.registered_class("none of them")
except snb.DataError:
    alone = sorted(persistence._registry)
for module in pkgutil.walk_packages(snb.__path__, "streamnb."):
    importlib.import_module(module.name)
print(json.dumps([alone, sorted(persistence._registry)]))
"""
    alone, every = start(code)
    assert alone == every and {"Comparison", "LinearNBCV", "FeatureSelector", "WeightPath", "Mixed"} <= {*alone}


def on_a_terminal(code, **environment):
    """What a new process writes to a terminal that is its stderr."""
    ours, its = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")} | environment
    process = subprocess.Popen([sys.executable, "-c", code], stderr=its, stdin=subprocess.DEVNULL, env=kept)
    os.close(its)
    said = b""
    with suppress(OSError):  # Linux raises when the other end is closed
        while part := os.read(ours, 4096):
            said += part
    os.close(ours)
    assert process.wait(PATIENCE) == 0
    return said.decode()


SCAN = """
from streamnb.kernels import compiler
compiler.PATIENCE = 0.0
import numpy as np
import streamnb as snb

snb.scan(np.eye(4), [0, 1, 0, 1], progress={})
"""


def test_a_terminal_is_told_of_compiling_once_and_never_where_progress_is_disabled(tmp_path):
    words = "\r\x1b[Kcompiling kernels, once on this machine\r\n"
    assert on_a_terminal(SCAN.format(False), NUMBA_CACHE_DIR=str(tmp_path / "quiet")) == ""
    assert on_a_terminal(SCAN.format(None), NUMBA_CACHE_DIR=str(tmp_path / "told")) == words
