"""The commands that read rows or a model, such as describe, evaluate and report."""

import re
from functools import partial
from pathlib import Path
from typing import Any

import click

from streamnb.cli.fit_commands import fit
from streamnb.cli.given import (
    CLIENT,
    DATA,
    FORCE,
    JUDGED,
    NAMES,
    OF_DATA,
    OF_MODEL,
    PARTS,
    ROWS,
    SUMS_LIMIT,
    TABLE,
    THERE,
    Parsed,
    by_name,
    class_of,
    connected,
    in_options,
    model_of,
    new_file,
    new_place,
    parts_options,
    refuse,
    rows_of,
)
from streamnb.cli.output import new_store, write_json
from streamnb.cli.saying import say
from streamnb.core.frames import whole
from streamnb.core.stored_files import replacing
from streamnb.models.portable import PortableModel, PortableRegression
from streamnb.rows.files import size_of

SHARES, NUMBERS = (Parsed(by_name(kind), "a number, or numbers by label: en=5,de=2") for kind in (float, int))
MOVED = 3  # the exit status of drift
WAYS = "threshold", "share", "number", "resample", "where"
OF_ROWS = "y", "weight", "text", "groups", "by", "against", "interval", "positive", "offset"


@click.command()
@DATA
@click.argument("store")
@TABLE
@click.option("--groups", help="Name of the groups stored with the rows, or of a column.")
@click.option("--client", help="Address of a Dask scheduler whose workers read and encode; it is written here.")
@click.option("--force", is_flag=True, help="Replace a store that is there.")
def convert(data: str, store: str, client: str | None, force: bool, **settings: Any) -> None:
    """Write rows of any kind into a Zarr store, the format that is read fastest.

    Example: streamnb convert flights.parquet flights.zarr --y late --hash tailnum,route --bins distance=20
    """
    from streamnb.encoding.converting import convert

    with new_store(store, force) as place, connected(client):
        X, per_row = rows_of(data, settings)
        convert(X, place, **per_row, layer=settings["layer"])
    say(f"{store} is written")


@click.command()
@DATA
@TABLE
@click.option("--folds", type=int, help="Folds of a cross-validation.")
@SUMS_LIMIT
def plan(data: str, folds: int | None, memory_limit: str | None, **settings: Any) -> None:
    """Show what a scan would read and how much memory it would take, before any row is read.

    Example: streamnb plan store.zarr --y y --folds 5
    """
    from streamnb.scanning.planning import plan

    X, per_row = rows_of(data, settings)
    click.echo(plan(X, per_row.get("y"), folds=folds, memory_limit=memory_limit, layer=settings["layer"]))


@click.command()
@OF_DATA
@click.option("--y", help="The column of labels, or of numbers to predict.")
@click.option("--json", "as_json", is_flag=True, help="One line of JSON.")
@click.option("-o", "out", help="A page of HTML; text to stdout by default.")
@CLIENT
@FORCE
def describe(data: str, y: str | None, as_json: bool, out: str | None, client: str | None, force: bool) -> None:
    """Take a first look at rows: classes, types, missing values, ranges, and what is odd, such as leaks of the label.

    Example: streamnb describe flights.parquet --y late
    """
    from streamnb.scanning.describing import describe

    path, (X, per_row) = new_file(out, force), rows_of(data, {"y": y, "text": None})
    with connected(client):
        found = describe(X, per_row["y"])
    in_words = partial(re.sub, r"snb\.table\(.*?\]\)", lambda call: in_options(call[0], fit)[0])  # of the shell
    if as_json:
        write_json(found.to_dict())
    elif path is None:
        click.echo(in_words(str(found)))
    else:
        with replacing(path) as file:
            file.write(
                f"<!doctype html><meta charset=utf-8><title>{path.stem}</title>{in_words(found.to_html())}".encode()
            )


