"""Compares commits by the benchmarks of asv: two in a table of what has changed, or many in a table of their history.

The benchmarks are those of the working tree, for every commit. Commits take turns, so that a change of the machine's
load falls on all of them.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / ".asv" / "results"
SAMPLES = ("rounds=1", "repeat=(2,5,1.0)", "warmup_time=0.1")
HISTORY = r"bench_models\.(Solve|Choice|Score)\."


def git(*arguments: str) -> str:
    return subprocess.run(["git", "-C", ROOT, *arguments], check=True, capture_output=True, text=True).stdout.strip()


def asv(command: str, *arguments: str, path: str = "", output: int | None = None) -> None:
    """Run a command of asv in the folder of the benchmarks; a benchmark that fails is shown, and the others go on."""
    environment, folder = {**os.environ, "PYTHONPATH": path}, ROOT / "benchmarks"
    subprocess.run([sys.executable, "-m", "asv", command, *arguments], cwd=folder, env=environment, stdout=output)


def measure(commits: list[str], pattern: str, rounds: int) -> None:
    """Measure the package of each commit, in turns; results are kept in .asv/results."""
    asv("machine", "--yes", output=subprocess.DEVNULL)
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
                again = ["--append-samples"] if number else []
                known = ["--python=same", "--set-commit-hash", commit, "--bench", pattern]
                asv("run", *known, *attributes, *again, path=os.pathsep.join([str(Path(folder) / commit), str(ROOT)]))


def history(commits: list[str]) -> str:
    """A table of the benchmarks that all commits have, with the seconds of each commit beside the first."""
    from asv.results import iter_results  # tests read this module where asv is not installed

    found: dict[str, dict[str, float]] = {}  # seconds of all parameters together, by benchmark and commit
    for results in iter_results(str(RESULTS)):
        if results.commit_hash in commits:
            for name in results.get_all_result_keys():
                values = [value for value in results.get_result_value(name, results.get_result_params(name)) if value]
                if values and name.rpartition(".")[2].startswith("time_"):
                    found.setdefault(name, {})[results.commit_hash] = sum(values)
    dates = [git("show", "-s", "--format=%cs", commit) for commit in commits]
    head = ["benchmark, seconds", *(f"{date} `{commit[:8]}`" for date, commit in zip(dates, commits, strict=True))]
    lines = [head, ["---"] * len(head)]
    for name, of_commit in sorted(found.items()):
        lines.append([f"`{name}`", *(f"{of_commit[c]:.3f}" if c in of_commit else "-" for c in commits)])
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
    for command, pattern in ((two, "."), (many, HISTORY)):
        command.add_argument("--bench", default=pattern, help="a regular expression of benchmarks")
        command.add_argument("--rounds", type=int, default=2, help="turns of each commit (default %(default)d)")
    options = parser.parse_args(arguments)
    if options.command == "compare":
        commits = [git("rev-parse", name) for name in (options.base, options.head)]
        measure(commits, options.bench, options.rounds)
        asv("compare", "--factor", str(options.factor), "--split", *commits)
        return
    listed = git("log", "--format=%H", f"--max-count={options.number * options.every}").splitlines()
    commits = listed[:: options.every][::-1]
    measure(commits, options.bench, options.rounds)
    print(history(commits))


if __name__ == "__main__":
    main()
