"""The classes of the package that keep a contract, and what their objects say, to be compared."""

import pickle
from collections.abc import Mapping
from copy import copy
from dataclasses import fields, is_dataclass
from importlib import import_module
from pkgutil import walk_packages
from types import MethodType

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.evaluation.tallies import ContentSample
from streamnb.stats.row_means import WeightTable
from streamnb.stats.tables import SparseTable, Table
from tests.support.examples_of_contracts import BASES
from tests.support.of_users import HighestValues


def walked():
    """Every class that the package defines."""
    modules = [import_module(found.name) for found in walk_packages(snb.__path__, "streamnb.")]
    return [
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__ and not getattr(value, "_is_protocol", False)
    ]


CLASSES = walked()


def names(cls):
    """Attributes that the classes of the package give to objects of this one, also those that are only annotated."""
    own = [base for base in cls.__mro__ if base.__module__.startswith("streamnb.")]
    return {name for base in own for name in (*vars(base), *vars(base).get("__annotations__", ()))}


def subclasses(base):
    """Those of a class that mean something by themselves."""
    return {cls for cls in CLASSES if issubclass(cls, base)} - BASES


def tables(table):
    """The examples of a table, each under the name of its class."""
    every = [(f"{cls.__name__}-{name}", example) for cls, named in table.items() for name, example in named.items()]
    return pytest.mark.parametrize("example", [each for _, each in every], ids=[name for name, _ in every])


# ---- what a value says -----------------------------------------------------------------------------------------------


def said(value, whole=False):
    """What a value says, to the last bit of what is rounded; low parts and the order of rows only of the `whole`."""
    if isinstance(value, Table | SparseTable) and not whole:
        return value.value()
    if sp.issparse(value):
        return value.toarray()
    if isinstance(value, list | tuple):
        return [said(part, whole) for part in value]
    if isinstance(value, Mapping):
        return {name: said(part, whole) for name, part in value.items()}
    if isinstance(value, MethodType):
        return value.__func__
    if not type(value).__module__.startswith("streamnb.") and not isinstance(value, HighestValues | snb.Statistic):
        return value
    if isinstance(value, ContentSample):
        value = copy(value).prune()  # which is put off
    parts = {f.name: getattr(value, f.name) for f in fields(value)} if is_dataclass(value) else dict(vars(value))
    if isinstance(value, WeightTable) and not whole:
        parts["pairs"] = value.sums
    if parts.get("_blocks") and not whole:  # scored rows
        rows = np.concatenate([np.column_stack(block) for block in value.arrays()["blocks"]])
        parts["_blocks"] = rows[np.lexsort(rows.T)]
    return {name: said(part, whole) for name, part in parts.items()}


def same(a, b, whole=False):
    """Fail unless two values say the same."""
    one, other = said(a, whole), said(b, whole)
    if pickle.dumps(one) != pickle.dumps(other):  # most are equal to the byte, which is seen far sooner
        np.testing.assert_equal(one, other)