@click.command()
@click.argument("models", type=THERE, nargs=-1, required=True)
@OF_DATA
@click.option("-o", "out", required=True, help="Folder or URL for the parts.")
@click.option("--label", help="The class that is wanted.")
@click.option("--threshold", type=float, help="Keep rows with at least this probability of the label.")
@click.option(
    "--share",
    type=SHARES,
    help="Keep this share of the rows, the best ones; by label: en=0.1,de=0.2.",
)
@click.option("--number", type=NUMBERS, help="Keep so many rows, the best ones; by label: en=1000,de=500.")
@click.option("--resample", type=click.IntRange(1), help="Draw so many rows by the odds of the label.")
@click.option("--where", help="A condition: 'en > .65 and good > .3'.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of --resample.")
@click.option("--drop-repeats", is_flag=True, help="Leave out texts that repeat an earlier one.")
@click.option("--score", default="score", show_default=True, help="Field for the score; empty for none.")
@click.option("--text", help="Field of texts, where it is not that of the fit.")
@PARTS
@click.option("--client", help="Address of a Dask scheduler whose workers read and write.")
@click.option("--force", is_flag=True, help="Write all parts anew, also over those of another run.")
def select(models: tuple[str, ...], data: str, out: str, client: str | None, **settings: Any) -> None:
    """Write the rows of a corpus that models choose, as they are, with their score beside them.

    Example: streamnb select m.snb 'crawl/*.jsonl.zst' --label good --share 0.1 -o kept/

    Example: streamnb select en.snb good.snb 'crawl/*.jsonl.zst' --where 'en > .65 and good > .3' -o kept/
    """
    if all(settings[name] is None for name in WAYS):
        raise click.UsageError(
            "nothing says which rows to keep; give --threshold, --share, --number, --resample or --where"
        )
    if settings["resample"] is None:
        refuse(["seed"], "is of --resample")
    named = {Path(path).stem: model_of(path) for path in models}
    if len(named) < len(models):
        raise click.BadParameter("two models have one name; rename a file", param_hint="MODELS")
    from streamnb.corpora.selecting import select

    names = "label", *WAYS, "seed", "drop_repeats", "force"
    options = {name: settings[name] for name in names} | {"score": settings["score"] or None} | parts_options(settings)
    with connected(client):
        say(str(select(named if len(named) > 1 else next(iter(named.values())), data, out, **options)))


@click.command()
@OF_MODEL
@OF_DATA
@ROWS
@click.option("--json", "as_json", is_flag=True, help="One line of JSON.")
@click.option("--interval", type=float, help="Confidence of intervals, such as .95; none by default.")
@JUDGED
@CLIENT
def evaluate(model: str, data: str, as_json: bool, client: str | None, **settings: Any) -> None:
    """Judge a model on rows whose labels are known.

    Example: streamnb evaluate m.snb test.zarr --y y

    Example: streamnb evaluate m.snb test.parquet --y late --interval 0.95 --by hospital
    """
    fitted, (X, per_row) = model_of(model), rows_of(data, settings)
    from streamnb.evaluation.evaluating import evaluate

    how = {name: settings[name] for name in ("interval", "by", "offset")}
    with connected(client):
        found = evaluate(fitted, X, **per_row, **how, positive=class_of(fitted, settings["positive"]))
    if as_json:
        write_json(found.summary() | ({"slices": found.slices.to_dict("records")} if settings["by"] else {}))
        return
    click.echo(found)
    if settings["by"]:
        click.echo(found.slices.to_string(index=False))


