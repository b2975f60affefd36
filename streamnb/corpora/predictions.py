"""`write_predictions`: labels, probabilities and scores of a corpus, in parts.

Each part is read, made and written by one worker, and appears whole or not at all, with a note of what was written.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property, reduce
from itertools import chain
from operator import add
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from uuid import uuid4

import numpy as np

from streamnb.core import arguments, persistence
from streamnb.core.frames import said, table
from streamnb.core.messages import DataError, nearest, unsigned, warn
from streamnb.core.stored_files import asked, file_system, is_url, replacing
from streamnb.core.threads import in_order
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
from streamnb.passes import stopping
from streamnb.passes.answering import separately
from streamnb.passes.contract import RunOptions
from streamnb.passes.dask_blocks import fingerprint_of
from streamnb.rows.files import CSV, IPC, JSON, PARQUET, WRITTEN_PARTS, compression_by_name, of_each, stored
from streamnb.rows.line_files import LinesOfFile
from streamnb.rows.line_formats import stored_format
from streamnb.rows.records import BatchWriter, LineWriter, of_columns
from streamnb.rows.source import RawSource

ABOUT = "_streamnb"  # the folder with what is known of a run; readers of folders leave out such names
RUN = f"{ABOUT}/run.json"
UNFINISHED = ".unfinished"
AT_ONCE = 16  # requests for small files
SKIP, STRICT = "skip", "strict"  # what becomes of rows that cannot be read


@dataclass(frozen=True)
class Folder:
    """A folder on a local or shared disk, or the URL of one that fsspec knows."""

    path: str

    @classmethod
    def at(cls, path: Any, name: str = "folder") -> Folder:
        """A folder as it was given, by the argument `name`."""
        if not isinstance(path, str | os.PathLike) or not os.fspath(path):
            raise TypeError(f"{name}={path!r} should be the path or the URL of a folder")
        given = os.fspath(path)
        if "://" in given:
            return cls(given.rstrip("/"))
        if os.path.exists(given) and not os.path.isdir(given):
            raise ValueError(f"{name}={given!r} is a file; predictions of a corpus are written to a folder, in parts")
        return cls(os.path.abspath(given))

    @cached_property
    def _store(self) -> tuple[Any, str]:
        return file_system(self.path)

    @property
    def _local(self) -> bool:
        return "://" not in self.path

    def names(self) -> set[str]:
        """The names of all files, relative to the folder; not those that are being written."""
        files, place = self._store
        files.invalidate_cache()
        found = files.find(place) if files.exists(place) else []
        return {name[len(place) :].strip("/") for name in found if not name.endswith(UNFINISHED)}

    def read(self, name: str) -> bytes:
        """The content of a file."""
        files, root = self._store
        return asked(lambda: bytes(files.cat_file(f"{root}/{name}")), f"{self.path}/{name}")

    @contextmanager
    def writing(self, name: str) -> Iterator[Any]:
        """Open a file, which appears under its name once it is complete; whoever writes it writes the same bytes."""
        if self._local:
            path = Path(self.path) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                with replacing(path) as file:
                    yield file
            except FileNotFoundError:
                if not path.exists():  # else another run was faster, and has removed what it had no more use for
                    raise
            return
        with replacing(f"{self.path}/{name}") as file:
            yield file

    def write_new(self, name: str, content: bytes) -> bytes:
        """Write a small file unless it is there, and return what it holds then: of several writers, one wins."""
        if name not in self.names():
            if self._local:
                path = Path(self.path) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                mine = path.with_name(f".{path.name}.{uuid4().hex}{UNFINISHED}")
                mine.write_bytes(content)
                with suppress(FileExistsError):
                    os.link(mine, path)
                mine.unlink(missing_ok=True)
            else:
                with self.writing(name) as file:
                    file.write(content)
        return self.read(name)

    def remove(self, names: Any) -> None:
        """Remove files."""
        files, root = self._store
        for name in names:
            with suppress(FileNotFoundError):
                files.rm_file(f"{root}/{name}")

    def remove_unfinished(self) -> None:
        """Remove what writers that were killed have left, once all files are there."""
        if self._local:
            for left in Path(self.path).rglob(f".*{UNFINISHED}"):
                with suppress(OSError):
                    left.unlink()


def as_json(found: Any) -> bytes:
    """A value as the bytes of a JSON file."""
    return json.dumps(found, indent=1, sort_keys=True).encode()


@dataclass(frozen=True)
class Written:
    """What a run has read and written, as a sum over its parts.

    Attributes
    ----------
    rows, kept, skipped, repeated : int
        Rows that were read, that were written, bad ones that were left out, and those that repeat an earlier one.
    bytes : int
        Of the rows that were read, unpacked.
    parts, there : int
        All parts, and those of them that an earlier run had written.
    seconds : float
        Of this run.
    """

    rows: int = 0
    kept: int = 0
    skipped: int = 0
    bytes: int = 0
    parts: int = 0
    there: int = 0
    seconds: float = 0.0
    repeated: int = 0

    def __add__(self, other: Written) -> Written:
        return Written(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))

    @classmethod
    def of(cls, parts: Iterable[Written], started: float) -> Written:
        """The sum over parts, with the seconds since `started`, as `time.perf_counter` counts them."""
        return replace(reduce(add, parts, cls()), seconds=time.perf_counter() - started)

    def __str__(self) -> str:
        share = f" ({self.kept / self.rows:.1%})" if self.rows else ""
        bad = f", {self.skipped:,} bad ones skipped" if self.skipped else ""
        bad += f", {self.repeated:,} repeated" if self.repeated else ""
        there = f" ({self.there:,} were there)" if self.there else ""
        speed = f", {self.bytes / 1e6 / self.seconds:,.0f} MB a second" if self.seconds and not there else ""
        return (
            f"{self.rows:,} rows{bad}, {self.kept:,} kept{share}, {self.bytes / 1e6:,.1f} MB read in {self.parts:,} "
            f"parts{there}, {self.seconds:.1f} s{speed}"
        )

    def _repr_html_(self) -> str:
        return table("Written", [(name, f"{getattr(self, name):,}") for name in self.__dataclass_fields__])


class Made(NamedTuple):
    """What is written of some rows, None for nothing, and how many they are."""

    content: Any
    rows: int
    kept: int
    skipped: int = 0
    header: bytes = b""  # of CSV
    repeated: int = 0


@dataclass(frozen=True)
class PartWork:
    """Reads a part and writes what a subclass makes of its rows; a task for a thread or a worker.

    Attributes
    ----------
    folder : Folder
    reading : CorpusReading
    errors : {"strict", "skip"}
        Whether rows that cannot be read end the run, or are left out and counted.
    ending : str
        Of the names of files.
    """

    folder: Folder
    reading: CorpusReading | HeldTable
    errors: str
    ending: str

    title: ClassVar[str] = "writing"
    notes: ClassVar[str] = ABOUT

    @property
    def here(self) -> bool:
        """Whether this process makes all parts, as it has the rows."""
        return isinstance(self.reading, HeldTable)

    def begun(self, part: CorpusPart) -> Any:
        """What `made` needs to know of a part that has rows."""

    def made(self, rows: Any, begun: Any, job: Any) -> Made:
        """What is written of the rows that a job has read."""
        raise NotImplementedError

    def bad(self) -> Made:
        """What is written of a row that cannot be read."""
        return Made(None, 1, 0, 1)

    def writer(self, file: Any) -> Any:
        """Writes contents to a file: record batches, or lines packed as its ending says."""
        if self.ending == ".parquet":
            return BatchWriter(file)
        return LineWriter(file, compression_by_name(self.ending))

    def file_of(self, part: CorpusPart) -> str:
        """The name of the file of a part."""
        return f"part-{part.number:05d}{self.ending}"

    def note_of(self, part: CorpusPart) -> str:
        """The name of the file that says that a part is done."""
        return f"{self.notes}/part-{part.number:05d}.json"

    def __call__(self, part: CorpusPart, n_threads: int) -> tuple[int, Written]:
        started, total, writer = time.perf_counter(), Written(parts=1), None
        with ExitStack() as stack:
            for made, n_bytes in self._pieces(part, n_threads):
                stopping.check()
                total += Written(made.rows, made.kept, made.skipped, n_bytes, repeated=made.repeated)
                if made.content is None:
                    continue
                if writer is None:
                    writer = self.writer(stack.enter_context(self.folder.writing(self.file_of(part))))
                    stack.callback(writer.close)
                writer.write(made.content, made.header)
        total = replace(total, seconds=time.perf_counter() - started)
        with self.folder.writing(self.note_of(part)) as file:
            file.write(as_json({**asdict(total), "file": None if writer is None else self.file_of(part)}))
        return part.number, total

    def _pieces(self, part: CorpusPart, n_threads: int) -> Iterator[tuple[Made, int]]:
        jobs = self.reading.jobs(part)
        first = next(jobs, None)
        if first is not None:
            begun = self.begun(part)
            for found in in_order(lambda job: self._of_job(job, begun), chain([first], jobs), n_threads):
                yield from found

    def _of_job(self, job: Any, begun: Any) -> list[tuple[Made, int]]:
        """What is made of a piece; where it cannot be read, of ever smaller ones, until the bad row is alone."""
        try:
            return [(self.made(job(), begun, job), job.nbytes)]
        except DataError as error:
            middle = job.n_rows // 2
            if middle:
                halves = job.cut(0, middle), job.cut(middle, job.n_rows)
                return [made for half in halves for made in self._of_job(half, begun)]
            if self.errors == SKIP and job.n_rows == 1:
                return [(self.bad(), job.nbytes)]
            raise job.named(error) from error


def write_parts(work: PartWork, parts: Sequence[CorpusPart], options: RunOptions) -> list[Written]:
    """Write the parts that are missing, and return what was noted of each part, in order."""
    done = notes_of(work, parts)
    missing = [part for part in parts if part.number not in done]
    if missing:
        done |= dict(separately(work, missing, options))
        if work.note_of(missing[0]) not in work.folder.names():
            raise FileNotFoundError(
                f"folder={work.folder.path!r}: workers have written parts that are not there; give a folder that they "
                "and this process share, or a URL"
            )
    return [done[part.number] for part in parts]


def notes_of(work: PartWork, parts: Sequence[CorpusPart]) -> dict[int, Written]:
    """What was noted of the parts that are done, by their numbers."""
    names, found = work.folder.names(), {}
    noted = [part for part in parts if work.note_of(part) in names]
    contents = in_order(work.folder.read, [work.note_of(part) for part in noted], AT_ONCE)
    for part, content in zip(noted, contents, strict=True):
        note = json.loads(content)
        file = note.pop("file")
        if file is None or file in names:
            found[part.number] = Written(**{**note, "there": 1})
    return found


def begin(folder: Folder, about: Mapping[str, Any], files: Files, force: bool) -> None:
    """Make the folder that of a run, unless it is that already; refuse one that holds something else.

    With `force`, the parts of a run are removed; never where one of the `files` that are read is in the folder.
    """
    inside = [path for path, _ in files if path.startswith(f"{folder.path.rstrip('/')}/")]
    if inside:
        raise ValueError(f"folder={folder.path!r} holds {inside[0]!r}, which is a file of X; give another folder")
    names = {name for name in folder.names() if not name.split("/")[-1].startswith(".")}
    if RUN not in names and names and not force:
        raise ValueError(
            f"folder={folder.path!r} is not empty: it holds {min(names)!r}; give a new folder, or force=True to write "
            "beside what is there"
        )
    there = json.loads(folder.write_new(RUN, as_json(about)))
    differs = [name for name in {**there, **about} if there.get(name) != json.loads(as_json(about)).get(name)]
    if differs and not force:
        raise ValueError(
            f"folder={folder.path!r} is of another run: {differs[0]} was {there.get(differs[0])!r} and is "
            f"{about.get(differs[0])!r}; give a new folder, or force=True to replace what it holds"
        )
    if differs or (force and RUN in names):
        folder.remove([name for name in folder.names() if name.startswith((f"{ABOUT}/", "part-"))])
        folder.write_new(RUN, as_json(about))


# ---- predictions -----------------------------------------------------------------------------------------------------


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

    Each part appears whole or not at all, so the same call resumes an interrupted run: it writes only the missing
    parts. Several runs of the same call may work on one folder at once.

    Parameters
    ----------
    model : fitted classifier
        For files, fitted on rows from `text` or `table`, so that it can encode other rows.
    X : path, list of paths, a table, or what `text` or `table` opened
        A data frame, an Arrow table or a Dask frame, whose partitions are the parts; this process reads them. Or files,
        a pattern such as ``crawl/*.jsonl.zst``, a folder, or URLs that fsspec knows. JSON lines, CSV and lines of text
        may be compressed (.gz, .bz2, .xz, .zst, .lz4); Parquet and Arrow IPC files are tables; a record of a WARC or
        WET file is a text with the fields ``url``, ``date`` and ``id`` (``pip install streamnb[warc]``). Files are read
        as they come, without an index.
    folder : path or URL
        Where to write the parts: a new or empty folder, or that of an interrupted run.
    proba, scores : bool
        Whether to write probabilities (columns ``p_LABEL``) and scores of `decision_function`, beside ``label``.
    keep : list of str
        Fields of the rows to write before the predictions, null where a row lacks one. In Parquet a field has one type,
        that of the first rows, with integers stored as floats if both occur; JSON lines keep each value.
    text : str, optional
        The field that holds the text, where it is not that of the fit.
    whole_files : bool
        Whether each file, compressed or not, is the text of one row.
    format : {"parquet", "jsonl", "jsonl.zst", "jsonl.gz"}
    errors : {"strict", "skip"}
        What to do about lines that cannot be read: stop, naming the file and line, or leave them out and count them.
    force : bool
        Write all parts anew, even over those of another run or to a folder that is not empty. If interrupted, the same
        call without `force` resumes.
    progress, n_threads, client
        As in `scan`. The workers of a Dask cluster read and write their own parts.

    Returns
    -------
    Written
        Rows, bytes and seconds.

    Raises
    ------
    ValueError, TypeError
        An argument is wrong, or the folder belongs to another run; the message says how.
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
            fields = nearest(name, [*known])
            warn(f"{argument}={name!r}: no row at the beginning of {path} has such a field: {fields}")


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
