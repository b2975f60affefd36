"""Tables of results. A page has each of them between two comments, and is otherwise written by hand."""

import re
from collections.abc import Callable, Iterable, Iterator
from statistics import geometric_mean, mean
from typing import Any

from benchmarks.how_good.results import Results
from benchmarks.how_good.sets import DENSE, SPARSE, TABLE
from benchmarks.how_good.tools import OTHERS, OURS, SEARCH, TOOLS

METRICS = {
    "accuracy": "accuracy",
    "roc_auc": "AUC",
    "log_loss": "log loss",
    "calibration_error": "calibration error",
    "seconds": "CPU seconds",
}
OF_MEANS = METRICS | {"memory": "peak MiB"}
QUIET = 1.5  # load, the measurement before included
HIGHER = "accuracy", "roc_auc"  # is better
LOGISTIC, AS_GOOD = "LogisticRegression", 1.02  # times its log loss
SLACK = {"accuracy": 0.01, "roc_auc": 0.01, "log_loss": 0.02}  # that search may be behind the best of others
MEANS_ONLY = {*OURS, "GaussianNB", "MultinomialNB"} - {SEARCH, "AdditiveClassifier"}  # not in tables by set
KINDS = {TABLE: "tables of mixed columns", DENSE: "dense numbers", SPARSE: "sparse counts and categories"}
BLOCK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(page: str, results: Results) -> str:
    """The page with its tables as they are now."""
    return BLOCK.sub(lambda block: f"{block[1]}\n{TABLES[block[2]](results)}\n\n{block[3]}", page)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [[*head], *([*row] for row in rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def shown(metric: str, value: float | None) -> str:
    if value is None:
        return "-"
    if metric in ("seconds", "memory"):
        return f"{value:,.0f}" if value >= 10.0 else f"{value:.1f}"
    return f"{value:.3f}".removeprefix("0")


def told(found: dict[str, Any]) -> list[str]:
    """Figures of one tool on one set, for a line of progress."""
    return [found["failed"]] if "failed" in found else [f"{METRICS[m]} {shown(m, found[m])}" for m in METRICS]


def label(tool: str) -> str:
    return f"`{tool}`" if tool in OURS else tool


def figures(results: Results, name: str) -> dict[str, dict[str, Any]]:
    """What each tool came to on a set, in the order of tools, without those that failed."""
    found = results.found.get(name, {})
    return {tool: found[tool] for tool in TOOLS if tool in found and "failed" not in found[tool]}


def names_of(results: Results, kind: str) -> list[str]:
    return [name for name, about in results.sets.items() if about["kind"] == kind]


# ---- means -----------------------------------------------------------------------------------------------------------


def means(results: Results) -> str:
    rows, without = [], dict[str, list[str]]()  # models by the sets on which they were not measured
    for kind, what in KINDS.items():
        names = names_of(results, kind)
        first = f"{what}, {len(names)} sets"
        for tool in TOOLS:
            found = [figures(results, name).get(tool) for name in names]
            if any(found) and all(found):
                values = (shown(metric, mean(one[metric] for one in found)) for metric in OF_MEANS)
                rows.append([first, label(tool), *values])
                first = ""
            elif any(found):
                missing = ", ".join(name for name, one in zip(names, found) if not one)
                without.setdefault(missing, []).append(label(tool))
    left_out = "".join(f"\n- {', '.join(tools)}: not on {missing}" for missing, tools in without.items())
    left_out = f"\n\nSome have no mean, as they were not measured on all sets:\n{left_out}" if left_out else ""
    return table(["means of", "model", *OF_MEANS.values()], rows) + left_out


def measured(results: Results) -> str:
    """When, where and under what load."""
    found = [one for of_set in results.found.values() for one in of_set.values() if "load" in one]
    dates, loads = ([one[key] for one in found] for key in ("date", "load"))
    machines = " and on ".join(sorted({one["machine"] for one in found}))
    when = min(dates) if min(dates) == max(dates) else f"{min(dates)} to {max(dates)}"
    busy = sum(load >= QUIET for load in loads)
    beside = f"other work ran beside {busy} of {len(loads)} measurements" if busy else "nothing else ran"
    return (
        f"Measured on {when} on {machines}, one thread. The load of the machine was {min(loads):.1f} to "
        f"{max(loads):.1f} when measurements began: {beside}."
    )


# ---- sets ------------------------------------------------------------------------------------------------------------


def of_kind(kind: str) -> Callable[[Results], str]:
    """Of the metrics that search is judged by, a table of sets and tools; the best figure of a set is bold."""

    def tables(results: Results) -> str:
        names = names_of(results, kind)
        shown_tools = (tool for tool in TOOLS if tool not in MEANS_ONLY)
        tools = [tool for tool in shown_tools if any(tool in figures(results, name) for name in names)]
        parts = []
        for metric in SLACK:
            word = METRICS[metric]
            rows = ([name, *row(figures(results, name), tools, metric)] for name in names)
            parts.append(f"**{word[0].upper()}{word[1:]}**\n\n{table(['', *map(label, tools)], rows)}")
        return "\n\n".join([*parts, *failures(results, names)])

    return tables


def row(found: dict[str, dict[str, Any]], tools: list[str], metric: str) -> Iterator[str]:
    cells = [shown(metric, found[tool][metric]) if tool in found else "" for tool in tools]
    values = [found[tool][metric] for tool in tools if tool in found]
    best = shown(metric, max(values) if metric in HIGHER else min(values)) if values else None
    return (f"**{cell}**" if cell == best else cell for cell in cells)


def failures(results: Results, names: list[str]) -> list[str]:
    """What was not measured, and why."""
    return [
        f"{label(tool)} on {name}: {one['failed']}."
        for name in names
        for tool, one in results.found.get(name, {}).items()
        if "failed" in one
    ]


def sources(results: Results) -> str:
    rows = (
        [
            name,
            about["what"],
            f"{about['n_rows']:,} + {about['n_held_out']:,}",
            f"{about['n_columns']:,}",
            str(about["n_classes"]),
            about["fetch"] + (f", without {about['left_out']}" if "left_out" in about else ""),
        ]
        for kind in KINDS
        for name in names_of(results, kind)
        for about in [results.sets[name]]
    )
    return table(["set", "what", "rows + held out", "columns", "classes", "from"], rows)


def tools(results: Results) -> str:
    versions: dict[str, set[str]] = {}
    for name in results.found:
        for tool, one in figures(results, name).items():
            versions.setdefault(tool, set()).add(one["version"])
    rows = (
        [label(tool), f"{about.packages.split()[0]} {', '.join(sorted(versions[tool]))}", about.about]
        for tool, about in TOOLS.items()
        if tool in versions
    )
    return table(["model", "package", "how"], rows)


# ---- search beside the best of the others ----------------------------------------------------------------------------


def best_of_others(found: dict[str, dict[str, Any]], metric: str) -> str:
    pick = max if metric in HIGHER else min
    return pick((tool for tool in OTHERS if tool in found), key=lambda tool: found[tool][metric])


def lag(found: dict[str, dict[str, Any]], metric: str) -> float:
    """How far the search is behind the best of others, negative where it is ahead."""
    sign = 1.0 if metric in HIGHER else -1.0
    return sign * (found[best_of_others(found, metric)][metric] - found[SEARCH][metric])


def behind(results: Results) -> str:
    """How often search keeps up with the best of others, and each set on which it does not."""
    every = {name: figures(results, name) for kind in KINDS for name in names_of(results, kind)}
    every = {name: found for name, found in every.items() if SEARCH in found and {*found} & {*OTHERS}}
    if not every:
        return "`search` was not measured yet."
    lags = {name: {metric: lag(found, metric) for metric in SLACK} for name, found in every.items()}
    parts = []
    for metric, slack in SLACK.items():
        of_metric = [of_set[metric] for of_set in lags.values()]
        ahead, near = sum(value <= 0 for value in of_metric), sum(value <= slack for value in of_metric)
        parts.append(f"- {METRICS[metric]}: at least as good on {ahead}, within {slack:g} on {near}")
    told = f"`search` beside the best of the others for each metric, on {len(every)} sets:\n\n" + "\n".join(parts)
    told += f"\n\nThe best of our models on the rows held out is ahead of it by {regret(every):.4f} in mean accuracy."
    worse = [name for name in every if any(lags[name][metric] > slack for metric, slack in SLACK.items())]
    rows = ([name, *pairs(every[name], lags[name])] for name in sorted(worse, key=lambda n: -lags[n]["log_loss"]))
    head = [cell for metric in SLACK for cell in (f"{METRICS[metric]}: `search`", "best of others")]
    return f"{told}\n\n{table(['set', *head], rows)}" if worse else told


def regret(every: dict[str, dict[str, dict[str, Any]]]) -> float:
    best = {name: max(one["accuracy"] for tool, one in found.items() if tool in OURS) for name, found in every.items()}
    return mean(best[name] - found[SEARCH]["accuracy"] for name, found in every.items())


def beside_logistic(results: Results) -> str:
    """On how many sets the log loss of each model is about that of logistic regression, or lower."""
    every, rows = [figures(results, name) for kind in KINDS for name in names_of(results, kind)], []
    for tool in OURS:
        both = [found for found in every if tool in found and LOGISTIC in found]
        ratios = [found[tool]["log_loss"] / found[LOGISTIC]["log_loss"] for found in both]
        if ratios:
            n_good = sum(ratio <= AS_GOOD for ratio in ratios)
            rows.append([label(tool), f"{len(ratios)}", f"{n_good}", f"{geometric_mean(ratios):.2f}"])
    return table(["model", "sets", f"at most {AS_GOOD} times", "mean, times"], rows)


def pairs(found: dict[str, dict[str, Any]], lags: dict[str, float]) -> Iterator[str]:
    for metric, slack in SLACK.items():
        best = best_of_others(found, metric)
        other = f"{shown(metric, found[best][metric])} {best}"
        yield shown(metric, found[SEARCH][metric])
        yield f"**{other}**" if lags[metric] > slack else other


def chosen(results: Results) -> str:
    sets: dict[str, list[str]] = {}  # by what search chose on them
    for name in (name for kind in KINDS for name in names_of(results, kind)):
        if one := figures(results, name).get(SEARCH):
            sets.setdefault(one["chosen"], []).append(name)
    return table(["chosen by `search`", "on"], ([f"`{choice}`", ", ".join(names)] for choice, names in sets.items()))


TABLES: dict[str, Callable[[Results], str]] = {
    "means": means,
    "measured": measured,
    "behind": behind,
    "beside": beside_logistic,
    "chosen": chosen,
    **{kind: of_kind(kind) for kind in KINDS},
    "sources": sources,
    "tools": tools,
}