@click.command()
@OF_MODEL
@click.argument("data", type=THERE, required=False)
@ROWS
@click.option("-o", "out", default="report.html", show_default=True, help="The page.")
@click.option("--interval", type=float, default=0.95, show_default=True, help="Confidence of intervals.")
@JUDGED
@click.option("--against", type=THERE, help="A second set of rows, to show what differs from DATA.")
@CLIENT
@FORCE
def report(model: str, data: str | None, out: str, **settings: Any) -> None:
    """Write one page of HTML that shows a model, judged on rows whose labels are known.

    Without DATA the page shows the model alone.

    Example: streamnb report m.snb test.parquet --y late --by city -o report.html
    """
    path = Path(new_file(out, settings["force"]) or out)
    from streamnb.reporting.report import RowsToJudge, write_report
    from streamnb.searching.search_result import Search

    shown = model_of(model, Search)
    given = RowsToJudge(interval=settings["interval"])
    if data is None:
        refuse(OF_ROWS, "is of rows, and there is no DATA")
    else:
        X, per_row = rows_of(data, settings)
        against = None if settings["against"] is None else rows_of(settings["against"], settings)[0]
        positive = class_of(shown.best_ if isinstance(shown, Search) else shown, settings["positive"])
        options = {name: settings[name] for name in ("interval", "by", "offset")}
        given = RowsToJudge(X=X, against=against, positive=positive, **options, **per_row)
    with connected(settings["client"]):
        if isinstance(shown, Search):
            shown.report(path, **vars(given), force=settings["force"])
        else:
            write_report(shown, given, path, force=settings["force"], file=model)
    say(f"{out}: {path.stat().st_size:,} bytes")


@click.command()
@OF_MODEL
@OF_DATA
@click.option("--before", type=THERE, help="Rows to compare DATA with, in place of the sums that the model keeps.")
@click.option("--threshold", type=float, default=0.2, show_default=True, help="The index from which a column moved.")
@click.option("--ignore", type=NAMES, help="Columns that are left out, split at commas, such as 'day: month'.")
@click.option("--json", "as_json", is_flag=True, help="One line of JSON.")
@CLIENT
def drift(
    model: str,
    data: str,
    before: str | None,
    threshold: float,
    ignore: list[str] | None,
    as_json: bool,
    client: str | None,
) -> None:
    """Compare new rows with those that a model has learned from; the exit status is 3 if columns have moved.

    Example: streamnb drift model.snb week.parquet --json
    """
    fitted = model_of(model)
    given = (None if path is None else rows_of(path, {"text": None})[0] for path in (data, before))
    with connected(client):
        found = fitted.drift(*given, threshold=threshold, ignore=ignore or [])
    if as_json:
        write_json(found.summary())
    else:
        click.echo(found)
    if found.moved:
        raise click.exceptions.Exit(MOVED)


@click.command()
@OF_MODEL
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
            what = f"{class_!r} is not a class; it should be one of {', '.join(map(str, classes[:20]))}"
            raise click.BadParameter(what, param_hint="--class")
        top = top[top["class"].map(str) == class_]
    if as_json:
        write_json({"model": str(fitted), "meta": fitted.meta_, "top_features": top.to_dict("records")})
    else:
        click.echo(f"{fitted}\n{top.to_string(index=False)}")


@click.command()
@OF_MODEL
@click.argument("out")
@click.option("--dialect", help="The SQL of an .sql file: duckdb, postgres, sqlite, ..")
@click.option("--table", default="rows", show_default=True, help="The table whose rows an .sql file scores.")
@click.option("--keep", multiple=True, help="A column beside the predictions of an .sql file; may be repeated.")
@FORCE
def export(model: str, out: str, dialect: str | None, table: str, keep: tuple[str, ...], force: bool) -> None:
    """Write a model for other programs: .onnx, .json, .py or .sql, or .snb without its statistics.

    Example: streamnb export m.snb m.sql --dialect postgres --table flights --keep id
    """
    path, fitted = new_place(out, force, "OUT"), model_of(model)
    if not hasattr(fitted, "export"):
        raise click.BadParameter(f"{model!r} holds a {type(fitted).__name__}, which has no export", param_hint="MODEL")
    if Path(path).suffix == ".snb":
        keeps = {} if isinstance(fitted, PortableModel | PortableRegression) else {"stats": False, "meta": fitted.meta_}
        fitted.save(path, **keeps)
    else:
        fitted.export(path, dialect=dialect, table=table, keep=keep or None)
    say(f"{out}: {size_of(out):,} bytes")


@click.command()
def warm() -> None:
    """Compile the usual kernels once, for a container image, and say where they are kept.

    Example: streamnb warm, in a Dockerfile that sets NUMBA_CACHE_DIR=/opt/kernels
    """
    from streamnb.searching.warming import warming

    for line in warming():
        say(line)
