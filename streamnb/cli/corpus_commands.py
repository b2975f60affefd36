"""The commands for whole corpora: select, and the parts that predict writes to a folder."""

from pathlib import Path
from typing import Any

import click

from streamnb.cli.given import PARTS, model_of, names_of, parts_options
from streamnb.cli.output import say
from streamnb.corpora.predictions import write_predictions
from streamnb.corpora.selecting import select as select_rows
from streamnb.passes.dask_workers import connected


def predict_parts(model: str, data: str, out: str, settings: dict[str, Any]) -> None:
    """Write the predictions of a corpus to a folder."""
    asked = {name: settings[name] for name in ("proba", "scores", "format", "force")}
    with connected(settings["client"]):
        options = {**asked, "keep": names_of(settings["keep"]), **parts_options(settings)}
        say(str(write_predictions(model_of(model), data, out, **options)))


def _by_label(given: str | None, convert: Any, hint: str) -> Any:
    """A number, or numbers by label: 0.1, or en=0.1,de=0.2."""
    if given is None:
        return None
    try:
        if "=" not in given:
            return convert(given)
        pairs = (one.rpartition("=") for one in given.split(","))
        return {label: convert(size) for label, _, size in pairs}
    except ValueError as error:
        raise click.BadParameter(
            f"{given!r} should be a number, or numbers by label: en=5,de=2", param_hint=hint
        ) from error


@click.command()
@click.argument("models", nargs=-1, required=True)
@click.argument("data")
@click.option("-o", "out", required=True, help="Folder or URL for the parts.")
@click.option("--label", help="The class that is wanted.")
@click.option("--threshold", type=float, help="Keep rows with at least this probability of the label.")
@click.option("--share", help="Keep this share of the rows, the best ones; by label: en=0.1,de=0.2.")
@click.option("--number", help="Keep so many rows, the best ones; by label: en=1000,de=500.")
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
    given = {Path(path).stem: model_of(path) for path in models}
    if len(given) < len(models):
        raise click.BadParameter("two models have one name; rename a file", param_hint="MODELS")
    names = "label", "threshold", "resample", "where", "seed", "drop_repeats", "force"
    chosen = {name: settings[name] for name in names}
    chosen["share"] = _by_label(settings["share"], float, "--share")
    chosen["number"] = _by_label(settings["number"], int, "--number")
    with connected(client):
        options = {**chosen, "score": settings["score"] or None, **parts_options(settings)}
        say(str(select_rows(given if len(given) > 1 else next(iter(given.values())), data, out, **options)))
