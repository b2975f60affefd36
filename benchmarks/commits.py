"""Compares commits by the benchmarks of asv: two in a table of what has changed, or many in a table of their history.

The benchmarks are those of the working tree, for every commit. Commits take turns, so that a change of the machine's
load falls on all of them.
"""

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / ".asv" / "results"
SAMPLES = ("rounds=1", "repeat=(2,5,1.0)", "warmup_time=0.1")
# Of each part one benchmark, with one set of parameters: a scan, what follows it, models of several reads, files.
HISTORY = "|".join(
    (
        r"bench_scan\.Sparse\.time_scan\('zipf', 16384, 20\)",
        r"bench_scan\.Dense\.time_scan\('float32', 1000, 100\)",
        r"bench_models\.Solve\.time_solve\('poisson', 20, 100\)",
        r"bench_models\.Choice\.time_fit\(2, 50\)",
        r"bench_models\.Score\.time_predict\('joint', 100\)",
        r"bench_models\.File\.time_load\(100\)",
        r"bench_reads\.Reads\.time_fit\('SoftmaxRegression', 20\)",
        r"bench_sources\.Table\.time_fit\('parquet'\)",
        r"bench_sources\.Text\.time_fit",
    )
)


def git(*arguments: str) -> str:
    return subprocess.run(["git", "-C", ROOT, *arguments], check=True, capture_output=True, text=True).stdout.strip()


def environment(tree: Path) -> dict[str, str]:
    """Variables under which asv measures the package in a folder; it drops PYTHONPATH."""
    return {**os.environ, "ASV_PYTHONPATH": f"{tree}{os.pathsep}{ROOT}"}


def asv(command: str, *arguments: str, tree: Path = ROOT, output: int | None = None) -> None:
    """Run a command of asv in the folder of the benchmarks; a benchmark that fails is shown, and the others go on."""
    where = {"cwd": ROOT / "benchmarks", "env": environment(tree)}
    subprocess.run([sys.executable, "-m", "asv", command, *arguments], stdout=output, **where)


def measure(commits: list[str], pattern: str, rounds: int) -> None:
    """Measure the package of each commit, in turns; results are kept in .asv/results."""
    asv("machine", "--yes", output=subprocess.DEVNULL)
    commits = list(dict.fromkeys(commits))  # one that is compared with itself is measured once
    attributes = [part for sample in SAMPLES for part in ("--attribute", sample)]
    with tempfile.TemporaryDirectory() as folder:
        for commit in commits:
            tree = Path(folder) / commit
            tree.mkdir()
            archive = subprocess.run(
                ["git", "-C", ROOT, "archive", commit, "streamnb"], check=True, capture_output=True
            )
            subprocess.run(["tar", "-x", "-C", tree], input=archive.stdout, check=True)
        for number in range(rounds):
            for commit in commits:
                again = "--append-samples" if number else "--record-samples"
                known = ["--python=same", "--set-commit-hash", commit, "--bench", pattern]
                asv("run", *known, *attributes, again, tree=Path(folder) / commit)


def history(commits: list[str]) -> str:
    """A table of benchmarks with a column for each commit: the least of all samples, in milliseconds."""
    from asv.results import iter_results  # tests read this module where asv is not installed

    found: dict[str, dict[str, float]] = {}  # by benchmark with its parameters, and by commit
    for results in iter_results(str(RESULTS)):
        if results.commit_hash in commits:
            for name in results.get_all_result_keys():
                given = results.get_result_params(name)
                samples = results.get_result_samples(name, given)
                for values, taken in zip(itertools.product(*given), samples, strict=True):
                    if taken and ".time_" in name:
                        row = f"{name.partition('.')[2]}({', '.join(values)})".removesuffix("()")
                        found.setdefault(row, {})[results.commit_hash] = 1000.0 * min(taken)
    dates = [git("show", "-s", "--format=%cs", commit) for commit in commits]
    head = ["milliseconds", *(f"{date} `{commit[:8]}`" for date, commit in zip(dates, commits, strict=True))]
    lines = [head, ["---"] * len(head)]
    for name, of_commit in sorted(found.items()):
        lines.append([f"`{name}`", *(f"{of_commit[c]:,.3g}" if c in of_commit else "-" for c in commits)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.commits", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    two = commands.add_parser("compare", help="two commits, in a table of what has changed")
    two.add_argument("base")
    two.add_argument("head", nargs="?", default="HEAD")
    two.add_argument("--factor", type=float, default=1.1, help="smaller changes are left out (default %(default)g)")
    many = commands.add_parser("history", help="commits of the history, in a table with a column for each")
    many.add_argument("number", type=int, nargs="?", default=10)
    many.add_argument("--every", type=int, default=1, help="take one commit of so many (default %(default)d)")
    many.add_argument("--last", default="HEAD", help="the last of the commits (default %(default)s)")
    for command, pattern in ((two, "."), (many, HISTORY)):
        command.add_argument("--bench", default=pattern, help="a regular expression of benchmarks")
        command.add_argument("--rounds", type=int, default=2, help="turns of each commit (default %(default)d)")
    options = parser.parse_args(arguments)
    if options.command == "compare":
        commits = [git("rev-parse", name) for name in (options.base, options.head)]
        measure(commits, options.bench, options.rounds)
        asv("compare", "--factor", str(options.factor), "--split", *commits)
        return
    listed = git("log", "--first-parent", "--format=%H", f"--max-count={options.number * options.every}", options.last)
    commits = listed.splitlines()[:: options.every][::-1]
    measure(commits, options.bench, options.rounds)
    print(history(commits))


if __name__ == "__main__":
    main()
