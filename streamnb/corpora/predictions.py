"""`write_predictions`: labels, probabilities and scores of a corpus, in parts."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from streamnb.core import arguments, persistence
from streamnb.core.frames import said
from streamnb.core.messages import listed, unsigned, warn
from streamnb.core.stored_files import is_url
from streamnb.corpora.parts import SKIP, STRICT, Folder, Made, PartWork, Written, begin, write_parts
from streamnb.corpora.reading import (
    CorpusPart,
    CorpusReading,
    Files,
    HeldTable,
    files_of,
    is_held_table,
    kind_of_files,
    parts_of,
)
from streamnb.corpora.scoring import ScoringModels
from streamnb.encoding.text import TextEncoding
from streamnb.estimators.classifier import Classifier, fitted_model
from streamnb.passes.contract import RunOptions
from streamnb.passes.dask_blocks import fingerprint_of
from streamnb.rows.files import CSV, IPC, JSON, PARQUET, WRITTEN_PARTS, of_each, stored
from streamnb.rows.line_files import LinesOfFile
from streamnb.rows.line_formats import stored_format
from streamnb.rows.records import of_columns
from streamnb.rows.source import RawSource


def write_predictions(
    model: Any,
    X: Any,
    folder: Any,
    *,
    proba: bool = False,
    scores: bool = False,
    keep: Iterable[str] = (),
    text: str | None = None,
    whole_files: bool = False,
    format: str = "parquet",
    errors: str = STRICT,
    force: bool = False,
    progress: bool | None = None,
    n_threads: int | None = None,
    client: Any = None,
) -> Written:
    """Write the predictions of a model for a corpus to a folder, in parts that follow the order of the rows.

    Each part appears whole or not at all, so that the same call goes on where a run was broken off: it writes only the
    parts that are missing. Several runs of the same call may work on one folder at once.

    Parameters
    ----------
    model : fitted classifier
        For files, fitted on rows that `text` or `table` opened, so that it makes the columns of others itself.
    X : path, list of paths, a table, or what `text` or `table` opened
        A data frame, an Arrow table or a Dask frame, whose partitions are the parts; this process reads them. Or files,
        a pattern such as ``crawl/*.jsonl.zst``, a folder, or URLs that fsspec knows. JSON lines, CSV and lines
        of text may be packed (.gz, .bz2, .xz, .zst, .lz4); Parquet and Arrow IPC files are tables; a record of a WARC
        or WET file is a text with the fields ``url``, ``date`` and ``id`` (``pip install streamnb[warc]``). Files are
        read as they come, without an index.
    folder : path or URL
        Where the parts are written: a new or an empty folder, or that of a run that was broken off.
    proba, scores : bool
        Whether to write probabilities (columns ``p_LABEL``) and scores of `decision_function`, beside ``label``.
    keep : list of str
        Fields of the rows to write before the predictions, null where a row lacks one. In Parquet a field has one type,
        that of the first rows, among which whole numbers beside fractions become fractions; JSON lines keep each value.
    text : str, optional
        The field that holds the text, where it is not that of the fit.
    whole_files : bool
        Whether each file, packed or not, is the text of one row.
    format : {"parquet", "jsonl", "jsonl.zst", "jsonl.gz"}
    errors : {"strict", "skip"}
        What to do about lines that cannot be read: stop, naming the file and line, or leave them out and count them.
    force : bool
        Write all parts anew, also over those of another run, and to a folder that is not empty. Where that was broken
        off, the same call without it goes on.
    progress, n_threads, client
        As in `scan`. The workers of a Dask cluster read and write their own parts.

    Returns
    -------
    Written
        Rows, bytes and seconds.

    Raises
    ------
    ValueError, TypeError
        An argument is wrong, or the folder is of another run; the message says how.
    DataError
        A row cannot be read; the message names its file.

    Examples
    --------
    >>> import json
    >>> import streamnb as snb
    >>> with open("new.jsonl", "w") as file:
    ...     for n, text in enumerate(["red wine", "green tea"]):
    ...         _ = file.write(json.dumps({"id": n, "text": text}) + chr(10))
    >>> rows = snb.text(["white wine", "black tea"], y=["wine", "tea"], n_features=2**10)
    >>> model = snb.LinearNB("multinomial").fit(rows)
    >>> found = snb.write_predictions(model, "new.jsonl", "scores", text="text", keep=["id"], format="jsonl")
    >>> with open("scores/part-00000.jsonl") as file:
    ...     print(file.read().strip())
    {"id":0,"label":"wine"}
    {"id":1,"label":"tea"}
    """
    started = time.perf_counter()
    arguments.one_of("format", format, list(WRITTEN_PARTS))
    arguments.one_of("errors", errors, [STRICT, SKIP])
    if isinstance(keep, str) or not all(isinstance(name, str) for name in keep):
        raise TypeError(f"keep={keep!r} should be a list of names of fields, such as keep=['url']")
    keep = tuple(dict.fromkeys(keep))
    options = RunOptions(progress, n_threads, None, client)
    for wanted, method in ((proba, "predict_proba"), (scores, "decision_function")):
        if wanted and not hasattr(model, method):
            raise ValueError(f"model: a {type(model).__name__} as it was fitted has no {method}")
    place = Folder.at(folder)
    if is_held_table(X):
        held = HeldTable.of(X)
        held.check_has("keep", keep)
        held.check_has("text", () if text is None else (text,))
        if text is None and isinstance(getattr(model, "encoding_", None), TextEncoding):
            raise ValueError("text=None, but the model is of texts; name the column that holds them: text='text'")
        work = Predicting(place, held, errors, WRITTEN_PARTS[format], model, proba, scores, keep, text=text)
        of_run = {"the kind of run": "predictions", "the model": [fingerprint(model)], "the field of texts": text}
        written = {"the rows": fingerprint_of(held.table), "what is written": [proba, scores, list(keep), format]}
        begin(place, of_run | written, [], force)
        return _written(work, held.parts, options, started)
    files, models = corpus(model, X, text)
    kind = kind_of_files(files, whole_files)
    if len(models.given) > 1:
        raise ValueError(f"model has {len(models.given)} models; give one at a time (select takes several)")
    check_text(models, kind, files)
    as_stored = keep if kind == JSON and format != "parquet" else ()
    if kind == JSON:
        warn_of_unknown("keep", keep, files[0][0])
    reading = CorpusReading(kind, models.encoding, () if as_stored else keep, whole=bool(as_stored))
    (only,) = models.given.values()
    work = Predicting(place, reading, errors, WRITTEN_PARTS[format], only, proba, scores, as_stored, models)
    about = description("predictions", models, files, (kind, errors))
    begin(place, {**about, "what is written": [proba, scores, list(keep), format]}, files, force)
    return _written(work, parts_of(files, kind), options, started)


def _written(work: PartWork, parts: list[CorpusPart], options: RunOptions, started: float) -> Written:
    written = write_parts(work, parts, options)
    work.folder.remove_unfinished()
    return Written.of(written, started)


def warn_of_unknown(argument: str, names: Iterable[str], path: str) -> None:
    """Warn of fields that no row at the beginning of a file of JSON lines has."""
    piece = next(LinesOfFile(path, stored_format).pieces(), None)
    known: dict[str, None] = {}
    for line in () if piece is None else piece().beside:
        with suppress(ValueError):  # named when the line is read
            record = json.loads(line)
            if isinstance(record, dict):
                known |= dict.fromkeys(record)
    for name in names:
        if known and name not in known:
            near = get_close_matches(name, known, 1)
            cure = f"did you mean {near[0]!r}?" if near else f"they have {listed([*known])}"
            warn(f"{argument}={name!r}: no row at the beginning of {path} has such a field; {cure}")


def corpus(model: Any, X: Any, text: str | None) -> tuple[Files, ScoringModels]:
    """The files of X, and the models that score its rows."""
    if not isinstance(X, RawSource):
        return files_of(X), ScoringModels.of(model, text)
    if not X.files:
        raise TypeError("X holds rows in memory; a corpus is of files: give their path, or use predict")
    if text is not None:
        raise ValueError(f"text={text!r}: X is already open, and its text field is known")
    return list(X.files), ScoringModels.of(model, None, X.encoding)


def check_text(models: ScoringModels, kind: str, files: Files) -> None:
    """Refuse a model of texts where nothing names the field that holds them, and warn of one that seems misspelt."""
    if not hasattr(models.encoding, "ngrams") or kind not in (JSON, CSV, PARQUET, IPC):
        return
    text = models.encoding.text
    if text is None:
        raise ValueError(f"text=None, but the files are {kind}; name the field that holds the text: text='text'")
    if kind == JSON:
        warn_of_unknown("text", [text], files[0][0])


def description(what: str, models: ScoringModels, files: Files, how: tuple[str, str]) -> dict[str, Any]:
    """What a run is recognised by: the models and the files."""
    return {
        "the kind of run": what,
        "the model": [fingerprint(one) for one in models.given.values()],
        "the field of texts": getattr(models.encoding, "text", None),
        "the files": [
            [unsigned(path), size, when]
            for (path, size), when in zip(files, changed(path for path, _ in files), strict=True)
        ],
        "kind and errors": list(how),
    }


def fingerprint(model: Any) -> str:
    """The same for two fits of the same rows, whose reports differ in seconds."""
    return persistence.digest([fitted_model(model), model.classes_] if isinstance(model, Classifier) else model)


def changed(paths: Iterable[str]) -> list[int | str | None]:
    """When local files were last changed, in nanoseconds, and the versions of objects at URLs."""
    return [os.stat(one.path).st_mtime_ns if not is_url(one.path) else one.version for one in of_each(stored, paths)]


@dataclass(frozen=True)
class Predicting(PartWork):
    """Writes labels, probabilities and scores."""

    model: Any
    proba: bool
    scores: bool
    keep: tuple[str, ...]  # fields of whole lines, or columns of a table, that are written before
    models: ScoringModels | None = None  # of rows from files
    text: str | None = None  # the column of texts of a table

    title = "predictions"

    def made(self, rows: Any, begun: Any, job: Any) -> Made:
        before: Any
        if self.models is not None:
            (X,) = self.models.matrices(rows, job.first_row).values()
            before = of_columns({}) if rows.beside is None else rows.beside
            if self.keep:
                before = before.only(self.keep)
        else:
            X = rows if self.text is None else [*np.asarray(rows[self.text])]
            before = of_columns({name: rows[name] for name in self.keep})
        columns = said(self.model, X, self.proba, self.scores)
        content = before.with_columns(columns) if self.ending == ".parquet" else before.written(columns)
        return Made(content, rows.shape[0], rows.shape[0])
