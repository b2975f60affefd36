"""What a person sees of a public name: in `help`, in a notebook's completion and in the reference."""

import inspect

import pytest

import streamnb as snb

NAMES = sorted(name for name in snb.__all__ if callable(getattr(snb, name)))
ANNOTATION = 50  # characters; kinds of arrays that are written out take some hundred


def functions(value):
    """A function, or the constructor and all public methods of a class."""
    yield value
    for name in dir(value) if inspect.isclass(value) and not issubclass(value, Exception) else ():
        static = inspect.getattr_static(value, name)
        if not name.startswith("_") and (callable(static) or hasattr(static, "__func__")):
            yield getattr(value, name)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("DataError", "StreamnbWarning")])
def test_signatures_have_short_names_for_what_may_be_given(name):
    """As `help`, notebooks and Sphinx print them."""
    for function in functions(getattr(snb, name)):
        signature = inspect.signature(function)
        given = [each.annotation for each in signature.parameters.values()]
        for annotation in (*given, signature.return_annotation):
            text = inspect.formatannotation(annotation)
            assert len(text) <= ANNOTATION, f"{function.__qualname__}: {text}"
