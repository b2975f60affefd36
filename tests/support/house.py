"""How large the package is, and how long the way is through it: `make house` prints it, `tests/laws` hold it.

Journeys are walked with interpreted kernels, so that functions of kernels count, and on few rows, which meet the same
code as many.
"""

import ast
import os
import sys
import tempfile
import threading
import warnings
from collections import Counter
from pathlib import Path
from types import CodeType

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "streamnb"
TESTS = ROOT / "tests"


# ---- sizes -----------------------------------------------------------------------------------------------------------


def files():
    """Every file of the package, by the name of its module."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = path
    return found


def is_docstring(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def imported_modules(nodes, modules):
    """Modules of the package that a file imports, by the nodes of its tree."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                if name in modules:
                    yield name
                elif node.module in modules:
                    yield node.module


def sizes():
    """Counts of the package and its tests, by what is counted."""
    modules = {name: ast.parse(path.read_text()) for name, path in files().items()}
    types, importers, docstrings = Counter(), Counter(), 0
    for tree in modules.values():
        nodes = list(ast.walk(tree))
        importers.update(set(imported_modules(nodes, modules)))
        types.update(map(type, nodes))
        docstrings += sum(map(is_docstring, nodes))

    def of(kind):
        return sum(count for each, count in types.items() if issubclass(each, kind))

    statements = of(ast.stmt) - docstrings
    nodes = of(ast.expr) - of(ast.Constant)
    test_lines = sum(len(path.read_text().splitlines()) for path in TESTS.rglob("*.py"))
    return {
        "expression nodes": nodes,
        "statements": statements,
        "nodes per statement": round(nodes / statements, 2),
        "classes": of(ast.ClassDef),
        "files": len(modules),
        "files with one importer": sum(n == 1 for n in importers.values()),
        "conditional expressions per 1,000 statements": round(1000 * of(ast.IfExp) / statements, 1),
        "starred arguments per 1,000 statements": round(1000 * of(ast.Starred) / statements, 1),
        "lines of tests": test_lines,
    }


# ---- journeys --------------------------------------------------------------------------------------------------------


class Journey:
    """The code of the package that a call meets, on all threads.

    Attributes
    ----------
    codes : code objects by identity
        Functions that were called.
    depth : int
        Most frames of the package above each other.
    passes : int
        Reads of the rows.
    """

    def __init__(self):
        self.codes: dict[int, CodeType] = {}  # by identity: to hash one looks through its constants
        self.depth = 0
        self.passes = 0
        self._above: Counter[int] = Counter()  # frames of the package that each thread is in

    def walk(self, call):
        threading.settrace(self._called)
        sys.settrace(self._called)
        try:
            call()
        finally:
            sys.settrace(None)
            threading.settrace(None)
        return self

    def _called(self, frame, event, argument):
        code = frame.f_code
        if not is_ours(code) or (id(code) in self.codes and code.co_filename.startswith(KERNELS)):
            return None  # loops of kernels call millions of times
        self.codes[id(code)] = code
        self.passes += code.co_name == "run" and code.co_filename.endswith("passes/run.py")
        thread = threading.get_ident()
        self._above[thread] += 1
        self.depth = max(self.depth, self._above[thread])
        frame.f_trace_lines = False
        return self._left

    def _left(self, frame, event, argument):
        if event == "return":
            self._above[threading.get_ident()] -= 1

    @property
    def n_functions(self):
        return len(self.codes)

    @property
    def n_files(self):
        return len({code.co_filename for code in self.codes.values()})


OURS, KERNELS = f"{PACKAGE}/", f"{PACKAGE}/kernels/"


def is_ours(code):
    return code.co_filename.startswith(OURS)


def journeys(folder):
    """Calls of users on small files in a folder, by what is called."""
    import numpy as np
    import pandas as pd
    import zarr

    import streamnb as snb

    rng = np.random.default_rng(0)
    counts, labels = rng.poisson(1.0, (60, 8)).astype(np.uint8), rng.integers(0, 2, 60)
    store, table = f"{folder}/rows.zarr", f"{folder}/rows.parquet"
    group = zarr.open_group(store, mode="w")
    group.create_array("X", data=counts, chunks=(20, 8))
    group.create_array("y", data=labels, chunks=(20,))
    columns = {f"count{j}": counts[:, j] for j in range(4)}
    pd.DataFrame({**columns, "letter": rng.choice(list("abc"), 60), "y": labels}).to_parquet(table)
    judged = snb.LinearNB().fit(table, "y")
    return {
        "LinearNB().fit(zarr)": lambda: snb.LinearNB().fit(f"{store}/X", group["y"]),
        "SoftmaxRegression().fit(parquet)": lambda: snb.SoftmaxRegression().fit(table, "y"),
        "evaluate(parquet,interval=0.95)": lambda: judged.evaluate(table, "y", interval=0.95),
        "AdditiveClassifier().fit(parquet)": lambda: snb.AdditiveClassifier().fit(table, "y"),
        "search(parquet)": lambda: snb.search(table, "y", show=False),
    }


def main(*parts):
    """Print sizes and journeys, or one of them."""
    os.environ["NUMBA_DISABLE_JIT"] = "1"  # before numba is imported
    warnings.simplefilter("ignore")
    for what, size in sizes().items() if "journeys" not in parts else ():
        print(f"{what:<46}{size:>10,}")
    print(f"\n{'journey':<40}{'functions':>10}{'files':>8}{'depth':>8}{'passes':>8}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for what, call in journeys(folder).items():
            met = Journey().walk(call)
            print(f"{what:<40}{met.n_functions:>10,}{met.n_files:>8}{met.depth:>8}{met.passes:>8}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
