"""Lists of packages and files, fetched by apt into a folder of their own: nothing of the system is changed."""

import getpass
import subprocess


def fetched(folder, settings):
    """The folder with apt's lists, as plain text; empty where they cannot be had."""
    lists, cache = folder / "lists", folder / "cache"
    (lists / "partial").mkdir(parents=True)
    (cache / "archives" / "partial").mkdir(parents=True)
    settings = settings | {
        "Dir::State::Lists": lists,
        "Dir::Cache": cache,
        "Acquire::GzipIndexes": "false",
        "Acquire::Retries": 0,
        "APT::Sandbox::User": getpass.getuser(),  # who may write to this folder
    }
    command = ["apt-get", "update", "-qq", *(f"-o{name}={value}" for name, value in settings.items())]
    try:
        subprocess.run(command, check=False, timeout=300)
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        print(error)
    return lists
