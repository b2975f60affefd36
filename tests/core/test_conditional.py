"""Methods that are there only where a condition holds."""

import pytest

from streamnb.core.conditional import available_if


class Model:
    def __init__(self, certain):
        self.certain = certain

    @available_if(lambda model: model.certain)
    def odds(self, factor=1):
        """What it is."""
        return factor, self.certain


class Heir(Model):
    pass


@pytest.mark.parametrize("kind", [Model, Heir])
def test_hasattr_tells(kind):
    model = kind("yes")
    assert hasattr(model, "odds") and model.odds(factor=2) == (2, "yes")
    model.certain = ""
    assert not hasattr(model, "odds")
    with pytest.raises(AttributeError, match=f"^This '{kind.__name__}' has no attribute 'odds'$"):
        _ = model.odds


def test_the_class_has_the_method_itself():
    assert Model.odds.__doc__ == "What it is." and Model.odds.__name__ == "odds"
    assert Model.odds(Model("yes"), 3) == (3, "yes")
    assert Model.__dict__["odds"].__doc__ == "What it is."  # where documentation is made of
