"""How texts become columns: what is kept of it with a model, and the texts themselves, wherever they are."""

import os
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from typing import Any

import numpy as np

from streamnb.core import persistence
from streamnb.core.messages import listed
from streamnb.core.threads import n_cores
from streamnb.encoding.encoding import Encoding
from streamnb.encoding.ngrams import NGrams
from streamnb.encoding.vocabulary import named
from streamnb.passes.contract import shown
from streamnb.rows.columns import open_columns
from streamnb.rows.files import holds_numbers
from streamnb.rows.raw import TextSource
from streamnb.rows.text_files import TextFiles, TextFolders
from streamnb.rows.texts import TextsInMemory, column_of, columns_in, holds_texts


@persistence.register
@dataclass(frozen=True)
class TextEncoding(persistence.Parameters, Encoding):
    """The n-grams that are counted of texts, and the fields where text, labels and weights are."""

    ngrams: NGrams
    text: str | None = None
    y: str | None = None
    weight: str | None = None

    @property
    def n_columns(self) -> int:
        return self.ngrams.n_columns

    def takes(self, X: Any) -> bool:
        if isinstance(X, str | os.PathLike):
            return not holds_numbers(X)
        return _are_paths(X) or holds_texts(X) or self.text in (columns_in(X) or ())

    def encode(self, X: Any, y: Any = None, weight: Any = None, *, labelled: bool = False) -> TextSource:
        if holds_texts(X):
            return self.applied(open_texts(X, None, y, weight, n_cores()))
        if labelled:
            y, weight = self.y if y is None else y, self.weight if weight is None else weight
        return self.applied(open_texts(X, self.text, y, weight, n_cores()))

    def applied(self, rows: TextSource, names: np.ndarray | None = None) -> TextSource:
        """The columns of these texts; `names` of hashed ones, where they are known."""
        if self.ngrams.vocabulary is not None:
            names = np.array([named(self.text or "text", token) for token in self.ngrams.vocabulary], object)
        return rows.with_step(self.ngrams, self.n_columns, shown(self.ngrams), names, self)

    def differs(self, other: Encoding) -> str:
        if not isinstance(other, TextEncoding):
            return "they were made of texts"
        mine, theirs = self.ngrams.columns(), other.ngrams.columns()
        if self.ngrams.vocabulary != other.ngrams.vocabulary:
            return "they are those of another vocabulary"
        parts = [f"{name}={theirs[name]!r} and not {mine[name]!r}" for name in mine if theirs[name] != mine[name]]
        return ", ".join(parts)


def open_texts(X: Any, text: str | None, y: Any, weight: Any, n_threads: int) -> TextSource:
    """Texts of any kind with labels and weights, whose blocks hold the texts themselves."""
    texts, y, weight = _opened(X, text, y, weight, n_threads)
    return TextSource(texts, open_columns(y, weight, texts.n_rows, False), n_threads=n_threads)


def _opened(X: Any, text: str | None, y: Any, weight: Any, n_threads: int) -> tuple[Any, Any, Any]:
    """Where the texts are, and labels and weights that do not come with them."""
    paths = _paths(X)
    if paths is None:
        return _columns(X, text, y, weight)
    if isinstance(paths, Path):
        if text is not None or isinstance(y, str) or isinstance(weight, str):
            raise ValueError(f"text, y and weight name fields, but {paths} is a folder of texts, a file a row")
        folders = TextFolders(paths)
        return folders if y is None else folders.without_labels(), y, weight
    named_y, named_weight = (name if isinstance(name, str) else None for name in (y, weight))
    files = TextFiles(paths, {"text": text, "y": named_y, "weight": named_weight}, n_threads)
    return files, y if named_y is None else None, weight if named_weight is None else None


def _paths(X: Any) -> Any:
    """The files of X, sorted where a pattern or a folder names them; a folder of folders; None where X is no path."""
    if _are_paths(X):
        return [str(one) for one in X]
    if not isinstance(X, str | os.PathLike):
        return None
    path = os.fspath(X)
    if os.path.isdir(path):
        files = sorted(str(one) for one in Path(path).iterdir() if one.is_file() and not one.name.startswith("."))
        if not files and not any(one.is_dir() for one in Path(path).iterdir()):
            raise ValueError(f"X={path!r} is an empty folder")
        return files or Path(path)
    found = sorted(glob(path, recursive=True)) if has_magic(path) and not os.path.exists(path) else [path]
    if not found or not os.path.isfile(found[0]):
        raise FileNotFoundError(f"X={path!r}: there is no such file; a single text goes in a list, [text]")
    return found


def _are_paths(X: Any) -> bool:
    return isinstance(X, list | tuple) and bool(X) and all(isinstance(one, os.PathLike) for one in X)


def _columns(X: Any, text: str | None, y: Any, weight: Any) -> tuple[TextsInMemory, Any, Any]:
    """The columns of a table that are named; of what is no table X itself."""
    names = columns_in(X)
    if names is None:
        if text is not None or isinstance(y, str) or isinstance(weight, str):
            given = next(f"{k}={v!r}" for k, v in (("text", text), ("y", y), ("weight", weight)) if isinstance(v, str))
            raise ValueError(f"{given} names a column, but X is no table and no file of records")
        return TextsInMemory(X), y, weight
    if text is None:
        raise ValueError(f"X is a table; text= should name its column of texts: {listed(np.array(names, object))}")
    beside = (column_of(X, one, name) if isinstance(one, str) else one for name, one in (("y", y), ("weight", weight)))
    y, weight = (np.asarray(one) if hasattr(one, "to_numpy") else one for one in beside)
    return TextsInMemory(column_of(X, text, "text"), X), y, weight
