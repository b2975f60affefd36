"""The commands that learn: fit and search."""

from functools import partial
from pathlib import Path
from typing import Any

import click

from streamnb.cli.given import (
    DATA,
    KEEP_STATS,
    MODEL,
    OFFSET,
    PENALTIES,
    RUN,
    SCORINGS,
    SEED,
    SEQUENCES,
    TABLE,
    TASK,
    TRANSFORM,
    connected,
    given_names,
    new_file_option,
    new_place,
    refuse,
    rows_of,
)
from streamnb.cli.saying import say

SMOOTHING_OF_KMERS = 0.001  # as QIIME 2 has it
NAMED = 100_000  # tokens at most that are kept to name columns of texts
READS = "softmax", "margin", "crammer-singer", "least-squares"
OF_NUMBERS = "elastic-net", "poisson", "gamma"
CURVES = [f"additive-{loss}" for loss in ("squared", "poisson", "gamma", "tweedie", "absolute", "quantile")]
OF_FOLDS = "cv", "scoring", "seed"
OF_ROWS = "transform", "normalize", "idf"
OF_BAYES = "family", "penalty", "scheme", "smoothing"
OF_SITES = "data", "out", "force", "stats", "model", "l2", "rule", *OF_FOLDS, *OF_ROWS, *OF_BAYES
NOT_TAKEN = {
    "additive": (*OF_ROWS, *OF_BAYES, "rule", "l2"),
    **dict.fromkeys(READS, OF_BAYES),
    **dict.fromkeys(OF_NUMBERS, (*OF_ROWS, *OF_BAYES, "scoring", "l2")),
    **dict.fromkeys(CURVES, (*OF_ROWS, *OF_BAYES, "scoring", "rule", "l2")),
}


def penalty_of(given: str) -> Any:
    """Parse a penalty: its name, a scale after a colon, a tau after an equals sign."""
    from streamnb.problem.penalties import L1, L2, TopK

    name, _, tau = given.partition("=")
    name, _, scale = name.partition(":")
    if given == "none":
        return None
    try:
        numbers = [float(one) for one in tau.split(",")] if tau else None
        if name == "l1" and scale in ("", "score"):
            return L1(_one(numbers), scale=scale or None)
        if name == "l2" and not scale and numbers:
            return L2(_one(numbers))
        if name == "topk" and not scale and numbers:
            return TopK(_one([int(number) for number in numbers]))
    except ValueError as error:
        raise click.BadParameter(f"{given!r}: {error}", param_hint="--penalty") from error
    raise click.BadParameter(f"{given!r} should be one of {PENALTIES}", param_hint="--penalty")


def _one(numbers: list[Any] | None) -> Any:
    return numbers[0] if numbers is not None and len(numbers) == 1 else numbers


@click.command()
@DATA
@TABLE
@SEQUENCES
@MODEL
@RUN
@click.option(
    "--model",
    type=click.Choice(["bayes", "additive", *READS, *OF_NUMBERS, *CURVES]),
    default="bayes",
    show_default=True,
    help=f"Naive Bayes in one or two reads, or a model of a few more; for numbers {', '.join([*OF_NUMBERS, *CURVES])}.",
)
@OFFSET
@click.option("--quantile", type=float, help="Of --model additive-quantile: 0.9 has 90 % of the numbers below.")
@click.option("--l2", type=float, help="Penalty of a model of a few more reads, which is chosen on folds by default.")
@click.option("--cv", "--folds", type=click.IntRange(2), default=5, show_default=True, help="Folds to choose by.")
@click.option(
    "--scoring",
    help="Score that chooses the penalty; by default that of the estimator, roc_auc for naive Bayes.",
    default=None,
)
@click.option("--rule", default="best", show_default=True, help="best, one_se, parsimonious.")
@SEED
@click.option("--checkpoint", help="File, or folder of a model of several reads, from which the same command resumes.")
@click.option("--keep", default="auto", show_default=True, help="Where read rows stay: auto, memory, disk, no.")
@KEEP_STATS
@new_file_option("The file of the model.")
def fit(data: str, out: str, stats: bool, force: bool, client: str | None, **settings: Any) -> None:
    """Fit a model and save it.

    Example: streamnb fit store.zarr --y y --family multinomial --penalty l1:score --cv 5 -o m.snb

    Example: streamnb fit claims.parquet --y claims --offset log_years --model poisson -o m.snb

    Example: streamnb fit refs.fasta.gz --labels tax.tsv --k 7 -o m.snb

    Of several sites DATA is what `merge` wrote of their scans, or a schema; --family may then list several:

    Example: streamnb fit all.snb --family multinomial,bernoulli -o m.snb
    """
    if settings["labels"]:
        usual = {"penalty": "none", "smoothing": SMOOTHING_OF_KMERS} if settings["model"] == "bayes" else {}
        settings |= {name: value for name, value in usual.items() if name not in given_names()}
    else:
        refuse(("k", "both_strands"), "is for sequences, which have --labels")
    path = new_place(out, force)
    if Path(data).suffix == ".snb":
        refuse([name for name in given_names() if name not in OF_SITES], f"is of rows, and {data} holds no rows")
        from streamnb.cli.sharing_commands import folds_of, leave, of_sites

        shared = of_sites(data, sums=settings["model"] == "bayes")
        families = settings["family"].split(",")
        settings |= {name: value for name, value in folds_of(shared).items() if name not in given_names()}
        leave(shared.fit(*(_model({**settings, "family": family}) for family in families)), path, stats)
        return
    if settings["model"] not in ("poisson", "gamma", *CURVES):
        refuse(["offset"], "is for --model poisson, gamma and those of curves, such as additive-poisson")
    if settings["model"] != "additive-quantile":
        refuse(["quantile"], "is for --model additive-quantile")
    model = _model(settings)
    run = {name: settings[name] for name in ("n_threads", "memory_limit", "checkpoint", "layer", "keep")}
    with connected(client):
        X, per_row = rows_of(data, settings, NAMED)
        if settings["offset"] is not None:
            per_row["offset"] = settings["offset"]
        model.fit(X, **per_row, progress=True, **run)
    from streamnb.cli.sharing_commands import leave

    leave(model, path, stats)


