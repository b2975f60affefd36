"""What a person sees of a public name: in `help`, in a notebook's completion and in the reference."""

import inspect
import re
from pkgutil import iter_modules

import pytest
from sklearn.base import BaseEstimator

import streamnb as snb
from tests.support import exported
from tests.support.processes import python

NAMES = sorted(name for name in snb.__all__ if callable(getattr(snb, name)))
CLASSES = [name for name in NAMES if inspect.isclass(value := getattr(snb, name)) and not issubclass(value, Exception)]
INTERNALS = {"to_state", "from_state", "plan_scan", "plan_pooled", "plan_reads"}
HEAVY = {"numba", "dask", "distributed", "zarr", "zarrs", "sklearn", "scipy", "pandas", "matplotlib", "anndata"}
ANNOTATION = 50  # characters; kinds of arrays that are written out take some hundred


def functions(value):
    """A function, or the constructor and all public methods of a class."""
    yield value
    for name in dir(value) if inspect.isclass(value) and not issubclass(value, Exception) else ():
        static = inspect.getattr_static(value, name)
        if not name.startswith("_") and (callable(static) or hasattr(static, "__func__")):
            yield getattr(value, name)


def test_import_is_light():
    code = "import sys, streamnb; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    out = python("-c", code, check=True).stdout
    assert "streamnb" in out.split()
    assert HEAVY.isdisjoint(out.split())


def test_public_names_resolve_and_no_others():
    for name in snb.__all__:
        assert getattr(snb, name) is not None and name in dir(snb)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = snb.no_such_name


def test_no_submodule_is_named_like_a_public_name():
    """Importing such a module would replace the lazy name in the package."""
    assert {module.name for module in iter_modules(snb.__path__)}.isdisjoint(snb.__all__)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("DataError", "StreamnbWarning")])
def test_signatures_have_short_names_for_what_may_be_given(name):
    """As `help`, notebooks and Sphinx print them."""
    for function in functions(getattr(snb, name)):
        signature = inspect.signature(function)
        given = [each.annotation for each in signature.parameters.values()]
        for annotation in (*given, signature.return_annotation):
            text = inspect.formatannotation(annotation)
            assert len(text) <= ANNOTATION, f"{function.__qualname__}: {text}"


def public(value):
    """Names that completion offers, but for those of scikit-learn."""
    names = {name for name in dir(value) if not name.startswith("_") and not name.endswith("_request")}
    return names - set(dir(BaseEstimator)) - {"set_output", "fit_transform"}


def told(cls):
    """The words of what a class and those that it is made of say of themselves."""
    return set(re.findall(r"\w+", " ".join(inspect.getdoc(base) or "" for base in cls.__mro__)))


def is_told(cls, name, words):
    homes = [vars(base)[name] for base in cls.__mro__ if name in vars(base)]
    if name in words:
        return True
    return any(not isinstance(home, str | int | tuple | None) and inspect.getdoc(home) for home in homes)


@pytest.mark.parametrize("name", CLASSES)
def test_every_name_that_completion_offers_is_told(name):
    cls = getattr(snb, name)
    offered, words = public(cls), told(cls)
    assert not offered & INTERNALS
    assert sorted(each for each in offered if not is_told(cls, each, words)) == []
    if issubclass(cls, BaseEstimator):  # parameters are those of objects, which get them from the constructor
        plain = {each for each in offered if not hasattr(inspect.getattr_static(cls, each), "__get__")}
        assert {each for each in plain if not each.endswith("_") and each not in cls._get_param_names()} == set()


@pytest.mark.parametrize("name", exported.MODELS)
def test_what_a_fitted_model_has_is_told(name):
    fitted, _ = exported.fitted(name)
    offered, parameters = public(fitted), set(fitted.get_params())
    held = {each for each in vars(fitted) if not each.startswith("_")} - parameters
    assert held - told(type(fitted)) == set()
    assert {"predict", "n_features_in_"} <= offered <= public(type(fitted)) | parameters | held
