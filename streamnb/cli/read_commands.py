"""The commands that read data or a model: convert, plan, predict, evaluate, inspect, export."""

from pathlib import Path
from typing import Any

import click
import numpy as np

from streamnb.cli.corpus_commands import predict_parts
from streamnb.cli.given import (
    DATA,
    NGRAMS,
    PARTS,
    ROWS,
    TABLE,
    is_folder,
    model_of,
    names_of,
    new_file,
    new_place,
    refuse,
    rows_of,
)
from streamnb.cli.output import check_ending, new_store, say, write_json, write_table
from streamnb.corpora.predictions import FORMATS, labels_of, named_columns, whole
from streamnb.encoding.converting import convert as convert_rows
from streamnb.encoding.ngrams import KINDS
from streamnb.encoding.sequences import KMers
from streamnb.estimators.taxonomy import identifiers_of
from streamnb.evaluation.evaluating import evaluate as judge
from streamnb.passes.dask_workers import connected
from streamnb.rows.files import size_of
from streamnb.scanning.planning import plan as plan_scan

OF_PARTS = "format", "keep", "errors", "whole_files"
NOT_OF_RANKS = "proba", "scores", "text", *KINDS, "n_features"


@click.command()
@click.argument("data")
@click.argument("store")
@DATA
@TABLE
@click.option("--groups", help="Name of the groups stored with the rows, or of a column.")
@click.option("--client", help="Address of a Dask scheduler whose workers read and encode; it is written here.")
@click.option("--force", is_flag=True, help="Replace a store that is there.")
def convert(data: str, store: str, groups: str | None, client: str | None, force: bool, **settings: Any) -> None:
    """Write rows of any kind into a Zarr store, the format that is read fastest.

    Example: streamnb convert flights.parquet flights.zarr --y late --hash tailnum,route --bins distance=20
    """
    with new_store(store, force) as place, connected(client):
        X, per_row = rows_of(data, settings, settings["y"], groups=groups)
        convert_rows(X, place, **per_row, layer=settings["layer"])
    say(f"{store} is written")


@click.command()
@click.argument("data")
@DATA
@TABLE
@click.option("--folds", type=int, help="Folds of a cross-validation.")
@click.option("--memory-limit", help="Bytes for the sums, such as 4GB.")
def plan(data: str, folds: int | None, memory_limit: str | None, **settings: Any) -> None:
    """Show what a scan would read and how much memory it would take, before any row is read.

    Example: streamnb plan store.zarr --y y --folds 5
    """
    X, per_row = rows_of(data, settings, settings["y"])
    click.echo(plan_scan(X, per_row.get("y"), folds=folds, memory_limit=memory_limit, layer=settings["layer"]))


@click.command()
@click.argument("model")
@click.argument("data")
@click.option("--proba", is_flag=True, help="Probabilities of all classes as well.")
@click.option("--scores", is_flag=True, help="Scores of decision_function as well.")
@click.option(
    "-o",
    "out",
    help="File: .csv, .tsv, .parquet, .npy or .jsonl, or a folder for parts; CSV to stdout by default.",
)
@click.option("--confidence", type=click.FloatRange(0, 1), help="Taxa to the last rank that is so sure, such as 0.7.")
@click.option("--force", is_flag=True, help="Replace a file, or the parts of another run, that are there.")
@PARTS
@click.option("--format", type=click.Choice([*FORMATS]), default="parquet", help="Of the parts in a folder.")
@click.option("--keep", help="Fields of the rows to write beside predictions in a folder, split at commas.")
@click.option("--text", help="Field of texts, where the model was not fitted on texts of a file like this.")
@NGRAMS
@click.option("--n-features", type=int, help="Columns of hashed words.")
@click.option("--client", help="Address of a Dask scheduler whose workers read.")
def predict(model: str, data: str, out: str | None, **settings: Any) -> None:
    """Labels of rows, and probabilities or scores.

    Example: streamnb predict m.snb new.zarr --proba -o out.parquet

    Example: streamnb predict m.snb reads.fastq.gz --confidence 0.7 -o taxa.tsv

    Example: streamnb predict m.snb 'crawl/*.jsonl.zst' --proba --keep url -o scores/
    """
    if settings["confidence"] is not None:
        refuse(NOT_OF_RANKS, "has no effect beside --confidence")
    if out is not None and is_folder(out):
        refuse(["confidence"], "is for a file, and -o is a folder")
        predict_parts(model, data, out, settings)
        return
    refuse(OF_PARTS, "is for parts in a folder, and -o is none")
    path = new_file(out, settings["force"])
    check_ending(path)
    fitted, (X, _) = model_of(model), rows_of(data, settings, None)
    if settings["confidence"] is not None:
        if not hasattr(fitted, "predict_ranks"):
            raise click.BadParameter(f"{model!r} has no ranks; fit it with its statistics", param_hint="MODEL")
        with connected(settings["client"]):
            taxa = fitted.predict_ranks(X, settings["confidence"])
        write_table({name: column.to_numpy() for name, column in taxa.items()}, path)
        return
    columns = {}
    encoding = getattr(fitted, "encoding_", None)
    if isinstance(encoding, KMers) and encoding.takes(X):
        X = encoding.encode(X)
        if path is None or path.suffix != ".npy":  # which holds numbers or labels alone
            columns["read"] = np.array(identifiers_of(X))
    with connected(settings["client"]):
        columns |= labels_of("label", fitted.predict(X), fitted.classes_)
        for name, prefix, method in (("proba", "p", "predict_proba"), ("scores", "score", "decision_function")):
            if settings[name]:
                columns |= named_columns(prefix, getattr(fitted, method)(X), fitted.classes_)
    write_table(columns, path)


