"""A PostgreSQL server of its own for tests that need one, where Debian's package is installed."""

import atexit
import os
import shutil
import subprocess
import tempfile
from functools import cache
from io import StringIO
from pathlib import Path

import pandas as pd

FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
POSTGRES = FOLDERS[-1] if FOLDERS and shutil.which("psql") else None
TYPES = {"b": "boolean", "i": "bigint", "f": "double precision", "M": "timestamp", "O": "text"}


def _run(folder, *command):
    """Run a program of the server's, which refuses to be started by root."""
    as_user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    subprocess.run([*as_user, POSTGRES / command[0], "-D", folder / "data", *command[1:]], check=True, stdout=-3)


@cache
def server():
    """The folder of the socket of a server that ends with this process."""
    folder = Path(tempfile.mkdtemp())
    if os.getuid() == 0:
        shutil.chown(folder, "postgres")
    _run(folder, "initdb", "-A", "trust", "-U", "postgres", "--no-sync")
    _run(folder, "pg_ctl", "-o", f"-k {folder} -c listen_addresses= -c fsync=off", "-w", "-l", folder / "log", "start")
    atexit.register(shutil.rmtree, folder)
    atexit.register(_run, folder, "pg_ctl", "-m", "immediate", "stop")
    return folder


def _written(value):
    """A value as COPY reads it."""
    return "\\N" if pd.isna(value) else str(value).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def answer_of_postgres(query, rows):
    """The result of a query over the table "rows"."""
    names = [f'''"{name.replace('"', '""')}"''' for name in rows]
    columns = ", ".join(f"{name} {TYPES[rows[given].dtype.kind]}" for name, given in zip(names, rows, strict=True))
    lines = "".join("\t".join(map(_written, row)) + "\n" for row in rows.itertuples(index=False))
    script = f"CREATE TEMP TABLE rows ({columns});\nCOPY rows FROM STDIN;\n{lines}\\.\n{query};\n"
    command = ["psql", "-h", server(), "-U", "postgres", "-q", "--csv", "-v", "ON_ERROR_STOP=1"]
    done = subprocess.run(command, input=script, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return pd.read_csv(StringIO(done.stdout))
