#!/usr/bin/env bash
# Zarr-Python 3.1.6 with fsspec 2026.9.0 over HTTP: of a shard of 64 chunks, all rows take one request, and the first half
# of them takes 33, one for the index and one for each chunk, though these chunks lie side by side. One would expect that
# fewer rows take no more requests. It matters here because rows are read in blocks: where each answer takes 50 ms, a
# shard of 16 MiB in chunks of 100 kB is read in one second or in ten. Seen: "all rows: 1, half of them: 33". This fails
# if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet zarr==3.1.6 fsspec==2026.9.0 aiohttp==3.14.5
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import zarr

folder, asked = Path(sys.argv[1]), []
zarr.create_array(folder / "rows", data=np.arange(6400.0), chunks=(100,), shards=(6400,))


class Ranges(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        path, given = folder / self.path[1:], self.headers.get("Range")
        content = path.read_bytes() if path.is_file() else b""
        asked.append(self.path)
        self.send_response(404 if not path.is_file() else 206 if given else 200)
        if given and content:
            first, last = given.removeprefix("bytes=").split("-")
            start = int(first) if first else len(content) - int(last)
            stop = int(last) + 1 if first and last else len(content)
            self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{len(content)}")
            content = content[start:stop]
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


server = ThreadingHTTPServer(("127.0.0.1", 0), Ranges)
threading.Thread(target=server.serve_forever, daemon=True).start()
rows = zarr.open_array(f"http://127.0.0.1:{server.server_address[1]}/rows", mode="r")
found = []
for part in (slice(None), slice(0, 3200)):
    asked.clear()
    assert rows[part].sum() == np.arange(6400.0)[part].sum()
    found.append(sum("/c/" in path for path in asked))
print(f"all rows: {found[0]}, half of them: {found[1]}")
assert found == [1, 33]
PYTHON
