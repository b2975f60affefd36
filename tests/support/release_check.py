"""What is to be released, as whoever installs it meets it: `make release-check`.

Wheel and sdist are built and looked at by twine. Each is then installed by itself in a clean environment of each of the
Pythons, where the first code of README is run and prints what README says.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE, SHOWN = re.search(
    r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL
).groups()


def run(*command, **options):
    return subprocess.run([*map(str, command)], check=True, **options)


def built(folder):
    """Wheel and sdist of what is committed or not, in a folder, as twine approves of them."""
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT, stdout=subprocess.DEVNULL)
    files = sorted(folder.iterdir())
    run(sys.executable, "-m", "twine", "check", "--strict", *files)
    return files


def check(python, file, folder):
    """Install a file in a clean environment, and use it there, far from the source."""
    run(python, "-m", "venv", folder)
    inside = folder / "bin" / "python"
    run(inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", file)
    run(inside, "-m", "pip", "check", stdout=subprocess.DEVNULL)
    printed = run(inside, "-c", CODE, cwd=folder, capture_output=True, text=True).stdout
    if printed != SHOWN:
        raise SystemExit(f"{python}, {file.name}: README's code prints\n{printed}instead of\n{SHOWN}")
    run(inside, "-c", "import importlib.metadata as m, streamnb; assert m.version('streamnb') == streamnb.__version__")
    print(f"{python}: {file.name} is installed, and does what README says", flush=True)


def main(pythons):
    with tempfile.TemporaryDirectory() as folder:
        files = built(Path(folder) / "dist")
        for python in pythons:
            for file in files:
                with tempfile.TemporaryDirectory() as place:
                    check(python, file, Path(place) / "env")


if __name__ == "__main__":
    main(sys.argv[1:] or [sys.executable])
