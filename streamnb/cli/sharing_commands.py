"""The commands of sites that share sums but no rows: schema, scan, merge, read, step."""

from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import click

from streamnb.cli.given import (
    DATA,
    KEEP_STATS,
    NAMES,
    OF_DATA,
    OFFSET,
    SEED,
    STEPS,
    SUMS_LIMIT,
    TABLE,
    TABLE_OPTIONS,
    TASK,
    THERE,
    THREADS,
    new_file_option,
    new_place,
    options,
    refuse,
    refuse_of_texts,
    saved,
    table_options,
    text_options,
)
from streamnb.cli.saying import say
from streamnb.scanning.rounds import Answer, Round, SiteSums
from streamnb.scanning.schema import Schema
from streamnb.scanning.schema import schema as make_schema

SITE = options(
    click.option("--site", help="Name of the site; that of the file by default."),
    click.option("--y", help="Name of the labels, if not the one in the schema."),
    click.option("--weight", help="Name of the weights, if not the one in the schema."),
    THREADS,
    SUMS_LIMIT,
    new_file_option("The file of the sums."),
)


def _write(made: Any, path: Any, out: str) -> None:
    """Write a file, and say what it holds."""
    made.save(path)
    say(f"{out}: {made}")


@click.command()
@DATA
@TABLE
@TASK
@OFFSET
@click.option("--vocabulary", type=click.IntRange(1), help="Number of n-grams of --text to learn, in place of hashing.")
@click.option("--classes", type=NAMES, help="All labels, split at commas; those of the data by default.")
@click.option("--moments", type=NAMES, help="Sums to keep, split at commas: sum,sum_sq,nonzero,above by default.")
@STEPS
@click.option("--folds", type=click.IntRange(2), help="Folds into which each site splits its rows.")
@SEED
@click.option("--sites", type=NAMES, help="All sites, split at commas, where each is to be a fold.")
@new_file_option("The file of the schema.")
def schema(data: str, out: str, force: bool, **settings: Any) -> None:
    """Make the schema by which sites scan: classes, columns and how they are encoded, sums and folds.

    Of rows like those of the sites; or each site makes one of its own rows, and `merge` adds them.

    Example: streamnb schema flights.parquet --y late --bins distance=20 --folds 5 -o schema.snb
    """
    path = new_place(out, force)
    refuse_of_texts(settings)
    columns: dict[str, Any] = {}
    if any(settings[name] for name in TABLE_OPTIONS):
        refuse(["vocabulary"], "is of texts alone, without other columns")
        columns = table_options(settings)
    elif settings["text"]:
        columns = {"text": settings["text"], **text_options(settings)}
        columns |= {"vocabulary": settings["vocabulary"]} if settings["vocabulary"] else {}
    more = {name: settings[name] for name in ("offset", "classes", "moments", "transform", "normalize", "folds")}
    more |= {"sites": settings["sites"] or [], "sample_weight": settings["weight"], "seed": settings["seed"]}
    made = make_schema(data, settings["y"], task=settings["task"] or "classification", **more, **columns)
    _write(made, path, out)


@click.command()
@OF_DATA
@click.option("--schema", "by", type=THERE, required=True, help="The file of the schema.")
@SITE
def scan(data: str, by: str, site: str | None, out: str, force: bool, **settings: Any) -> None:
    """Sum the rows of one site by a schema. The file of the sums is all that leaves the site.

    Example: streamnb scan hospital_a.parquet --schema schema.snb -o a.snb
    """
    path, site_schema = new_place(out, force), saved(by, "--schema", "schema", (Schema,))
    sums = site_schema.scan(data, site=site or Path(data).stem, **_run(settings))
    _write(sums, path, out)


