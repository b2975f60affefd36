"""Saved files: those of every version stay readable; whatever is changed in one is refused, and costs no memory."""

import contextlib
import hashlib
import io
import json
import pickle
import re
import sys
import tracemalloc
import zipfile
from dataclasses import dataclass, field
from importlib import import_module
from typing import Annotated

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import streamnb as snb
from streamnb.core import persistence
from streamnb.core.persistence import save
from streamnb.core.stored_files import downloaded, uploading
from tests.support.contracts import same
from tests.support.refusals import cases, refused, refuses
from tests.support.saved import SEAL, read_without_pickle, sealed
from tests.support.saved_kinds import HERE, KINDS, X, Y, answers
from tests.support.strategies import same_stats

VERSIONS = {path.stem: json.loads(path.read_text()) for path in sorted(HERE.glob("v*.json"))}
OLD = {f"{version}-{name}": expected for version, found in VERSIONS.items() for name, expected in found.items()}


@pytest.fixture(
    scope="module", params=["stats-labels", "linear-model-sparse", "linear-nb-cv", "weight-path", "evaluation-bins"]
)
def whole(request, tmp_path_factory):
    """A saved file, to be changed."""
    path = tmp_path_factory.mktemp("saved") / "whole.snb"
    save(path, KINDS[request.param]())
    return path


def agree(found, expected):
    if isinstance(expected, str):
        return re.sub(r"\n  by guessing .*", "", found) == expected  # which later versions print
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(agree, found, expected))
    return found == expected if not isinstance(expected, float) else np.isclose(found, expected, 1e-12, 0.0)


@pytest.mark.parametrize("name", OLD)
def test_files_of_every_version_are_read(name, tmp_path):
    kind, expected = OLD[name]
    value = snb.load(HERE / f"{name}.snb")
    assert type(value).__name__ == kind
    assert agree(answers(value), expected)
    save(tmp_path / "again.snb", value)
    assert answers(snb.load(tmp_path / "again.snb")) == answers(value)


def test_there_are_files_of_every_version():
    assert sorted(VERSIONS) == ["v1", "v2"]
    assert set(VERSIONS["v2"]) == set(KINDS)


def public(value):
    """What a value keeps for its users, but for what stays behind: what is of the run, or is made when it is needed."""
    parts = {name: part for name, part in getattr(value, "__dict__", {}).items() if not name.startswith("_")}
    beside = {name for name, part in parts.items() if hasattr(part, "get_params")} | {
        "report_",
        "planes_",
        "asked",
        "sparse_weights",
        "problem",
    }
    return {name: part for name, part in parts.items() if name not in beside}


@pytest.mark.filterwarnings("ignore:site 'here'", "ignore:.*of those tried")
@pytest.mark.parametrize("name", KINDS)
def test_every_kind_comes_back_as_it_was_and_is_as_good_as_new(name, tmp_path):
    value = KINDS[name]()
    save(tmp_path / "value.snb", value)
    read_without_pickle(tmp_path / "value.snb")
    again = snb.load(tmp_path / "value.snb")
    same(public(again), public(value), whole=True)
    assert type(again) is type(value) and answers(again) == answers(value)
    if hasattr(value, "refit") and name != "ridge-wide":  # whose fit kept no sums
        assert answers(again.refit()) == answers(value.refit())
    if hasattr(value, "__add__") and name != "stats-private":  # which `merge` adds
        same(again + value, value + value, whole=True)


# ----------------------------------------------------------------------------------- what a class declares of itself


@dataclass(frozen=True)
class Declared(persistence.Parameters):
    names: tuple[str, ...]
    table: Annotated[np.ndarray, "f8[n_rows, 2]"]
    labels: Annotated[np.ndarray, "[n_rows]"]
    square: Annotated[np.ndarray, "i8[n, n]"] | None = None
    report_: int = field(default=3, metadata={"saved_as": "report"})

    def _check_loaded(self):
        if len(self.names) != 2:
            raise ValueError("there should be two names")


DECLARED = Declared(("a", "b"), np.zeros((3, 2)), np.array(["x", "y", "z"]), np.eye(4, dtype=np.int64), 5)
REFUSED = {
    "Declared has no 'squares'": {"squares": None},
    r"table is float64 \(3,\); it should be an array": {"table": np.zeros(3)},
    "table is NoneType; it should be an array": {"table": None},
    r"table is float32 \(3, 4\); .* shape \(3, 2\) and dtype f8": {"table": np.zeros((3, 4), np.float32)},
    r"labels is <U1 \(2,\)": {"labels": np.array(["x", "y"])},
    r"square is int64 \(4, 3\); it should be an array of shape \(4, 4\)": {"square": np.zeros((4, 3), np.int64)},
    r"names is \('a', 3\)": {"names": ["a", 3]},
    "report_ is 1.5; it should be int": {"report": 1.5},
    "two names": {"names": ("a",)},
}


