"""The shape of the house: which room may use which, who goes through which door, how much there may be of it."""

import ast
import re
from collections import defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter
from operator import gt
from pathlib import Path

import pytest

import streamnb
from tests.support import house, module_map
from tests.support.processes import python

PACKAGE = Path(streamnb.__file__).parent
ROOT = PACKAGE.parent
ROOMS = [  # in the order of the flow: a room uses those above it
    "core",
    "kernels",
    "rows",
    "passes",
    "stats",
    "encoding",
    "scanning",
    "problem",
    "models",
    "solving",
    "evaluation",
    "selection",
    "estimators",
    "additive",
    "reporting",
    "searching",
    "corpora",
    "cli",
]
DOORS = {  # who may import a library: rooms and modules, function bodies included
    "numba": {"kernels.compiler", "kernels.digits"} | {"kernels.lanes"},
    "zarr": {"rows", "passes"},
    "zarrs": {"rows", "passes"},
    "dask": {"passes", "core.memory"},  # core.memory reads sizes such as "4GB" with Dask's parser
    "distributed": {"passes"},
    # core.row_checks gives a column of labels the warning that scikit-learn's users know
    "sklearn": {
        "core.row_checks",
        "evaluation",
        "selection",
        "models",
        "estimators",
        "additive",
        "reporting",
        "searching",
    },
    "onnx": {"models"},
    "sqlglot": {"models"},
    "click": {"cli"},
    "matplotlib": {"reporting"},
    "jinja2": {"reporting"},
    "markupsafe": {"reporting"},
    "fsspec": {"core.stored_files"},
    "pyarrow": {"rows"},
    "h5py": {"rows"},
    "anndata": {"rows"},
    "opendp": {"stats.privacy"},
}
ABOVE = 4  # classes of ours in the order in which attributes of a public one are looked up, itself among them
NAMED_ALIKE = {"_Positive": {"dispersion"}, "_Sum": {"parts"}}  # names that users, and files, have for both
MOST = {  # `make house` prints what there is
    "expression nodes": 330_446,
    "statements": 50_137,
    "nodes per statement": 6.59,  # fewer files have fewer imports, which are statements without nodes
    "classes": 709,
    "files": 273,
    "files with one importer": 43,
    "conditional expressions per 1,000 statements": 55.1,
    "starred arguments per 1,000 statements": 23.7,
    "lines of tests": 57_292,
}
MET = {  # functions, files and depth of a journey, and its reads of the rows
    "LinearNB().fit(zarr)": (493, 56, 18, 1),
    "SoftmaxRegression().fit(parquet)": (905, 86, 27, 6),
    "evaluate(parquet,interval=0.95)": (342, 52, 19, 1),
    "AdditiveClassifier().fit(parquet)": (964, 85, 20, 4),
    "search(parquet)": (2_220, 167, 32, 82),
}


FILES = house.files()
MODULES = [name for name in FILES if name not in ("streamnb", "streamnb.__main__")]  # lazy names, and a door to cli
WRITTEN = [name for name in MODULES if FILES[name].name != "__init__.py"]


@cache
def tree(name):
    return ast.parse(FILES[name].read_text())


@cache
def nodes_by_kind(name):
    found = defaultdict(list)
    for node in ast.walk(tree(name)):
        found[type(node)].append(node)
    return found


def nodes(name, *kinds):
    return [node for kind in kinds for node in nodes_by_kind(name)[kind]]


def imports(name):
    """Absolute names of everything module `name` imports, function bodies included."""
    for node in nodes(name, ast.Import, ast.ImportFrom):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        else:
            assert not node.level, f"{name} imports by dots"
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (full if full in FILES else node.module for full in names)


def own_imports(name):
    return {there for there in imports(name) if there.split(".")[0] == "streamnb"} - {name}


def room(name):
    return ROOMS.index(name.split(".")[1])


def holds_for(values):
    """A law of one module, or of whatever the values are, made a test of all of them, which names all that break it."""

    def made(law):
        def test():
            broken = []
            for value in values:
                try:
                    law(value)
                except AssertionError as error:
                    broken.append(f"{value}: {error}")
            assert not broken, "\n".join(broken)

        test.__doc__ = law.__doc__
        return test

    return made


