"""The command that predicts; a light model and few rows need little more than NumPy."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np

from streamnb.cli.given import (
    CLIENT,
    NAMES,
    NGRAMS,
    OF_MODEL,
    OFFSET,
    PARTS,
    Parsed,
    connected,
    existing,
    is_folder,
    model_of,
    new_file,
    parts_options,
    refuse,
    rows_of,
)
from streamnb.cli.output import check_ending, write_table
from streamnb.cli.saying import say
from streamnb.core.frames import said
from streamnb.core.persistence import class_name, load, load_light
from streamnb.encoding.records import KINDS
from streamnb.rows.files import WRITTEN_PARTS

NOT_OF_RANKS = "proba", "scores", "interval", "offset", "text", *KINDS, "n_features"
OF_CLASSES = "proba", "scores", "confidence"
OF_PARTS = "format", "keep", "errors", "whole_files"


@click.command()
@OF_MODEL
@click.argument("data", type=Parsed(lambda path: path if path == "-" else existing(path)))
@click.option("--proba", is_flag=True, help="Probabilities of all classes as well.")
@click.option("--scores", is_flag=True, help="Scores of decision_function as well.")
@click.option("--interval", type=click.FloatRange(0, 1, True, True), help="Of a regression: with such intervals, .9.")
@OFFSET
@click.option(
    "-o",
    "out",
    help="File: .csv, .tsv, .parquet, .npy or .jsonl, or a folder for parts; CSV to stdout by default.",
)
@click.option("--confidence", type=click.FloatRange(0, 1), help="Taxa to the last rank that is so sure, such as 0.7.")
@click.option("--force", is_flag=True, help="Replace a file, or the parts of another run, that are there.")
@PARTS
@click.option("--format", type=click.Choice([*WRITTEN_PARTS]), default="parquet", help="Of the parts in a folder.")
@click.option("--keep", type=NAMES, help="Fields of the rows to write beside predictions in a folder, split at commas.")
@click.option("--text", help="Field of texts, where the model was not fitted on texts of a file like this.")
@NGRAMS
@click.option("--n-features", type=click.IntRange(1), help="Columns of hashed words.")
@CLIENT
def predict(model: str, data: str, out: str | None, **settings: Any) -> None:
    """Labels of rows, and probabilities or scores; or numbers, and their intervals. DATA is - for standard input.

    Example: streamnb predict m.snb new.zarr --proba -o out.parquet

    Example: streamnb predict prices.snb new.parquet --interval .9

    Example: head -100 news.jsonl | streamnb predict m.snb -

    Example: streamnb predict m.snb reads.fastq.gz --confidence 0.7 -o taxa.tsv

    Example: streamnb predict m.snb 'crawl/*.jsonl.zst' --proba --keep url -o scores/
    """
    data = _standard_input() if data == "-" else data
    if settings["confidence"] is not None:
        refuse(NOT_OF_RANKS, "has no effect beside --confidence")
    if out is not None and is_folder(out):
        refuse(["confidence", "interval", "offset"], "is for a file, such as -o scores.csv, and -o is a folder")
        chosen = {name: settings[name] for name in ("proba", "scores", "format", "force")}
        options = {**chosen, "keep": settings["keep"] or [], **parts_options(settings)}
        from streamnb.corpora.predictions import write_predictions

        with connected(settings["client"]):
            say(str(write_predictions(model_of(model), data, out, **options)))
        return
    refuse(OF_PARTS, "is for parts in a folder, such as -o scores/")
    path = new_file(out, settings["force"])
    check_ending(path)
    ranks = settings["confidence"] is not None
    fitted, (X, _) = model_of(model, read=load if ranks or settings["offset"] else load_light), rows_of(data, settings)
    if not hasattr(fitted, "classes_"):
        refuse(OF_CLASSES, f"is of classes, and {model!r} predicts numbers")
    elif settings["interval"] is not None:
        raise click.BadParameter(f"{model!r} predicts classes; use --proba", param_hint="--interval")
    if settings["offset"] is not None and not hasattr(fitted, "max_passes"):
        raise click.BadParameter(f"{model!r} is no model of counts or amounts", param_hint="--offset")
    if ranks and not hasattr(fitted, "predict_ranks"):
        raise click.BadParameter(f"{model!r} has no ranks; fit it with its statistics", param_hint="MODEL")
    how = {name: settings[name] for name in ("interval", "offset") if settings[name] is not None}
    columns = dict[str, np.ndarray]()
    encoding: Any = vars(fitted).get("encoding") or getattr(fitted, "encoding_", None)
    if class_name(encoding) == "KMers" and not ranks and not how:
        from streamnb.estimators.annotating import identifiers_of

        encoding = getattr(fitted, "encoding", encoding)  # made, if it was not yet
        if encoding.takes(X):
            X = encoding.encode(X)
            if path is None or path.suffix != ".npy":  # which holds numbers or labels alone
                columns["read"] = np.array(identifiers_of(X))
    with connected(settings["client"]):
        if how:
            found = np.asarray(fitted.predict(X, **how)).reshape(-1, 3 if "interval" in how else 1)
            columns = dict(zip(("prediction", "lower", "upper"), found.T, strict=False))
        elif ranks:
            taxa = fitted.predict_ranks(X, settings["confidence"])
            columns = {name: column.to_numpy() for name, column in taxa.items()}
        else:
            columns |= said(fitted, X, settings["proba"], settings["scores"])
    write_table(columns, path)


def _standard_input() -> str:
    """The path of a file with all of standard input, JSON lines or text such as CSV, until the command ends."""
    given = sys.stdin.buffer.read()
    folder = click.get_current_context().with_resource(TemporaryDirectory())
    path = Path(folder) / ("stdin.jsonl" if given.lstrip().startswith(b"{") else "stdin.csv")
    path.write_bytes(given)
    return str(path)
