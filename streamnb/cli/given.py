"""Converts command-line values to arguments of functions and estimators."""

import re
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from streamnb.core.persistence import load
from streamnb.core.stored_files import exists, is_url, put_back
from streamnb.encoding.records import KINDS

# Arguments of Python whose options, or whose parameters of commands, have other names
ARGUMENTS = {
    "X": "data",
    "sample_weight": "weight",
    "hashed": "hash",
    "hash_features": "n_features",
    "folds": "cv",
    "family": "families",
    "transform": "transforms",
    "path": "out",
}
TABLE_OPTIONS = "hash", "bins", "columns", "drop"
PENALTIES = "none, l1, l1:score, l2=TAU, topk=K, or one tau: l1=0.5, l1:score=2"


class Parsed(click.ParamType):
    """Values that a function parses; `should` says what they should be where it raises a ValueError."""

    name = "text"

    def __init__(self, parse: Callable[[str], Any], should: str = ""):
        self._parse, self._should = parse, should

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        try:
            return self._parse(value) if isinstance(value, str) else value
        except ValueError:
            self.fail(f"{value!r} should be {self._should}", param, ctx)


def steps_of(given: str) -> Any:
    """Parse the steps of a transform, split at commas: "log1p", or "l1:10000,log1p", or none."""
    steps = tuple(given.split(","))
    return steps if len(steps) > 1 else (None if given in ("", "none") else given)


def lengths_of(given: str) -> tuple[int, int] | None:
    """Parse lengths of n-grams, such as 1-2, or none."""
    if given == "none":
        return None
    low, _, high = given.partition("-")
    lengths = int(low), int(high or low)
    if not 1 <= lengths[0] <= lengths[1]:
        raise ValueError(given)
    return lengths


def by_name(convert: Callable[[str], Any]) -> Callable[[str], Any]:
    """A parser of one value, or of values by name: 16, or distance=20,age=none."""

    def parse(given: str) -> Any:
        if "=" not in given:
            return convert(given)
        return {name: convert(value) for name, _, value in (one.rpartition("=") for one in given.split(","))}

    return parse


def bins_of(given: str) -> dict[str, Any]:
    """Parse numbers of bins, or none, for all columns or by name, as an argument of `table`."""
    if not given:
        return {}
    return {"bins": by_name(lambda n: None if n == "none" else int(n))(given)}


def existing(path: str) -> str:
    """Refuse a path of nothing, before the slow imports; URLs and patterns are looked at later."""
    if not is_url(path) and not any(sign in path for sign in "*?["):
        put_back(Path(path))  # if a command was killed while it replaced this store
        if not Path(path).exists():
            more = "; predict alone reads standard input: write the rows to a file" * (path == "-")
            raise click.BadParameter(f"there is no {path!r}{more}")
    return path


THERE = Parsed(existing)
NAMES = Parsed(lambda given: given.split(",") if given else None)
SCORINGS = Parsed(lambda given: given.split(","))
TRANSFORM = Parsed(steps_of)
LENGTHS = Parsed(lengths_of, "a range such as 1-2, or none")
BINS = Parsed(bins_of, "a number of bins or none, of all columns or by name: 16, or distance=20,age=none")


def rows_of(path: str, settings: dict[str, Any], keep_tokens: int | None = None) -> tuple[Any, dict[str, Any]]:
    """X as a path, a table of chosen columns or texts, and the keywords for labels, weights and groups."""
    y, weight, groups = (settings.get(name) for name in ("y", "weight", "groups"))
    of_groups = {} if groups is None else {"groups": groups}
    chosen = [name for name in TABLE_OPTIONS if settings.get(name)]
    if settings.get("labels"):
        not_taken = "y", "text", "weight", "n_features", "layer", *KINDS, *TABLE_OPTIONS
        refuse(not_taken, "is not for sequences, whose labels are --labels")
        from streamnb.encoding.sequences import sequences  # these are slow to import, and few rows need none

        options = {name: settings[name] for name in ("k", "both_strands", "n_threads")}
        return sequences(path, settings["labels"], **options), {}
    refuse_of_texts(settings)
    if settings["text"] is not None and not chosen:
        from streamnb.encoding.text import text

        how = {"keep_tokens": keep_tokens, **text_options(settings)}
        return text(path, settings["text"], y=y, weight=weight, **how), of_groups
    if not chosen:
        return path, {"y": y, "sample_weight": weight, **of_groups}
    from streamnb.encoding.table import table
    from streamnb.rows.table_opening import is_table

    if not is_table(path):
        raise click.BadParameter(f"{path!r} is no table, which --{chosen[0]} is of", param_hint="DATA")
    return table(path, y, weight=weight, groups=groups, **table_options(settings)), {}