def test_fields_are_saved_and_may_be_absent_where_they_have_a_default():
    state = DECLARED._to_state()
    assert [*state] == ["names", "table", "labels", "square", "report"]
    same(Declared._from_state({**state, "names": ["a", "b"]}), DECLARED)
    del state["square"], state["report"]
    assert Declared._from_state(state).report_ == 3


@pytest.mark.parametrize("message", REFUSED)
def test_loaded_parts_are_refused_unless_they_are_as_declared(message):
    refuses(ValueError, message, lambda: Declared._from_state(DECLARED._to_state() | REFUSED[message]))


# ------------------------------------------------------------------------------- what befalls files by chance


@given(st.data())
def test_one_bit_turned_over_is_noticed_wherever_it_is(whole, data):
    content = bytearray(whole.read_bytes())
    bit = data.draw(st.integers(0, 8 * len(content) - 1))
    content[bit // 8] ^= 1 << bit % 8
    damaged = whole.with_name("damaged.snb")
    damaged.write_bytes(content)
    refuses(snb.DataError, "damaged.snb", lambda: snb.load(damaged))


@given(st.data())
def test_files_that_end_early_or_late_are_noticed(whole, data):
    content = whole.read_bytes()
    cut = data.draw(st.integers(0, len(content) - 1))
    damaged = whole.with_name("damaged.snb")
    for damage in (content[:cut], content + content[cut:], content[cut:] + content):
        damaged.write_bytes(damage)
        refuses(snb.DataError, "damaged.snb", lambda: snb.load(damaged))


# -------------------------------------------------------------------------------------- forged with a right seal


def forged(path, change, compression=zipfile.ZIP_STORED):
    """A copy of a saved file with `change(members)` made to its members by name, and a seal that is right."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members = list((change(members) or members).items())
    return sealed(path.with_name("forged.snb"), members, compression)


def header(change):
    """A change of the JSON."""

    def apply(members):
        tree = json.loads(members["streamnb.json"])
        change(tree)
        members["streamnb.json"] = json.dumps(tree).encode()

    return apply


def nodes(tree, at=()):
    """The place of everything in some JSON."""
    parts = enumerate(tree) if isinstance(tree, list) else tree.items() if isinstance(tree, dict) else ()
    for key, part in parts:
        yield (*at, key)
        yield from nodes(part, (*at, key))


def refused_or_safe(path):
    with contextlib.suppress(snb.DataError):
        value = snb.load(path)
        with contextlib.suppress(ValueError, TypeError, AttributeError):
            answers(value)


OTHER = [None, True, -1, 3, 10**9, 2**70, "", "joint", "0.npy", [], {}, {"float": "nan"}, {"array": "1.npy"}]


@given(st.data())
def test_json_edited_by_hand_is_refused_or_makes_an_object_that_is_safe_to_use(whole, data):
    def edit(tree):
        *there, last = data.draw(st.sampled_from(list(nodes(tree))))
        for key in there:
            tree = tree[key]
        tree[last] = data.draw(st.sampled_from(OTHER))

    refused_or_safe(forged(whole, header(edit)))


@given(st.data())
def test_arrays_of_another_shape_or_dtype_are_refused_or_safe_to_use(whole, data):
    def edit(members):
        name = data.draw(st.sampled_from(sorted(name for name in members if name.endswith(".npy"))))
        array = np.load(io.BytesIO(members[name]))
        change = data.draw(
            st.sampled_from([np.atleast_3d, np.ravel, lambda a: a[:-1], lambda a: a[..., :-1], np.float32])
        )
        changed = io.BytesIO()
        np.save(changed, change(array) if array.dtype.kind != "U" else array[:-1])
        members[name] = changed.getvalue()

    refused_or_safe(forged(whole, edit))


def npy(descr, shape, content=b""):
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": descr, "fortran_order": False, "shape": shape})
    return head.getvalue() + content


def stored(content, *arrays):
    """The members of a file of this content."""
    head = {"format": "streamnb", "version": 2, "content": content}
    return [("streamnb.json", json.dumps(head)), *((f"{i}.npy", a) for i, a in enumerate(arrays))]


ZERO = {"array": "0.npy"}
EIGHT = npy("<f8", (1,), bytes(8))
PAIRS = {  # 3,000 classes in 24 kB, for which a matrix of all pairs would be made
    "classes": {"array": "0.npy"},
    "weights": {"array": "1.npy"},
    "intercept": {"array": "2.npy"},
    "scheme": "ovo",
    "options": {"list": [None, None]},
    "moments": {"dict": [["sum", None]]},
    "scale": None,
}
DEEP = 450 if sys.version_info < (3, 12) else 4500  # what json still reads
BOMBS = {
    "an array that promises more": stored(ZERO, npy("<f8", (1 << 40,), bytes(8))),
    "an array that holds more": stored(ZERO, npy("<f8", (1,), bytes(16))),
    "an array of nothings": stored(ZERO, npy("|V0", (1 << 40,))),
    "an array of empty words": stored(ZERO, npy("<U0", (1 << 40,))),
    "an array of objects": stored(ZERO, npy("|O", (1,), bytes(8))),
    "an array of structures": stored(ZERO, npy([("a", "<f8")], (1,), bytes(8))),
    "a negative shape": stored(ZERO, npy("<f8", (-1,), bytes(8))),
    "a shape beyond all numbers": stored(ZERO, npy("<f8", (1 << 62, 1 << 62), bytes(8))),
    "an array twice": stored({"list": [ZERO, ZERO]}, EIGHT),
    "an array a million times": stored({"list": [ZERO] * 10_000}, npy("<f8", (100_000,), bytes(800_000))),
    "an array without a place": stored(None, EIGHT),
    "an array that is not there": stored(ZERO),
    "a member of another name": [*stored(None), ("../evil", "")],
    "two members of one name": [*stored(ZERO, EIGHT), ("0.npy", EIGHT)],
    "lists in lists": [("streamnb.json", '{"format": "streamnb", "version": 2, "content": ' + "[" * 200_000)],
    "objects in objects": [
        ("streamnb.json", '{"format": "streamnb", "version": 2, "content": ' + '{"list": [' * DEEP + "]}" * DEEP + "}")
    ],
    "a number of a million digits": [("streamnb.json", f'{{"format": "streamnb", "version": {"9" * 1_000_000}}}')],
    "a class of Python": stored({"object": "os.system", "state": "true"}),
    "a module to import": stored({"object": "subprocess.Popen", "state": {"list": ["true"]}}),
    "a plain number": stored(1.5),
    "a function for a class": stored({"object": ["L1"], "state": None}),
    "all pairs": stored(
        {"object": "LinearModel", "state": {"dict": [[k, v] for k, v in PAIRS.items()]}},
        npy("<i8", (3000,), np.arange(3000).tobytes()),
        npy("<f8", (0, 2)),
        npy("<f8", (2,), bytes(16)),
    ),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@cases(BOMBS)
def test_files_made_to_harm_are_refused_and_take_no_memory(case, tmp_path):
    path = sealed(tmp_path / "bomb.snb", case)
    tracemalloc.start()
    try:
        refuses(snb.DataError, "bomb.snb|os.system|Popen", lambda: snb.load(path))
        assert tracemalloc.get_traced_memory()[1] < 30_000_000
    finally:
        tracemalloc.stop()


def test_a_grid_that_would_not_end_is_refused():
    with refused(ValueError, "penalty", "4,000,000", "fewer taus"):
        snb.solve(KINDS["stats"](), "poisson", snb.L1(range(2000)) + snb.L2(range(2000)))


def test_compressed_members_are_refused(whole):
    refuses(snb.DataError, "compressed", lambda: snb.load(forged(whole, dict, compression=zipfile.ZIP_DEFLATED)))


def test_a_member_larger_than_the_file_is_refused(tmp_path):
    path = sealed(tmp_path / "large.snb", stored(ZERO, EIGHT))
    content = path.read_bytes()[:-SEAL]
    size = len(EIGHT).to_bytes(4, "little") * 2  # compressed and plain
    assert content.count(size) == 2  # beside the member and in the directory
    content = content.replace(size, (1 << 31).to_bytes(4, "little") * 2)
    path.write_bytes(content + hashlib.sha256(content).hexdigest().encode())
    refuses(snb.DataError, "larger than the file", lambda: snb.load(path))


def test_a_seal_cannot_be_left_out(whole):
    path = whole.with_name("unsealed.snb")
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    with refused(snb.DataError, "unsealed.snb", "checksum"):
        snb.load(path)


@pytest.mark.parametrize("seal", [None, bytes(SEAL)], ids=["sealed", "sealed otherwise"])
def test_files_of_a_newer_version_ask_for_it(whole, seal):
    path = forged(whole, header(lambda tree: tree.update(version=1002)))
    if seal:
        path.write_bytes(path.read_bytes()[:-SEAL] + seal)
    with refused(snb.DataError, "forged.snb", "version 1002", "upgrade streamnb"):
        snb.load(path)


def test_pickles_and_files_that_are_not_there_are_not_loaded(tmp_path):
    class Bomb:
        def __reduce__(self):
            return pytest.fail, ("a pickle was executed",)

    (tmp_path / "bomb.snb").write_bytes(pickle.dumps(Bomb()))
    for load in (snb.load, snb.ClassStats.load):
        with refused(snb.DataError, "bomb.snb", "joblib.load or pickle.load"):
            load(tmp_path / "bomb.snb")
        refuses(FileNotFoundError, "nowhere", load, tmp_path / "nowhere.snb")


def test_models_are_written_to_urls_and_loaded_from_them(tmp_path):
    model, place = snb.LinearNB().fit(X, Y), f"memory://{tmp_path.name}/model.snb"
    model.save(place)
    model.save(f"file://{tmp_path}/model.snb")
    for url in (place, f"file://{tmp_path}/model.snb", tmp_path / "model.snb"):
        assert np.array_equal(snb.load(url).coef_, model.coef_)
    refuses(FileNotFoundError, r"memory://nowhere.snb: there is no such file", lambda: snb.load("memory://nowhere.snb"))
    with downloaded(place) as file, uploading("memory://broken.snb") as broken:
        broken.write(file.read()[:-100])
    refuses(snb.DataError, "memory://broken.snb is not a complete streamnb file", snb.load, "memory://broken.snb")
    with pytest.raises(ValueError, match=r"checkpoint='s3://a/b' should be the path of a file on this machine"):
        snb.scan(X, Y, checkpoint="s3://a/b")
    model.export(f"memory://{tmp_path.name}/m.json")
    model.export(tmp_path / "m.json")
    with downloaded(f"memory://{tmp_path.name}/m.json") as file:
        assert file.read() == (tmp_path / "m.json").read_bytes()


def test_a_file_is_replaced_by_a_whole_one_or_not_at_all(tmp_path):
    stats = KINDS["stats"]()
    stats.save(tmp_path / "s.snb")

    unsaved = snb.LinearNB("poisson", snb.Separable(np.negative, 1.0)).fit(X, Y)
    refuses(TypeError, "negative", lambda: unsaved.save(tmp_path / "s.snb"))
    refuses(OSError, "nowhere", lambda: stats.save(tmp_path / "nowhere" / "s.snb"))
    assert same_stats(snb.load(tmp_path / "s.snb"), stats)
    assert [path.name for path in tmp_path.iterdir()] == ["s.snb"]


def test_digests_tell_what_files_would_hold():
    model = snb.LinearNB("poisson").fit(X, Y)
    values = [1, 1.0, "1", [1], (1,), np.ones(1), np.ones((1, 1)), np.ones(1, np.float32), np.array(["1"]), snb.L1(1)]
    values += [{"a": np.arange(3)}, {"a": np.arange(3)[::-1]}, model, snb.LinearNB("gaussian").fit(X, Y)]
    values += [np.empty((0, 2)), np.array(["a", "b"], object)]
    digests = [persistence.digest(value) for value in values]
    assert len({*digests}) == len(values) and all(len(digest) == 16 for digest in digests)
    assert persistence.digest({"a": np.arange(6)[::2] // 2}) == persistence.digest({"a": np.arange(3)})
    refuses(TypeError, "cannot be saved", lambda: persistence.digest(object()))


def test_all_that_can_be_saved_is_registered_by_a_module_that_is_read():
    for home in persistence.HOMES:
        import_module(f"streamnb.{home}")
    known = {kind.__module__ for kind in persistence._registry.values()}
    assert {f"streamnb.{home}" for home in persistence.HOMES} <= known  # none is named in vain
    kinds = [getattr(snb, name) for name in snb.__all__]
    kept = [kind for kind in kinds if isinstance(kind, type) and callable(getattr(kind, "save", None))]
    assert len(kept) > 10 and set(kept) <= set(persistence._registry.values())
