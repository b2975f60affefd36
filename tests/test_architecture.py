"""The shape of the house: what may import what, and how large a part may grow."""

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from pkgutil import iter_modules

import pytest

import streamnb
from tests.processes import python

PACKAGE = Path(streamnb.__file__).parent
ORDER = [
    "_jit",
    "_sparse",
    "_checks",
    "_html",
    "memory",
    "threads",
    "persistence",
    "kernels",
    "data",
    "folds",
    "stats",
    "report",
    "checkpoint",
    "workers",
    "cluster",
    "scanning",
    "planning",
    "families",
    "dirichlet",
    "mixed",
    "priors",
    "penalties",
    "schemes",
    "equations",
    "decorrelating",
    "problem",
    "coupling",
    "l1_grid",
    "taus",
    "decisions",
    "tallies",
    "model",
    "unheld",
    "pairwise",
    "solving",
    "selecting",
    "predictive",
    "ranking",
    "evaluation",
    "grid_evaluation",
    "metrics",
    "choosing",
    "model_selection",
    "comparing",
    "estimators",
    "loading",
    "plotting",
]
ROOT = Path(__file__).parents[1]
AROUND = [
    path for folder in ("tests", "examples", "benchmarks", "fuzz") for path in sorted((ROOT / folder).rglob("*.py"))
]
LINES = 500  # no file has as many
HEAVY = {"numba", "dask", "distributed", "zarr", "zarrs", "sklearn", "scipy", "pandas", "matplotlib", "anndata"}


def module_name(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}
MODULES = [name for name in FILES if name != "streamnb"]  # the package itself is exempt: its names are lazy


@cache
def tree(name):
    return ast.parse(FILES[name].read_text())


def folder(name):
    """The package that relative imports of module `name` start from."""
    return name if FILES[name].name == "__init__.py" else name.rpartition(".")[0]


def from_base(name, node):
    """The absolute name of what stands after `from`."""
    if not node.level:
        return node.module
    parts = folder(name).split(".")
    return ".".join(parts[: len(parts) - node.level + 1] + ([node.module] if node.module else []))


def imports(name):
    """Absolute names of everything module `name` imports, function bodies included."""
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = from_base(name, node)
            names = (f"{base}.{alias.name}" for alias in node.names)
            yield from (full if full in FILES else base for full in names)


def own_imports(name):
    return {there for there in imports(name) if there.split(".")[0] == "streamnb"} - {name}


def level(name):
    return ORDER.index(name.split(".")[1])


def functions(name):
    return [node for node in ast.walk(tree(name)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def body_lines(function):
    """Lines of a function from `def` to its end, docstring not counted."""
    first = function.body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str)
    docstring = first.end_lineno - first.lineno + 1 if is_docstring else 0
    return function.end_lineno - function.lineno + 1 - docstring


def test_every_module_has_its_place_in_the_order():
    assert {name.split(".")[1] for name in MODULES} <= set(ORDER)


@pytest.mark.parametrize("name", MODULES)
def test_imports_point_down(name):
    for there in own_imports(name):
        assert there != "streamnb", f"{name} imports from the package itself; name the module"
        assert level(there) < level(name) or there.split(".")[1] == name.split(".")[1], f"{name} imports {there} upward"


def test_no_cycles():
    try:
        TopologicalSorter({name: own_imports(name) for name in MODULES}).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


@pytest.mark.parametrize("name", MODULES)
def test_imports_are_written_as_imports(name):
    """import_module would hide a module from the tests above."""
    nodes = ast.walk(tree(name))
    names = {getattr(node, "id", None) or getattr(node, "attr", None) for node in nodes}
    assert names.isdisjoint({"import_module", "__import__"})


@pytest.mark.parametrize("name", FILES)
def test_only_jit_imports_numba(name):
    uses_numba = any(there.split(".")[0] == "numba" for there in imports(name))
    assert not uses_numba or name == "streamnb._jit"


@pytest.mark.parametrize("name", FILES)
def test_sizes(name):
    assert len(FILES[name].read_text().splitlines()) < LINES
    assert {f.name: body_lines(f) for f in functions(name) if body_lines(f) >= 60} == {}


@pytest.mark.parametrize("path", [pytest.param(path, id=path.relative_to(ROOT).as_posix()) for path in AROUND])
def test_sizes_of_what_stands_around_the_package(path):
    assert len(path.read_text().splitlines()) < LINES


def test_import_is_light():
    code = "import sys, streamnb; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    out = python("-c", code, check=True).stdout
    assert "streamnb" in out.split()
    assert HEAVY.isdisjoint(out.split())


@pytest.mark.parametrize("name", streamnb.__all__)
def test_public_name_resolves(name):
    assert getattr(streamnb, name) is not None
    assert name in dir(streamnb)


def test_unknown_public_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = streamnb.no_such_name


def test_no_submodule_is_named_like_a_public_name():
    """Importing such a module would replace the lazy name in the package."""
    assert {module.name for module in iter_modules(streamnb.__path__)}.isdisjoint(streamnb.__all__)