def test_rooms_are_few_and_each_is_there():
    assert {path.parent.name for path in PACKAGE.glob("*/*.py")} == set(ROOMS)
    assert len(ROOMS) <= 24
    assert {path.name for path in PACKAGE.glob("*.py")} <= {"__init__.py", "__main__.py"}


def test_the_map_says_of_every_module_what_it_is():
    lines = module_map.made(ROOMS).splitlines()
    assert [line for line in lines if line.startswith("| `") and len(line.split()) < 6] == []
    assert sum(line.startswith("| `") for line in lines) == len(WRITTEN)


@holds_for(MODULES)
def test_imports_point_up_the_table(name):
    for there in own_imports(name):
        assert there != "streamnb", f"{name} imports from the package itself; name the module"
        assert room(there) <= room(name), f"{name} imports {there}, which is further down the flow"


def test_no_cycles():
    try:
        TopologicalSorter({name: own_imports(name) for name in MODULES}).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


@holds_for([name for name in MODULES if name != "streamnb.core.persistence"])
def test_imports_are_written_as_imports(name):
    """import_module would hide a module from the tests above; but a file may name classes of any room."""
    names = {node.id for node in nodes(name, ast.Name)} | {node.attr for node in nodes(name, ast.Attribute)}
    assert names.isdisjoint({"import_module", "__import__"})


@holds_for(WRITTEN)
def test_libraries_come_through_their_doors(name):
    here = name.removeprefix("streamnb.")
    for there in imports(name):
        allowed = DOORS.get(there.split(".")[0])
        assert allowed is None or {here, here.split(".")[0]} & allowed, f"{name} imports {there}"


# ---- one name, one thing ---------------------------------------------------------------------------------------------


def aliases(name):
    """Public classes and aliases of types that a module defines."""
    for node in tree(name).body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            target = node.targets[0].id
            if target[0].isupper() and not target.isupper() and len(target) > 2:
                yield target


def test_no_class_or_alias_is_defined_twice():
    homes = {}
    for name in WRITTEN:
        for defined in aliases(name):
            if not defined.startswith("_"):
                homes.setdefault(defined, []).append(name)
    assert {defined: names for defined, names in homes.items() if len(names) > 1} == {}


def private_names(name):
    """Names with an underscore that a module gives to its own things."""
    found = {node.name for node in nodes(name, ast.FunctionDef, ast.ClassDef)}
    found |= {node.id for node in nodes(name, ast.Name)}
    return found | {
        n.attr for n in nodes(name, ast.Attribute) if getattr(n.value, "id", "") in ("self", "cls", "super")
    }


OTHERS = {  # underscored names of other packages, for which these have no public ones
    "_meta",  # of a Dask array: an array of its kind without rows
    "_store",  # what a wrapped Zarr store wraps
    "_replace", "_fields",  # of named tuples
    "_exit",  # of os
    "_cache", "_rebuild", "_reduce",  # of numba's dispatchers and results
}  # fmt: skip


AGREED = {  # what classifiers, regressions and selectors have, which share no class of ours, and one module works with
    "streamnb.estimators.preparation": {"_preparation", "_step_request", "_check_params"}
}


@holds_for(WRITTEN)
def test_nothing_private_of_another_module_is_used(name):
    own = private_names(name) | OTHERS | AGREED.get(name, set())
    used = {n.attr for n in nodes(name, ast.Attribute) if n.attr.startswith("_") and not n.attr.startswith("__")}
    imported = {
        alias.name
        for node in nodes(name, ast.ImportFrom)
        if node.module.startswith("streamnb")
        for alias in node.names
        if alias.name.startswith("_")
    }
    assert used - own == set()
    assert imported == set()


@holds_for(WRITTEN)
def test_no_kernel_is_called_through_two_starred_tuples(name):
    """Nobody could tell which argument goes where."""
    kernels = {there.rpartition(".")[2] for there in own_imports(name) if there.startswith("streamnb.kernels")}
    for call in nodes(name, ast.Call):
        if isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", None) in kernels:
            assert sum(isinstance(argument, ast.Starred) for argument in call.args) < 2, ast.unparse(call)


