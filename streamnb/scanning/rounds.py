"""Fits models in rounds: each pass over rows at several sites is answered by the sum of what the sites found.

A fit reads rows in passes, and all else follows from their totals. So each round begins the fit anew: it is given the
totals of earlier passes, asks for the next one, and is broken off there. A site begins it, too, and leaves the total of
its own rows in a file. The sum of these answers the pass, and when none is left the model is that of all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from inspect import signature
from operator import add
from typing import Any, Self

import numpy as np

from streamnb.core import messages, persistence
from streamnb.passes.contract import PassTask, Report, RunOptions
from streamnb.passes.passes import JointRead, TotalsOfRead
from streamnb.passes.run import run_here
from streamnb.passes.statistic import united
from streamnb.rows.source import Source
from streamnb.rows.splits import Folding
from streamnb.scanning.class_scan import ClassScan
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.columns import columns_of
from streamnb.stats.moment_sums import SECOND_MOMENTS
from streamnb.stats.row_sample import RowSample

GRADIENTS = {  # reads at weights, which other processors may round in another way, and what each round keeps of them
    "ReadTask": ("weights", "grid", "top", "step", "lengths", "class_weight"),
    "CurvedSums": ("weights", "folds", "unit", "bound", "top", "step", "every", "limits"),
}
AGREED = {  # by schemas, and how messages call it
    "sums": "way of summing, which is that of the version of streamnb: install the same everywhere",
    "task": "task",
    "offset": "offset",
    "declared": "declared classes",
    "n_features": "number of columns (where only some have missing values, give all bins=16, or bins=None for numbers)",
    "names": "names of columns",
    "moments": "moments",
    "options": "options",
    "folding": "folds",
    "sites": "sites",
}


@persistence.register
@dataclass(frozen=True, eq=False)
class Answer(persistence.Saved):
    """The total of one pass over the rows of one site, or of all sites.

    Attributes
    ----------
    asked : str
        The fingerprint of the round that it answers.
    task : str
        What was asked for.
    sites : dict of str to int
        The rows that each site read, by its name.
    total : Any
        Or its arrays by name.
    report : Report
    """

    asked: str
    task: str
    sites: dict[str, int]
    total: Any
    report: Report

    @classmethod
    def of(cls, asked: str, task: PassTask, sites: dict[str, int], total: Any, report: Report) -> Self:
        """The answer to a task."""
        total = task.packed(total)
        kept = total if persistence.registered(total) else dict(total.arrays())
        return cls(asked, task.name, sites, kept, report)

    def of_task(self, task: PassTask) -> Any:
        """The total; a copy, as some trainers change the sums of a read."""
        if self.task != task.name:
            raise ValueError(
                f"the answer is of {self.task}, and {task.name} was asked for; install one version everywhere"
            )
        total = deepcopy(self.total)
        try:
            return task.unpacked(total if persistence.registered(total) else task.total(total))
        except (KeyError, TypeError) as error:
            raise ValueError(f"the answer of {', '.join(self.sites)} is no total of {task.name}: {error!r}") from error

    def __repr__(self) -> str:
        return f"<Answer of {', '.join(self.sites)} to round {self.asked}: {self.task}, {self.report.rows:,} rows>"


class _Asked(Exception):
    """Ends a fit at a pass that has no answer yet; holds its task, rows and options.

    It is an exception, as `fit` of an estimator from outside may ask for passes by `drive`.
    """


def _gradient_of(task: Any) -> Any:
    """The task itself, or the statistic of its first pass, which may read a gradient."""
    return task.passes[0].statistic if isinstance(task, JointRead) else task


def _weights_of(task: Any) -> dict[str, Any]:
    """At which weights a task reads a gradient, and on which grid; empty if it reads none."""
    read = _gradient_of(task)
    return {
        name: getattr(read, name) for name in GRADIENTS.get(type(read).__name__, ()) if getattr(read, name) is not None
    }


def _at_weights(task: Any, weights: dict[str, Any]) -> Any:
    """A task at the weights of a round, which should have the shapes that it expects, as kernels rely on it."""
    asked, given = (
        {name: (np.asarray(value).dtype.str, np.shape(value)) for name, value in each.items()}
        for each in (_weights_of(task), weights)
    )
    if asked != given:
        raise ValueError(f"the round has weights of the forms {given}, and its read asks for {asked}")
    read = replace(_gradient_of(task), **weights)
    if not isinstance(task, JointRead):
        return read
    first, *others = task.passes
    return replace(task, passes=(replace(first, statistic=read), *others))


def check_sums(task: PassTask) -> None:
    """Refuse a pass that would copy rows out of their site."""
    partial: Any = task.partial()
    parts = partial.parts if isinstance(partial, TotalsOfRead) else [[partial]]
    if any(isinstance(each, RowSample) or getattr(each, "sample", None) is not None for part in parts for each in part):
        raise ValueError(
            f"{task.title}: a sample of the rows is kept, which would leave their sites; use a model without it, such "
            "as one without calibration"
        )


def _as_scanned(task: ClassScan, stats: ClassStats) -> ClassStats:
    """The sums of an earlier scan, after checks that they are what this scan needs."""
    if {*task.together} or (task.how.pooled and {*task.moments} & {*SECOND_MOMENTS}):
        raise ValueError("the model sums some moments over all classes together, so begin with fit of the schema")
    missing = {*task.moments} - {*stats.moments}
    if missing:
        raise ValueError(f"the sums lack the moment {min(missing)!r}; name it in moments= of the schema")
    for name, ours in vars(stats.options).items():
        theirs = getattr(task.options, name)
        if ours != theirs:
            raise ValueError(
                f"{name}={theirs!r} is applied in the scan, and the sums were scanned with {name}={ours!r}; name it in "
                "the schema, or begin with fit of the schema"
            )
    if task.folding is None:
        return replace(stats, folds=(), folding=None)
    if task.folding != stats.folding:
        raise ValueError(
            f"the sums have the folds {stats.folding}, and the model asks for {task.folding}; name folds= and seed= "
            "in the schema, or sites="
        )
    return stats


@persistence.register
@dataclass(frozen=True, eq=False)
class Round(persistence.Saved):
    """A fit that waits for a pass over the rows of all sites; `read` at each of them answers it.

    Attributes
    ----------
    schema : Schema
    estimators : tuple of (str, dict)
        The class and parameters of what is fitted; of several, the one with the best score on held-out rows is kept.
    scanned : ClassStats or None
        The sums from which the fit began.
    sites : dict of str to (int or None)
        Those that should answer, and the rows that each read before; empty before the first answers, if the schema
        names no sites.
    answers : tuple of Answer
        To earlier rounds, each of all sites.
    asks : str
        The task of the pass, such as "ReadTask".
    weights : dict or None
        Where it reads a gradient: at which weights, and on which grid it is rounded.
    fingerprint : str
        By which answers know their round.
    """

    schema: Any
    estimators: tuple[tuple[str, dict[str, Any]], ...]
    scanned: ClassStats | None = None
    sites: dict[str, int | None] = field(default_factory=dict)
    answers: tuple[Answer, ...] = ()
    asks: str = ""
    weights: dict[str, Any] | None = None

    @cached_property
    def fingerprint(self) -> str:
        return persistence.digest(self)

    def __repr__(self) -> str:
        names = ", ".join(name for name, _ in self.estimators)
        return f"<Round {len(self.answers) + 1} of {names}, {self.fingerprint}: asks for {self.asks}>"

    def read(
        self,
        X: Any,
        y: Any = None,
        *,
        site: str | None = None,
        sample_weight: Any = None,
        offset: Any = None,
        progress: bool | None = None,
        n_threads: int | None = None,
        memory_limit: Any = None,
    ) -> Answer:
        """Read the rows of one site for what this round asks.

        Parameters
        ----------
        X, y, site, sample_weight, progress, n_threads, memory_limit
            As for `Schema.scan`.
        offset : (n_rows,), optional
            Of a schema with offsets; by default the column that it names.

        Returns
        -------
        Answer
            To be given to `step`, with those of the other sites.

        Raises
        ------
        ValueError, TypeError
            An argument is wrong, rows do not fit the schema, or the round needs no rows any more.
        DataError
            Rows cannot be read.
        """
        rows = self.schema.rows(X, y, sample_weight, site, offset)
        run = {"progress": progress, "n_threads": n_threads, "memory_limit": memory_limit, "keep": "no"}
        asked, _ = self._next(rows, **run)
        if asked is None:
            raise ValueError("this round asks for nothing; it is complete")
        task, bare, options = asked
        if self.weights is not None:  # another processor may round what follows from earlier sums in another way
            task = _at_weights(task, self.weights)
        bare = bare.wanted(True, 0)
        bare.sites = None
        total, report = run_here(task, bare, options)
        rows.warn_of_outside()
        answer = Answer.of(self.fingerprint, task, {}, total, report)
        return replace(answer, sites={persistence.digest(answer.total) if site is None else site: report.rows})

    def merge(self, *answers: Answer) -> Answer:
        """The answer of several sites together.

        Raises
        ------
        ValueError
            An answer is of another round, such as a gradient at other weights; or a site is there twice, or read
            another number of rows than before.
        """
        asked, _ = self._next(self.schema.rows_elsewhere())
        if asked is None or not answers:
            raise ValueError("a round goes on with the answers of sites, and got none")
        sites: dict[str, int] = {}
        for answer in answers:
            self._check(answer)
            for name, n_rows in answer.sites.items():
                before = self.sites.get(name)
                if name in sites:
                    raise ValueError(f"site {name!r} answers twice; give the answer of each site once")
                if before not in (None, n_rows):
                    raise ValueError(
                        f"site {name!r} read {n_rows:,} rows, and {before:,} before; each round reads the same rows"
                    )
                sites[name] = n_rows
        task = asked[0]
        total = reduce(add, [answer.of_task(task) for answer in answers])
        report = reduce(add, [answer.report for answer in answers])
        return Answer.of(self.fingerprint, task, sites, total, report)

    def step(self, *answers: Answer) -> Any:
        """Go on with the answers of all sites: to the next round or, where no pass is left, to the fitted model.

        Raises
        ------
        ValueError
            As for `merge`; or a site of the schema or of earlier rounds is missing, or one is new.
        """
        merged = self.merge(*answers)
        odd = sorted({*self.sites} ^ {*merged.sites}) if self.sites else []
        if odd:
            what = "is missing" if odd[0] in self.sites else "is new"
            raise ValueError(f"site {odd[0]!r} {what}; the sites of this fit are {', '.join(self.sites)}")
        return replace(self, sites={**merged.sites}, answers=(*self.answers, merged)).advanced()

    def advanced(self) -> Any:
        """The round with the pass that it asks for; the fitted model where no pass is left."""
        bare = replace(self, asks="", weights=None)
        asked, fitted = bare._next(self.schema.rows_elsewhere())
        if asked is None:
            return fitted
        return replace(bare, asks=asked[0].name, weights=_weights_of(asked[0]) or None)

    def _next(self, rows: Source, **run: Any) -> tuple[Any, Any]:
        """The task, rows and options of the next pass, and None; or None, and the best of the fitted estimators."""
        rows.sites = self._answers()
        fitted = []
        for estimator in self._estimators():
            known = signature(estimator.fit).parameters
            given = {"classes": self.schema.classes, "offset": self.schema.offset, **run}
            try:
                fitted.append(estimator.fit(rows, **{name: value for name, value in given.items() if name in known}))
            except _Asked as asked:
                return asked.args, None
        return None, fitted[0] if len(fitted) == 1 else max(fitted, key=lambda one: one.best_score_)

    def _answers(self) -> Callable[[PassTask, Source, RunOptions], tuple[Any, Report]]:
        """A function that answers passes: scans by `scanned`, if there is one, others by `answers`, in their order.

        At the first pass that has no answer it raises `_Asked`.
        """
        answers = iter(self.answers)

        def answer(task: PassTask, rows: Source, options: RunOptions) -> tuple[Any, Report]:
            if self.scanned is not None and isinstance(task, ClassScan):
                return _as_scanned(task, self.scanned), Report(rows=self.scanned.n_rows)
            known = next(answers, None)
            if known is not None:
                return known.of_task(task), known.report
            check_sums(task)
            raise _Asked(task, rows, options)

        return answer

    def _estimators(self) -> list[Any]:
        """The estimators, not fitted yet."""
        try:
            made = [persistence.registered_class(name)(**params) for name, params in self.estimators]
        except (TypeError, KeyError) as error:
            raise ValueError(f"the round is of an estimator that there is not here: {error}") from error
        if not all(hasattr(one, "get_params") for one in made):
            raise ValueError(f"the round should be of estimators, and has {', '.join(n for n, _ in self.estimators)}")
        return made

    def _check(self, answer: Any) -> None:
        if not isinstance(answer, Answer):
            raise TypeError(f"a round goes on with answers, as `read` returns them, and got {type(answer).__name__}")
        if answer.asked != self.fingerprint:
            what = "a gradient at other weights" if self.weights and answer.task == self.asks else answer.task
            raise ValueError(
                f"the answer of {', '.join(answer.sites)} is {what}: it answers round {answer.asked}, and this one is "
                f"{self.fingerprint}; read the rows with its file"
            )

    def _check_loaded(self) -> None:
        if type(self.schema).__name__ != "Schema":
            raise ValueError("a round should have a schema")
        self._estimators()  # raises where a file has others


def begun(schema: Any, estimators: Sequence[Any], scanned: ClassStats | None = None, sites: Any = None) -> Any:
    """A fit by a schema, up to the first pass that has no answer: a `Round`, or the fitted estimator.

    `sites` are the rows of each, by name, where they are known.
    """
    if not estimators:
        raise TypeError("fit takes one estimator or more, such as snb.LinearNB(), and got none")
    for one in estimators:
        if not persistence.registered(one) or not hasattr(one, "get_params"):
            raise TypeError(
                f"fit takes estimators of streamnb, not fitted, and got {one!r:.100}; a class of your own needs "
                "get_params, and @register of streamnb.core.persistence"
            )
        params = one.get_params()
        kept = [f"{name}={params[name]!r}" for name in ("calibration", "resolutions") if params.get(name) is not None]
        if kept:
            raise ValueError(
                f"{kept[0]} of {type(one).__name__} keeps a sample of the rows, which would leave their sites; "
                "calibrate by rows that may be read, and in place of an additive model use snb.SoftmaxRegressionCV or "
                "snb.PoissonRegressorCV, of a schema with bins=16"
            )
        schema.check_predicts(one)
        if len(estimators) > 1 and not hasattr(one, "scoring"):
            raise TypeError(f"of several estimators each should score itself on held-out rows, as {one!r} does not")
    named_estimators = tuple((type(one).__name__, one.get_params(deep=False)) for one in estimators)
    named = dict.fromkeys(schema.sites) if sites is None else dict(sites)
    return Round(schema.without_counts(), named_estimators, scanned, named).advanced()


# ---- sums of sites ---------------------------------------------------------------------------------------------------


@persistence.register
@dataclass(frozen=True)
class Site(persistence.Parameters):
    """What a site has read: rows, rows and values outside of the schema, and the fingerprint of its sums."""

    rows: int
    outside: int
    levels: dict[str, int]
    fingerprint: str

    def __add__(self, other: Site) -> Site:
        """The site with further rows."""
        fingerprint = "+".join(sorted(f"{self.fingerprint}+{other.fingerprint}".split("+")))
        levels = united(self.levels, other.levels)
        return Site(self.rows + other.rows, self.outside + other.outside, levels, fingerprint)


@persistence.register
@dataclass(frozen=True, eq=False)
class SiteSums(persistence.Saved):
    """The sums of the rows of one or several sites; those of different sites add.

    Attributes
    ----------
    schema : Schema
    sites : dict of str to Site
        By name: `rows`, rows `outside` of the classes, values of categories outside by column in `levels`.
    stats : ClassStats
        The sums, with folds: those of the schema, or the sites themselves once all of these are there.
    """

    schema: Any
    sites: dict[str, Site]
    total: ClassStats
    by_site: dict[str, ClassStats]

    @property
    def stats(self) -> ClassStats:
        names, encoding = self.schema.sites, columns_of(self.schema.encoding, self.schema.names)
        total = replace(self.total, encoding=encoding)
        if not names or {*names} != {*self.by_site}:
            return total
        folds = tuple(self.by_site[name] for name in names)
        return replace(total, folds=folds, folding=folding_of_sites(names))

    @property
    def missing(self) -> list[str]:
        """The sites of the schema that are not there yet."""
        return [name for name in self.schema.sites if name not in self.by_site]

    def fit(self, *estimators: Any) -> Any:
        """The estimator, fitted to the rows of all sites from their sums; a `Round` if it has to read the rows, too.

        Penalties are judged in one such round, on the folds of these sums. Of several estimators, such as `LinearNBCV`
        with different families, each takes a round, and the one with the best score on held-out rows is kept.

        Parameters
        ----------
        *estimators : estimators of streamnb, not fitted

        Returns
        -------
        estimator or Round

        Raises
        ------
        ValueError
            The sums of a site that is a fold are missing.
        """
        if self.missing:
            raise ValueError(f"the sums of site {self.missing[0]!r} are missing, which is a fold by the schema")
        return begun(self.schema, estimators, self.stats, {name: site.rows for name, site in self.sites.items()})

    def __repr__(self) -> str:
        sites = ", ".join(f"{name} {site.rows:,}" for name, site in self.sites.items())
        return f"<SiteSums by schema {self.schema.fingerprint}: {sites} rows; {self.total!r}>"

    def __add__(self, other: SiteSums) -> SiteSums:
        if not isinstance(other, SiteSums):
            return NotImplemented
        check_one_schema(self.schema, other.schema)
        for name, site in other.sites.items():
            same = [known for known, each in self.sites.items() if each.fingerprint == site.fingerprint]
            if same:
                messages.warn(f"site {name!r} has the same sums as {same[0]!r}: is it there twice? Both are counted")
            elif name in self.sites:
                messages.warn(f"site {name!r} is there twice, with different sums; both are counted")
        sites, by_site = united(self.sites, other.sites), united(self.by_site, other.by_site)
        return SiteSums(self.schema, sites, self.total + other.total, by_site)

    def __radd__(self, other: Any) -> Any:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # so that sum() works

    def _check_loaded(self) -> None:
        schema, stats = self.schema, self.total
        if type(schema).__name__ != "Schema":
            raise ValueError(f"schema is of type {type(schema).__name__}")
        if stats.n_features != schema.n_columns or not np.array_equal(stats.classes, schema.classes):
            raise ValueError("the sums should have the columns and classes of their schema")


def folding_of_sites(names: tuple[str, ...]) -> Folding | None:
    """The folding in which each of the named sites is a fold, if any are named."""
    return Folding(len(names), by="given", names=names) if names else None


def check_one_schema(ours: Any, theirs: Any) -> None:
    """Refuse two schemas that differ; the message says how."""
    schemas = f"the schemas {ours.fingerprint} and {theirs.fingerprint}"
    for name, words in AGREED.items():
        one, other = getattr(ours, name), getattr(theirs, name)
        if persistence.digest(one) != persistence.digest(other):
            raise ValueError(f"{schemas} differ in their {words}: {one!r:.200} and {other!r:.200}")
    if ours.fixed is not None and (what := ours.fixed.differs(theirs.fixed)):
        raise ValueError(f"{schemas} make other columns: {what}. Scan every site with the same schema file")