@click.command()
@click.argument("model")
@click.argument("data")
@ROWS
@click.option("--json", "as_json", is_flag=True, help="One line of JSON.")
@click.option("--interval", type=float, help="Confidence of intervals, such as .95; none by default.")
@click.option("--groups", help="Column or array of groups whose rows are not independent, for intervals.")
@click.option("--by", help="Columns by whose values rows are sliced, split at commas: hospital,age.")
@click.option("--client", help="Address of a Dask scheduler whose workers read.")
def evaluate(
    model: str,
    data: str,
    as_json: bool,
    interval: float | None,
    groups: str | None,
    by: str | None,
    client: str | None,
    **settings: Any,
) -> None:
    """Judge a model on rows whose labels are known.

    Example: streamnb evaluate m.snb test.zarr --y y

    Example: streamnb evaluate m.snb test.parquet --y late --interval 0.95 --by hospital
    """
    fitted, (X, per_row) = model_of(model), rows_of(data, settings, settings["y"], groups=groups)
    with connected(client):
        found = judge(fitted, X, **per_row, interval=interval, by=names_of(by) or None)
    if as_json:
        write_json(found.summary() | ({"slices": found.slices.to_dict("records")} if by else {}))
    else:
        click.echo(f"{found}\n{found.slices.to_string(index=False)}" if by else found)


@click.command()
@click.argument("model")
@click.option("--top", "n_features", type=click.IntRange(1), default=10, show_default=True, help="Features a class.")
@click.option("--class", "class_", help="One class only.")
@click.option("--json", "as_json", is_flag=True, help="One line of JSON.")
def inspect(model: str, n_features: int, class_: str | None, as_json: bool) -> None:
    """Show a model, and the features that matter most for its classes.

    Example: streamnb inspect m.snb --top 20 --class perl
    """
    fitted = model_of(model)
    if not hasattr(fitted, "top_features"):
        click.echo(fitted)
        return
    top, classes = fitted.top_features(n_features), whole(fitted.classes_)
    top["class"] = whole(top["class"].to_numpy())
    if class_ is not None:
        if class_ not in {str(label) for label in classes}:
            known = ", ".join(map(str, classes[:20]))
            raise click.BadParameter(f"{class_!r} is not a class; it should be one of {known}", param_hint="--class")
        top = top[top["class"].map(str) == class_]
    if as_json:
        write_json({"model": repr(fitted), "meta": fitted.meta_, "top_features": top.to_dict("records")})
    else:
        click.echo(f"{fitted}\n{top.to_string(index=False)}")


@click.command()
@click.argument("model")
@click.argument("out")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def export(model: str, out: str, force: bool) -> None:
    """Write a model for other programs: .onnx or .json, or .snb without its statistics.

    Example: streamnb export m.snb m.onnx
    """
    path, fitted = new_place(out, force, "OUT"), model_of(model)
    if not hasattr(fitted, "export"):
        raise click.BadParameter(f"{model!r} holds a {type(fitted).__name__}, which has no export", param_hint="MODEL")
    if Path(path).suffix == ".snb":
        fitted.save(path, stats=False, meta=fitted.meta_)
    else:
        fitted.export(path)
    say(f"{out}: {size_of(out):,} bytes")