def test_models_of_folds_are_judged_by_one_mechanism():
    """Whoever chooses by models of folds has their evaluations from `FoldJudge`."""
    found = {
        name
        for name in WRITTEN
        for call in nodes(name, ast.Call)
        if isinstance(call.func, ast.Name)
        and call.func.id == "Evaluation"
        and "n_models" in {each.arg for each in call.keywords}
    }
    assert {name for name in found if not name.startswith("streamnb.evaluation.")} == {"streamnb.selection.folded_scan"}


def test_the_table_of_kernels_names_all_of_them_their_callers_and_rows_of_the_benchmarks():
    page, results = ((ROOT / path).read_text() for path in ("docs/architecture.md", "benchmarks/RESULTS.md"))
    listed = set()
    for line in page.partition("| kernels | called by")[2].splitlines()[2:]:
        kernels, callers, needed_by = line.strip("| ").split(" | ")
        kernels = {f"streamnb.kernels.{name}" for name in re.findall(r"\w+", kernels)}
        listed |= kernels
        for caller in re.findall(r"[\w/]+", callers):
            assert own_imports(f"streamnb.{caller.replace('/', '.')}") & kernels, line
        assert needed_by.startswith("none: ") or all(row in results for row in needed_by.split("; ")), line
    assert listed == {name for name in WRITTEN if name.startswith("streamnb.kernels.")} - {"streamnb.kernels.compiler"}


# ---- sizes -----------------------------------------------------------------------------------------------------------


def test_python_calls_no_part_of_a_kernel():
    """It would look for the kernel of the part in each call, which takes as long as some ten thousand sums."""
    parts = {
        (name, node.name)
        for name in WRITTEN
        for node in nodes(name, ast.FunctionDef)
        if any(ast.unparse(each).startswith(("part", "brick")) for each in node.decorator_list)
    }
    for name in WRITTEN:
        if name.startswith("streamnb.kernels."):
            continue
        known = {
            alias.asname or alias.name: f"{node.module}.{alias.name}"
            for node in nodes(name, ast.ImportFrom)
            for alias in node.names
        }
        for call in nodes(name, ast.Call):
            module, _, called = ast.unparse(call.func).rpartition(".")
            full = f"{known[module]}.{called}" if module in known else known.get(called, "")
            assert tuple(full.rsplit(".", 1)) not in parts, f"{name}, line {call.lineno}: {called} should be a kernel"


def test_the_package_and_its_tests_grow_with_abilities_alone():
    """Whoever raises these numbers says in the commit what users can do now that they could not."""
    assert {what: size for what, size in house.sizes().items() if size > MOST[what]} == {}


@pytest.mark.slow
@pytest.mark.process
def test_the_way_through_the_house_is_short():
    printed = python("-m", "tests.support.house", "journeys", cwd=ROOT)
    lines = re.findall(r"^(\S+) +([\d,]+) +(\d+) +(\d+) +(\d+)$", printed.stdout, re.M)
    met = {what: [int(n.replace(",", "")) for n in counts] for what, *counts in lines}
    assert met.keys() == MET.keys(), printed.stderr
    assert {what: found for what, found in met.items() if any(map(gt, found, MET[what]))} == {}


def methods(node):
    return [each.name for each in node.body if isinstance(each, ast.FunctionDef)]


@holds_for(WRITTEN)
def test_no_parameter_has_the_name_of_a_method(name):
    for node in nodes(name, ast.ClassDef):
        public = {method for method in methods(node) if not method.startswith("_")}
        for init in (each for each in node.body if getattr(each, "name", None) == "__init__"):
            parameters = {each.arg for each in init.args.args + init.args.kwonlyargs}
            assert parameters & public <= NAMED_ALIKE.get(node.name, set()), (
                f"{node.name} has a parameter with the name of a method"
            )


@holds_for([name for name in streamnb.__all__ if isinstance(getattr(streamnb, name), type)])
def test_public_classes_are_assembled_rather_than_inherited(name):
    above = [one.__name__ for one in getattr(streamnb, name).__mro__ if one.__module__.startswith("streamnb")]
    assert len(above) <= ABOVE, above
