"""Labels of sequences by their identifiers: a table, a dict, or the headers themselves."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from streamnb.core.messages import DataError, warn
from streamnb.core.row_checks import check_labels
from streamnb.core.stored_files import is_url
from streamnb.rows.files import compression_of, content_of
from streamnb.rows.labels import Numbered
from streamnb.rows.line_files import SequenceFiles

HEADER = "header"
TITLES = "feature id", "feature-id", "featureid", "id", "identifier", "seqid", "sequence id"  # of a first column


def labels_of(y: Any, sequences: Any) -> Any:
    """A label for each sequence; an array, or None, as it is."""
    if hasattr(y, "to_dict") and hasattr(y, "index") and y.index.dtype.kind not in "iuf":  # a pandas Series
        if not y.index.is_unique:
            raise ValueError(
                f"y has the identifier {y.index[y.index.duplicated()][0]!r} twice; give one label for each"
            )
        y = y.to_dict()
    if not isinstance(y, str | os.PathLike | Mapping):
        return y
    if not isinstance(sequences, SequenceFiles):
        raise ValueError("y: sequences in memory have no identifiers; give an array of labels")
    headers, first, n_more = list(sequences.headers()), sequences.files[0][0], len(sequences.files) - 1
    if isinstance(y, str) and y == HEADER:
        _check_all_labelled(headers, sequences)
        return _numbered(label for _, label in headers)
    identifiers = [identifier for identifier, _ in headers]
    _check_different(identifiers, sequences)
    where = f"{first} and {n_more} more" if n_more else first
    named = f"y={os.fspath(y)!r}" if not isinstance(y, Mapping) else "y"
    known = y if isinstance(y, Mapping) else table_of_labels(os.fspath(y))
    missing = [identifier for identifier in identifiers if identifier not in known]
    if missing:
        raise DataError(
            f"{named} has no label for {len(missing):,} of the {len(identifiers):,} sequences of {where}, such as "
            f"{missing[0]!r}; add them, or take these sequences out"
        )
    unused = known.keys() - set(identifiers)
    if unused:
        warn(
            f"{len(unused):,} of the {len(known):,} labels of {named} are of no sequence in {where}, such as that of "
            f"{min(unused, key=str)!r}; they are left out"
        )
    return _numbered(known[identifier] for identifier in identifiers)


def table_of_labels(path: str) -> dict[str, str]:
    """The label of each identifier, from the first two columns of a table with tabs; packed or not."""
    if not is_url(path) and not Path(path).is_file():
        raise FileNotFoundError(f"y={path!r}: there is no such file; labels are a table of identifiers and labels, a "
                                "dict, an array, or 'header'")  # fmt: skip
    known: dict[str, str] = {}
    for at, (number, line) in enumerate(_lines(path)):
        identifier, tab, rest = line.partition("\t")
        label = rest.partition("\t")[0].strip()
        if at == 0 and identifier.strip().lower() in TITLES:
            continue
        if not tab or not label:
            raise DataError(f"{path}, line {number}: {line[:60]!r} should be an identifier, a tab and a label")
        if known.setdefault(identifier.strip(), label) != label:
            raise DataError(f"{path}, line {number}: {identifier.strip()!r} has had another label before")
    return known


def _lines(path: str) -> Iterator[tuple[int, str]]:
    """The lines of a file that are neither blank nor comments, with their numbers."""
    try:
        text = content_of(path, compression_of(path), "y").decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 ({error})") from error
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            yield number, line


def _check_different(identifiers: list[str], sequences: SequenceFiles) -> None:
    seen: dict[str, int] = {}
    for row, identifier in enumerate(identifiers):
        first = seen.setdefault(identifier, row)
        if first != row:
            (path, number), (again, other) = sequences.place_of(first), sequences.place_of(row)
            raise DataError(
                f"record {number} of {path} and record {other} of {again} have the same identifier, {identifier!r}, so "
                "that labels by identifier are ambiguous; rename one, or take it out"
            )


def _check_all_labelled(headers: list[tuple[str, str]], sequences: SequenceFiles) -> None:
    for row, (identifier, label) in enumerate(headers):
        if not label:
            path, number = sequences.place_of(row)
            raise DataError(
                f"{path}: record {number}, {identifier!r}, has nothing after its identifier, where y='header' takes "
                "the label from"
            )


def _numbered(labels: Iterable[Any]) -> Numbered:
    """Labels as numbers, since those of a taxonomy are long."""
    each, numbers = list(labels), dict[Any, int]()
    if len({type(label) for label in each}) > 1:
        check_labels(each)  # which refuses mixed kinds: 1 and True would be one label
    codes = np.array([numbers.setdefault(label, len(numbers)) for label in each], np.int32)
    return Numbered(codes, check_labels(list(numbers)))
