"""One door to every file: whatever can be saved is known where files are read."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.core import persistence
from streamnb.searching import loading

X, Y = np.array([[1.0, 0.5], [0.2, 3.0], [2.0, 1.0], [0.3, 4.0]]), [0, 1, 0, 1]


@pytest.mark.parametrize(
    "kept",
    [
        lambda: snb.scan(X, Y),
        lambda: snb.solve(snb.scan(X, Y), "poisson", snb.L1([0.1, 0.2])),
        lambda: snb.rank_features(snb.scan(X, Y)),
        lambda: snb.evaluate([0, 1, 1], [0, 1, 0]),
        lambda: snb.GaussianNB().fit(X, Y),
        lambda: snb.LinearNB("poisson").fit(X, Y),
    ],
)
def test_what_is_read_is_of_the_kind_that_was_saved(kept, tmp_path):
    value = kept()
    value.save(tmp_path / "kept.snb")
    again = loading.load(tmp_path / "kept.snb")
    assert type(again) is type(value) and repr(again) == repr(value)


def test_it_is_the_load_of_the_package():
    assert snb.load is loading.load is persistence.load and loading.__all__ == ["load"]


def test_all_that_can_be_saved_is_registered_by_a_module_that_is_read():
    known = {kind.__module__ for kind in persistence._registry.values()}
    assert {module.__name__ for module in loading.REGISTERED} <= known  # none is named in vain
    kinds = [getattr(snb, name) for name in snb.__all__]
    kept = [kind for kind in kinds if isinstance(kind, type) and callable(getattr(kind, "save", None))]
    assert len(kept) > 10 and set(kept) <= set(persistence._registry.values())


def test_other_files_are_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("not a model")
    with pytest.raises(persistence.DataError):
        loading.load(tmp_path / "notes.txt")
