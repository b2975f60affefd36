"""The sums of one or several sites, with the schema by which they were scanned."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from streamnb.core import messages, persistence
from streamnb.rows.splits import Folding
from streamnb.sharing.rounds import begun
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.columns import columns_of


def _both(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    """The union of two dicts, in which values of the same name are added."""
    return ours | {name: ours[name] + part if name in ours else part for name, part in theirs.items()}


@persistence.register
@dataclass(frozen=True)
class Site(persistence.Parameters):
    """What a site has read: rows, rows and values outside of the schema, and the fingerprint of its sums."""

    rows: int
    outside: int
    levels: dict[str, int]
    fingerprint: str

    def followed_by(self, other: Site) -> Site:
        """The site with further rows; the fingerprint tells their order."""
        fingerprint = persistence.digest([self.fingerprint, other.fingerprint])
        levels = _both(self.levels, other.levels)
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
        by_site = _both(self.by_site, other.by_site)
        sites = self.sites | other.sites
        for name in self.sites.keys() & other.sites.keys():
            sites[name] = self.sites[name].followed_by(other.sites[name])
        return SiteSums(self.schema, sites, self.total + other.total, by_site)

    def __radd__(self, other: Any) -> Any:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # so that sum() works

    def _check_loaded(self) -> None:
        check_schema(self.schema, self.total)


def folding_of_sites(names: tuple[str, ...]) -> Folding | None:
    """The folding in which each of the named sites is a fold, if any are named."""
    return Folding(len(names), by="given", names=names) if names else None


def check_schema(schema: Any, stats: ClassStats) -> None:
    """Refuse statistics that do not fit a schema."""
    if type(schema).__name__ != "Schema":
        raise ValueError(f"schema is of type {type(schema).__name__}")
    if stats.n_features != schema.n_columns or not np.array_equal(stats.classes, schema.classes):
        raise ValueError("the sums should have the columns and classes of their schema")


def check_one_schema(ours: Any, theirs: Any) -> None:
    """Refuse two schemas that differ; the message says how."""
    if ours.fingerprint == theirs.fingerprint:
        return
    if ours.sums != theirs.sums:
        what = "were made by versions of streamnb that sum in different ways: install the same one at all sites"
    elif ours.classes.tolist() != theirs.classes.tolist():
        what = f"have the classes {messages.listed(ours.classes)} and {messages.listed(theirs.classes)}"
    elif ours.n_columns != theirs.n_columns:
        what = f"have {ours.n_columns:,} and {theirs.n_columns:,} columns"
    elif ours.encoding is not None and theirs.encoding is not None and ours.encoding.differs(theirs.encoding):
        what = f"make other columns: {ours.encoding.differs(theirs.encoding)}"
    else:
        names = ("names", "moments", "options", "folding", "sites")
        odd = next((name for name in names if getattr(ours, name) != getattr(theirs, name)), "encoding")
        what = f"differ in their {odd}: {getattr(ours, odd)!r:.200} and {getattr(theirs, odd)!r:.200}"
    raise ValueError(
        f"the schemas {ours.fingerprint} and {theirs.fingerprint} {what}. Scan every site with the same schema file"
    )
