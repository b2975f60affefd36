#!/usr/bin/env bash
# Python 3.11.7 and 3.13.0 (module lzma), XZ Utils 5.4.1: the .xz format allows zeros between and after streams, in fours
# ("stream padding"), and `xz -dc` unpacks all streams. Python's lzma.open ends at zeros between streams, without an error,
# so that what is behind them is lost; zeros at the end are an EOFError. One would expect what `xz` gives.
# It matters here because rows behind the padding would be lost.
# Seen: "xz: 8 bytes, Python: 4 bytes". This fails if Python reads on, or xz does not.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
{ printf 'one\n' | xz -c; head -c 8 /dev/zero; printf 'two\n' | xz -c; } > "$folder/padded.xz"
{ printf 'one\n' | xz -c; head -c 8 /dev/zero; } > "$folder/padded.xz.end"
python3 - "$folder/padded.xz" <<'PYTHON'
import lzma
import subprocess
import sys

by_xz = subprocess.run(["xz", "-dc", sys.argv[1]], check=True, stdout=subprocess.PIPE).stdout
with lzma.open(sys.argv[1]) as file:
    by_python = file.read()
print(f"xz: {len(by_xz)} bytes, Python: {len(by_python)} bytes")
try:
    lzma.open(sys.argv[1] + ".end").read()
except EOFError as error:
    print("zeros at the end:", error)
else:
    raise SystemExit("zeros at the end are passed over")
assert (by_xz, by_python) == (b"one\ntwo\n", b"one\n"), (by_xz, by_python)
PYTHON
