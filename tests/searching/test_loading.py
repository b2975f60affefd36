"""One door to every file: whatever can be saved is known where files are read."""

import streamnb as snb
from streamnb.core import persistence
from streamnb.searching import loading


def test_it_is_the_load_of_the_package():
    assert snb.load is loading.load is persistence.load and loading.__all__ == ["load"]


def test_all_that_can_be_saved_is_registered_by_a_module_that_is_read():
    known = {kind.__module__ for kind in persistence._registry.values()}
    assert {module.__name__ for module in loading.REGISTERED} <= known  # none is named in vain
    kinds = [getattr(snb, name) for name in snb.__all__]
    kept = [kind for kind in kinds if isinstance(kind, type) and callable(getattr(kind, "save", None))]
    assert len(kept) > 10 and set(kept) <= set(persistence._registry.values())
