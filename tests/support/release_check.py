"""What is to be released, as whoever installs it meets it: `make release-check`.

Wheel and sdist are built and looked at by twine. Each is then installed by itself in a clean environment of each of the
Pythons, where the code of README is run and prints what README says. Beside the wheel each extra is installed,
alone, and what it is for is done.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support import object_store
from tests.support.uses_of_extras import USES

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
EXTRAS = re.search(r'pip install "streamnb(\[.*?\])"', README)[1]  # that README's examples need
CODE, SHOWN = ("".join(part) for part in zip(*BLOCKS, strict=True))


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
    install(inside, file)
    before = packages(inside)
    install(inside, f"{file}{EXTRAS}")
    run(inside, "-P", ROOT / "examples" / "readme_data.py", cwd=folder)
    printed = run(inside, "-c", CODE, cwd=folder, capture_output=True, text=True).stdout
    if printed != SHOWN:
        raise SystemExit(f"{python}, {file.name}: README's code prints\n{printed}instead of\n{SHOWN}")
    run(inside, "-c", "import importlib.metadata as m, streamnb; assert m.version('streamnb') == streamnb.__version__")
    uninstall_others(inside, before)
    print(f"{python}: {file.name} is installed, and does what README says", flush=True)
    return inside


def install(inside, what):
    run(inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", what)
    run(inside, "-m", "pip", "check", stdout=subprocess.DEVNULL)


def packages(inside):
    """Those in an environment, by name, with their versions."""
    listed = run(inside, "-m", "pip", "freeze", "--all", "--exclude", "streamnb", capture_output=True, text=True)
    return dict(line.split("==") for line in listed.stdout.split())


def uninstall_others(inside, before):
    """Leave the environment as it was."""
    if others := packages(inside).keys() - before.keys():
        run(inside, "-m", "pip", "uninstall", "--quiet", "--yes", *others)


def check_extra(inside, wheel, extra):
    """Install an extra beside the wheel, do what it is for, and leave the environment as it was."""
    before = packages(inside)
    install(inside, f"{wheel}[{extra}]")
    after = packages(inside)
    if any(after[name] != version for name, version in before.items()):
        raise SystemExit(f"{wheel.name}[{extra}] wants other packages than {wheel.name}: {before} became {after}")
    use = Path(__file__).with_name("uses_of_extras.py")
    with tempfile.TemporaryDirectory() as place, object_store.running("rows") as server:
        keys = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "tests")
        s3 = {**keys, "AWS_DEFAULT_REGION": "us-east-1", "AWS_ENDPOINT_URL": server.url}
        run(inside, "-P", use, extra, cwd=place, env={**os.environ, **s3})
    uninstall_others(inside, before)
    print(f"{inside}: streamnb[{extra}] is enough for what it is for", flush=True)


def main(pythons):
    with tempfile.TemporaryDirectory() as folder:
        files = built(Path(folder) / "dist")
        for python in pythons:
            for file in files:
                with tempfile.TemporaryDirectory() as place:
                    inside = check(python, file, Path(place) / "env")
                    if file.suffix == ".whl":
                        for extra in USES:
                            check_extra(inside, file, extra)


if __name__ == "__main__":
    main(sys.argv[1:] or [sys.executable])