def choosing() -> dict[str, Any]:
    """The estimators of several reads that choose their penalty on folds, by the names of --model."""
    from streamnb.estimators import chosen, crammer_singer, generalized, trained_models

    return {
        "softmax": trained_models.SoftmaxRegressionCV,
        "margin": trained_models.MarginClassifierCV,
        "crammer-singer": crammer_singer.CrammerSingerSVMCV,
        "least-squares": trained_models.LeastSquaresClassifierCV,
        "elastic-net": partial(chosen.ElasticNetCV, [0.0, 0.5, 1.0], standardize=True),
        "poisson": generalized.PoissonRegressorCV,
        "gamma": generalized.GammaRegressorCV,
    }


def at_l2() -> dict[str, Any]:
    """The estimators that take --l2."""
    from streamnb.estimators import trained_models

    return {
        "softmax": trained_models.SoftmaxRegression,
        "margin": trained_models.MarginClassifier,
        "least-squares": trained_models.LeastSquaresClassifier,
    }


def _model(settings: dict[str, Any]) -> Any:
    """The estimator that the options describe; options that it does not take are refused."""
    named = settings["model"]
    refuse(NOT_TAKEN.get(named, ()), f"is not for --model {named}")
    rows = {name: settings[name] for name in OF_ROWS}
    of_folds = {"folds": settings["cv"], "seed": settings["seed"]}
    scoring = {"scoring": settings["scoring"]} if settings["scoring"] else {}
    if named == "additive":
        from streamnb.additive.classifier import AdditiveClassifier

        return AdditiveClassifier(**of_folds, **scoring)
    if named in CURVES:
        from streamnb.additive.regressor import AdditiveRegressor

        return AdditiveRegressor(named.removeprefix("additive-"), quantile=settings["quantile"], **of_folds)
    if named in OF_NUMBERS:
        return choosing()[named](**of_folds, rule=settings["rule"])
    if settings["l2"] is not None and named in at_l2():
        refuse((*OF_FOLDS, "rule"), "is for choosing, and --l2 leaves nothing to choose")
        return at_l2()[named](settings["l2"], **rows)
    refuse(("l2",), f"is not for --model {named}")
    validation = {**of_folds, "rule": settings["rule"], **scoring}
    if named != "bayes":
        return choosing()[named](**rows, **validation)
    from streamnb.estimators.linear_nb import LinearNB
    from streamnb.estimators.linear_nb_cv import LinearNBCV

    penalty = penalty_of(settings["penalty"])
    smoothing = "auto" if settings["smoothing"] is None else settings["smoothing"]
    options = {"scheme": settings["scheme"], "smoothing": smoothing, **rows}
    if penalty is None or all(part.tau is not None and len(part.tau) == 1 for part in penalty.parts):
        refuse((*OF_FOLDS, "rule"), f"is for choosing, and --penalty {settings['penalty']} leaves nothing to choose")
        return LinearNB(settings["family"], penalty, **options)
    return LinearNBCV(settings["family"], penalty, **options, **validation)


@click.command()
@DATA
@TABLE
@RUN
@click.option("--family", "families", multiple=True, help="A family to try; several times for several.")
@click.option(
    "--transform",
    "transforms",
    type=TRANSFORM,
    multiple=True,
    help="Steps to try, none among them; several times, too.",
)
@click.option("--cv", "--folds", type=click.IntRange(2), default=5, show_default=True, help="Folds to compare on.")
@click.option("--budget", default="auto", show_default=True, help="auto, or a limit: 600s, 10m, or '20 reads'.")
@TASK
@click.option(
    "--scoring", type=SCORINGS, help="Scorings, split at commas; the first chooses. By default those of snb.search."
)
@click.option("--positive", help="The class of two that precision, recall, f1 and average_precision are of.")
@OFFSET
@SEED
@KEEP_STATS
@new_file_option("The file of the best model.")
def search(data: str, out: str, stats: bool, force: bool, client: str | None, **settings: Any) -> None:
    """Compare many models on the same folds, print the table, and save the best.

    Example: streamnb search store.zarr --y y --budget 600s -o m.snb

    Example: streamnb search homes.parquet --y price -o m.snb
    """
    path = new_place(out, force)
    from streamnb.searching.searching import search

    options: dict[str, Any] = {name: list(settings[name]) or None for name in ("families", "transforms")}
    names = "budget", "task", "scoring", "positive", "offset", "seed", "n_threads", "memory_limit"
    options |= {name: settings[name] for name in names}
    with connected(client):
        X, per_row = rows_of(data, settings, NAMED)
        result = search(X, **per_row, **options, folds=settings["cv"], show=False, progress=True)
    result.best_.save(path, stats=stats)
    click.echo(result)
    say(f"{out}: {result.best_}")
