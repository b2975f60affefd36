"""Kernels that are compiled beforehand: new processes compile nothing of what is usual."""

import json
import os
import warnings

import pytest

import streamnb as snb
from streamnb.kernels import compiler
from streamnb.searching import warming
from tests.support.processes import python
from tests.support.refusals import refuses

USUAL = """
import json, warnings
import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits
import streamnb as snb
from streamnb.kernels.compiler import compiling

warnings.simplefilter("ignore")
X, y = load_digits(return_X_y=True)
texts, drinks = ["a cup of green tea", "a glass of red wine"] * 18, np.array(["tea", "wine"] * 18)
fits = {
    "LinearNB": lambda rows: snb.LinearNB().fit(rows, y).predict(rows),
    "SoftmaxRegression": lambda rows: snb.SoftmaxRegression().fit(rows, y).predict(rows),
    "LinearNBCV": lambda rows: snb.LinearNBCV().fit(rows, y).predict(rows),
    "search": lambda rows: snb.search(rows, y, show=False).best_.predict(rows),
}
compiled = {}
def count(name, fit, *arguments):
    before = compiling.n_forms
    fit(*arguments)
    compiled[name] = compiling.n_forms - before

for name, fit in fits.items():
    count(f"{name}, dense", fit, X)
    count(f"{name}, CSR", fit, sp.csr_array(X))
count("float32", fits["LinearNB"], X.astype("f4"))
count("uint8", fits["LinearNB"], X.astype("u1"))
count("texts", lambda: snb.LinearNB("multinomial").fit(snb.text(texts, y=drinks)).predict(texts))
print(json.dumps(compiled))
"""


def run(*arguments):
    ended = python(*arguments, env={name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"})
    assert ended.returncode == 0, ended.stderr
    return ended.stdout, ended.stderr


@pytest.mark.slow
@pytest.mark.benchmark
@pytest.mark.process
def test_after_it_usual_fits_compile_nothing():
    """In the folder that other tests use, too: to fill one of its own takes minutes."""
    said, words = run("-m", "streamnb", "warm")
    *lines, last = words.splitlines()
    assert not said and [line.partition(":")[0] for line in lines] == [*warming.FORMS, "texts", "tables"]
    assert last.startswith(f"{compiler.FOLDER} holds ")
    compiled = json.loads(run("-c", USUAL)[0])
    assert len(compiled) == 11 and set(compiled.values()) == {0}, compiled


@pytest.fixture
def one_fit(monkeypatch, tmp_path):
    """Warming is one fit, which warns."""

    def fit():
        warnings.warn("few rows", snb.StreamnbWarning, stacklevel=1)

    monkeypatch.setattr(warming, "_all_fits", lambda: [("a fit", fit)])
    monkeypatch.setattr(compiler.flags, "DISABLE_JIT", 0)
    monkeypatch.setattr(compiler, "FOLDER", tmp_path / "kept")
    monkeypatch.setattr(compiler, "compiling", compiler.Compiling())
    return tmp_path / "kept"


def test_it_prints_what_it_did_and_returns_the_folder(one_fit, capsys):
    assert warming.warm() == one_fit
    assert capsys.readouterr().out == f"a fit: 0 kernels compiled in 0 s\n{one_fit} holds 0 compiled kernels, 0.0 MB\n"


def test_a_folder_that_cannot_be_written_to_and_interpreted_kernels_are_refused_first(one_fit, monkeypatch):
    one_fit.touch()
    refuses(OSError, r"lost: they cannot be kept in '.*kept' \(File exists\); set NUMBA_CACHE_DIR", warming.warm)
    monkeypatch.setattr(compiler.flags, "DISABLE_JIT", 1)
    refuses(ValueError, "NUMBA_DISABLE_JIT is set", warming.warm)