def refuse_of_texts(settings: dict[str, Any]) -> None:
    """Refuse options of texts, and of hashed words or categories, where there are none."""
    if settings["text"] is None:
        refuse([*KINDS, "vocabulary"], "is for texts, which have --text")
        if not settings.get("hash"):
            refuse(["n_features"], "is for hashed words or categories, which have --text or --hash")


def table_options(settings: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `table` about columns."""
    options: dict[str, Any] = {"hashed": settings["hash"] or [], **(settings["bins"] or {})}
    options |= {name: settings[name] for name in ("columns", "drop") if settings[name]}
    if settings["text"] is not None:  # beside other columns
        options["text"] = {settings["text"]: {name: settings[name] for name in KINDS}}
        if settings["columns"]:
            options["columns"] = list(dict.fromkeys([*settings["columns"], settings["text"]]))
    if settings["n_features"]:
        options["hash_features"] = settings["n_features"]
    return options


def text_options(settings: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `text` about columns."""
    lengths = {name: settings[name] for name in KINDS}
    return lengths | ({"n_features": settings["n_features"]} if settings["n_features"] else {})


def saved(
    path: str, hint: str, who: str = "fit or search", kinds: tuple[type, ...] = (object,), read: Callable = load
) -> Any:
    """Load an object of one of these kinds from a file that the commands `who` write; `hint` names the argument."""
    if not is_url(path) and not _may_be_saved(Path(path)):
        raise click.BadParameter(f"{path!r} is no file that {who} wrote", param_hint=hint)
    loaded = read(path)
    if not isinstance(loaded, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise click.BadParameter(f"{path!r} holds a {type(loaded).__name__}, not a {names}", param_hint=hint)
    return loaded


def model_of(path: str, *others: type, read: Callable = load) -> Any:
    """A saved model, or an object of other kinds."""
    model = saved(path, "MODEL", read=read)
    if not hasattr(model, "predict") and not isinstance(model, others):
        raise click.BadParameter(f"{path!r} holds a {type(model).__name__}, which predicts nothing", param_hint="MODEL")
    return model


def _may_be_saved(path: Path) -> bool:
    """Whether a file starts like a zip file, as files of `save` do."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(2) == b"PK"


def new_file(path: str | None, force: bool, hint: str = "-o") -> Path | None:
    """The path of a new file, which may exist only with `force`; `hint` names the argument."""
    if is_url(path):
        raise click.BadParameter(f"{path!r} is a URL; this is written to a file on this machine", param_hint=hint)
    if path is not None and not force and Path(path).exists():
        raise click.BadParameter(f"{path!r} already exists; --force replaces it", param_hint=hint)
    if path is not None and not Path(path).absolute().parent.is_dir():
        raise click.BadParameter(f"there is no folder for {path!r}", param_hint=hint)
    return None if path is None else Path(path)


def new_place(path: str, force: bool, hint: str = "-o") -> Path | str:
    """The path of a new file, or its URL as a str; see `new_file`."""
    if not is_url(path):
        return Path(new_file(path, force, hint) or path)
    if not force and exists(path):
        raise click.BadParameter(f"{path!r} already exists; --force replaces it", param_hint=hint)
    return path


def given_names() -> list[str]:
    """The names of the parameters of the running command that were given, not left at their defaults."""
    context = click.get_current_context(silent=True)
    if context is None:
        return []
    return [name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]


def refuse(not_taken: Iterable[str], why: str) -> None:
    """Refuse options that were given and would have no effect."""
    for name in given_names():
        if name in not_taken:
            raise click.UsageError(f"--{'folds' if name == 'cv' else name.replace('_', '-')} {why}")


def is_folder(out: str) -> bool:
    """Whether parts are written: to a folder, or to a path or URL without a file extension."""
    return bool("://" in out or out.endswith("/") or Path(out).is_dir() or not Path(out).suffix)


def connected(client: str | None) -> Any:
    """The cluster whose scheduler has this address, while a command runs; None for this machine."""
    if client is None:
        return nullcontext()
    from streamnb.passes.dask_workers import connected

    return connected(client)


def parts_options(settings: dict[str, Any]) -> dict[str, Any]:
    """The options of `PARTS` as arguments of functions, and a progress bar."""
    return {**{name: settings[name] for name in ("text", "whole_files", "errors", "n_threads")}, "progress": True}


def in_options(message: str, command: click.Command | None) -> tuple[str, bool]:
    """A message about arguments in the words of a command, and whether it is about one that was given to it.

    Arguments of functions have the names of the options, but for those in `ARGUMENTS`.
    """
    from streamnb.core.row_checks import NO_LABELS

    parameters = [] if command is None else command.params
    named = {
        str(one.name): max(one.opts, key=len) if one.opts[0].startswith("-") else str(one.name).upper()
        for one in parameters
    }
    for argument, name in ARGUMENTS.items():
        if name in named:
            named.setdefault(argument, named[name])
    if message.startswith(NO_LABELS) and "y" in named:
        return "the labels are missing; --y names them", True
    if not named:
        return message, False
    any_name = "|".join(map(re.escape, named))
    of_use = re.match(rf"({any_name})[=:]", message) is not None
    if of_use:
        message = re.sub(rf"^({any_name}):", lambda found: f"{named[found[1]]}:", message)
    message = re.sub(rf"\bsnb\.\w+\(\.\., (({any_name})=[^()]*)\)", r"\1", message)
    parts = re.split(r"(\bsnb\.\w+\([^)]*\))", message)  # other calls of functions stay as they are
    parts[::2] = [_with_options(part, any_name, named) for part in parts[::2]]
    return "".join(parts), of_use


def _with_options(text: str, any_name: str, named: dict[str, str]) -> str:
    """A text with options in place of "name=value" and "name="."""
    text = re.sub(rf"(?<![\w.'-])({any_name})=(?=[\s,;.)]|$)", lambda found: named[found[1]], text)
    text = re.sub(rf"(?<![\w.'-])({any_name})=", lambda found: f"{named[found[1]]} ", text)
    text = re.sub(r"(--\w+) \[([^]]*)\]", lambda found: f"{found[1]} {found[2].replace(', ', ',')}", text)
    return re.sub(r"(--(?:words|chars|bytes)) \((\d+), (\d+)\)", r"\1 \2-\3", text.replace(" None", " none"))


def options(*more: Callable) -> Callable:
    """Several options as one decorator, in the given order."""

    def add(command: Callable) -> Callable:
        for option in reversed(more):
            command = option(command)
        return command

    return add


FORCE = click.option("--force", is_flag=True, help="Replace an existing file.")
SEED = click.option("--seed", type=int, default=0, show_default=True, help="Seed of the folds.")
THREADS = click.option("--threads", "n_threads", type=click.IntRange(1), help="Threads; as many as cores by default.")
SUMS_LIMIT = click.option("--memory-limit", help="Bytes for the sums, such as 4GB.")
CLIENT = click.option("--client", help="Address of a Dask scheduler whose workers read, such as tcp://host:8786.")
KEEP_STATS = click.option(
    "--stats/--no-stats", default=True, help="Keep statistics in the file of the model, for refit.  [default: stats]"
)
STEPS = options(
    click.option("--transform", type=TRANSFORM, help="Steps for each row, split at commas: log1p, or l1:10000,log1p."),
    click.option("--normalize", type=click.Choice(["l1", "l2"]), help="Divide each row by its length."),
)
NGRAMS = options(
    click.option(
        "--words", type=LENGTHS, default="1-1", show_default=True, help="Lengths of n-grams of words, or none."
    ),
    click.option("--chars", type=LENGTHS, help="Lengths of n-grams of characters: 3-5."),
    click.option("--bytes", type=LENGTHS, help="Lengths of n-grams of bytes: 1-4."),
)
ROWS = options(
    click.option("--y", help="Name of the labels stored with the rows, or of a column."),
    click.option("--weight", help="Name of the weights stored with the rows, or of a column."),
    click.option("--text", help="Field of texts, whose hashed words are features, alone or with --columns or --drop."),
    NGRAMS,
    click.option(
        "--n-features", type=click.IntRange(1), help="Number of columns for hashed words or categories, a power of two."
    ),
)
SEQUENCES = options(
    click.option("--labels", help="Labels of sequences in FASTA or FASTQ: a table of identifiers, or 'header'."),
    click.option("--k", type=click.IntRange(1, 12), default=7, show_default=True, help="Letters of a k-mer."),
    click.option("--both-strands", is_flag=True, help="Count a k-mer and its reverse complement together."),
)
OF_DATA = click.argument("data", type=THERE)
OF_MODEL = click.argument("model", type=THERE)
DATA = options(OF_DATA, ROWS, click.option("--layer", help="Layer of AnnData."))
TABLE = options(
    click.option(
        "--columns", type=NAMES, help="Columns of a table that are features, split at commas; all others by default."
    ),
    click.option("--drop", type=NAMES, help="Columns of a table that are no features: customer_id,comment."),
    click.option("--hash", type=NAMES, help="Columns of a table with categories to hash: tailnum,route."),
    click.option(
        "--bins",
        type=BINS,
        help="Number of bins of numeric columns, or none, for all columns or by name: distance=20,age=none.",
    ),
)
RUN = options(
    THREADS,
    click.option("--memory-limit", help="Bytes for sums and weights, such as 4GB."),
    CLIENT,
)
PARTS = options(
    click.option(
        "--errors",
        type=click.Choice(["strict", "skip"]),
        default="strict",
        help="Lines of a corpus that cannot be read: stop there, or leave them out and count them.",
    ),
    click.option("--whole-files", is_flag=True, help="Each file of a corpus is the text of one row."),
    THREADS,
)
MODEL = options(
    click.option("--family", default="multinomial", show_default=True, help="Distribution of each feature, or auto."),
    click.option("--penalty", default="l1:score", show_default=True, help=f"One of {PENALTIES}."),
    click.option("--scheme", type=click.Choice(["joint", "ovr", "ovo", "reference"]), default="joint"),
    STEPS,
    click.option("--idf", is_flag=True, help="Multiply features by their inverse frequency in rows."),
    click.option("--smoothing", type=float, help="Strength of the prior; that of the family by default."),
)
TASK = click.option(
    "--task",
    type=click.Choice(["classification", "regression"]),
    help="Whether y holds classes or numbers to predict; for search by default what it looks like, for sites classes.",
)
OFFSET = click.option("--offset", help="Column of logarithms of exposures, for models of counts and amounts.")
JUDGED = options(
    OFFSET,
    click.option("--groups", help="Column or array of groups whose rows are not independent, for intervals."),
    click.option("--by", type=NAMES, help="Columns by whose values rows are sliced, split at commas: hospital,age."),
    click.option("--positive", help="The class of two that precision, recall, curves and thresholds are of."),
)


def class_of(model: Any, label: str | None) -> Any:
    """The class of a model that is written so; anything else as it is, which is refused later."""
    return next((known for known in getattr(model, "classes_", []) if str(known) == label), label)


def new_file_option(what: str) -> Callable:
    """Options for the file that a command writes."""
    return options(click.option("-o", "out", required=True, help=what), FORCE)