@click.command()
@click.argument("files", type=THERE, nargs=-1, required=True)
@click.option("--drop-counts", is_flag=True, help="Leave out of a schema the counts that it was learned from.")
@new_file_option("The file of the sum.")
def merge(files: tuple[str, ...], drop_counts: bool, out: str, force: bool) -> None:
    """Add what sites left: schemas, sums of scans, or a round followed by answers to it.

    Example: streamnb merge a.snb b.snb c.snb -o all.snb

    Example: streamnb merge w.snb read_a.snb read_b.snb -o answer.snb
    """
    path = new_place(out, force)
    first, *others = (saved(file, "FILES", "schema, scan, read or fit") for file in files)
    kinds = {type(one) for one in (first, *others)}
    both: Any
    if isinstance(first, Round) and {type(one) for one in others} == {Answer}:
        both = first.merge(*others)
    elif kinds == {Schema} or kinds == {SiteSums}:
        both = reduce(add, others, first)
    else:
        names = ", ".join(f"{file} a {type(one).__name__}" for file, one in zip(files, (first, *others), strict=True))
        raise click.UsageError(f"files should be schemas, or sums, or a round and answers to it; there are: {names}")
    both = both.without_counts() if drop_counts and isinstance(both, Schema) else both
    _write(both, path, out)


@click.command()
@OF_DATA
@click.option("--weights", "of", type=THERE, required=True, help="The file of the round, which fit or step wrote.")
@SITE
@OFFSET
def read(data: str, of: str, site: str | None, out: str, force: bool, **settings: Any) -> None:
    """Read the rows of one site for what a round asks: a gradient at its weights, scores on held-out rows, values.

    Example: streamnb read hospital_a.parquet --weights w.snb -o read_a.snb
    """
    path, round_ = new_place(out, force), saved(of, "--weights", "fit or step", (Round,))
    answer = round_.read(data, site=site or Path(data).stem, offset=settings["offset"], **_run(settings))
    _write(answer, path, out)


@click.command()
@click.argument("of", type=THERE)
@click.argument("answers", type=THERE, nargs=-1, required=True)
@KEEP_STATS
@new_file_option("The file of the next round, or of the model.")
def step(of: str, answers: tuple[str, ...], out: str, stats: bool, force: bool) -> None:
    """Go on from a round with the answers of all sites: to the next round, or to the model.

    Example: streamnb step w.snb read_a.snb read_b.snb -o w2.snb
    """
    path, round_ = new_place(out, force), saved(of, "OF", "fit or step", (Round,))
    leave(round_.step(*(saved(file, "ANSWERS", "read", (Answer,)) for file in answers)), path, stats)


def of_sites(path: str, sums: bool) -> Any:
    """The sums or the schema in a file; of sums only the schema unless a model is fitted from `sums`."""
    shared = saved(path, "DATA", "merge, scan or schema")
    if not isinstance(shared, SiteSums | Schema):
        what = f"{path!r} holds a {type(shared).__name__}, and fit takes rows, sums or a schema"
        raise click.BadParameter(what, param_hint="DATA")
    return shared if sums else getattr(shared, "schema", shared)


def folds_of(shared: Any) -> dict[str, Any]:
    """The folds of sums or a schema, as options of `fit`."""
    folding = getattr(shared, "schema", shared).folding
    return {} if folding is None else {"cv": folding.n_folds, "seed": folding.seed}


def leave(found: Any, path: Any, stats: bool) -> None:
    """Write a round or a fitted model, and say what comes next."""
    if isinstance(found, Round):
        found.save(path)
        say(f"{path}: {found}")
        say(f"Next, at each site: streamnb read DATA --weights {path} -o ANSWER; then: streamnb step {path} ANSWERS")
        return
    found.save(path, stats=stats)
    say(f"{path}: {found}")
    if hasattr(found, "best_score_"):
        say(f"{vars(found).get('scoring', 'd2')} on held-out rows: {found.best_score_:.4f} at {found.best_params_}")


def _run(settings: dict[str, Any]) -> dict[str, Any]:
    run = {name: settings[name] for name in ("y", "n_threads", "memory_limit")}
    return {**run, "sample_weight": settings["weight"], "progress": True}
