"""Decisions read off bytes, so that a byte changed is a decision changed, and changes of documents and numbers."""

import json

from tests.support.hostile import DTYPES, NUMBERS

VALUES = [*NUMBERS, *DTYPES, "<i8", ">i8", "|O", "<U3", "", "NaN", "Infinity", "csr_matrix", "joint", "0.npy"]
VALUES += [
    None,
    True,
    False,
    0.5,
    1e300,
    [],
    {},
    [[]],
    [1],
    [-1],
    [0],
    [41, 9],
    [10**18],
    [41, 2**40],
    {"float": "nan"},
]
VALUES += [{"array": "1.npy"}]


class Choices:
    """The decisions of one case; where the bytes have run out, the first option is taken."""

    def __init__(self, content):
        self._left = iter(content)

    def number(self, below):
        """A number from 0 to below - 1."""
        n_bytes = ((below - 1).bit_length() + 7) // 8
        return sum(next(self._left, 0) << 8 * i for i in range(n_bytes)) % below

    def pick(self, options):
        return options[self.number(len(options))]


def nodes(tree, at=()):
    """The place of everything in a JSON document."""
    parts = enumerate(tree) if isinstance(tree, list) else tree.items() if isinstance(tree, dict) else ()
    for key, part in parts:
        yield (*at, key)
        yield from nodes(part, (*at, key))


def change_json(choices, content):
    """The document with one node replaced or taken out."""
    tree = json.loads(content)
    places = list(nodes(tree))
    if not places:
        return json.dumps(choices.pick(VALUES)).encode()
    *above, last = choices.pick(places)
    parent = tree
    for key in above:
        parent = parent[key]
    if choices.number(4):
        parent[last] = choices.pick(VALUES)
    else:
        del parent[last]
    return json.dumps(tree).encode()


def move_json(choices, content):
    """The document with one node in the place of another, both exchanged, or an item of a list doubled or taken out."""
    tree = json.loads(content)
    places = [
        (parent, key)
        for parent in _parents(tree)
        for key in (parent if isinstance(parent, dict) else range(len(parent)))
    ]
    (into, at), (source, key) = choices.pick(places), choices.pick(places)
    how = choices.pick(["copy", "exchange", "double", "remove"])
    if how in ("copy", "exchange"):
        moved, kept = json.dumps(source[key]), json.dumps(into[at])
        into[at] = json.loads(moved)
        if how == "exchange" and kept not in moved:
            source[key] = json.loads(kept)
    elif isinstance(into, list):
        into[at : at + 1] = [into[at]] * 2 if how == "double" else []
    return json.dumps(tree).encode()


def _parents(tree):
    """Every list and object of a JSON document."""
    if isinstance(tree, list | dict):
        yield tree
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from _parents(part)


def change_numbers(choices, content):
    """The bytes with a number among them replaced by one that is known for trouble, or by any; or cut."""
    how = choices.pick(["known", "known", "any", "cut"])
    at = choices.number(len(content) + 1)
    if how == "cut":
        return content[:at]
    width = choices.pick([1, 2, 4, 8])
    number = choices.pick(NUMBERS) % 256**width if how == "known" else choices.number(256**width)
    at -= at % width
    return content[:at] + number.to_bytes(width, "little") + content[at + width :]
