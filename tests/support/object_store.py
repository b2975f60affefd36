"""An S3 server that can be told to fail or to be slow, as a process: `python -m tests.support.object_store SOCKET`."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from tests.support.processes import PATIENCE


class Faulty:
    """A web application in front of another: requests whose path has a given part fail or wait, so many times."""

    def __init__(self, app):
        self._app, self._faults = app, []

    def __call__(self, environ, start_response):
        path = environ["PATH_INFO"]
        if path == "/-/faults":
            self._faults = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
            start_response("200 OK", [])
            return []
        for fault in self._faults:
            if fault["path"] in path and fault["method"] == environ["REQUEST_METHOD"] and fault["times"] > 0:
                fault["times"] -= 1
                time.sleep(fault.get("seconds", 0.0))
                if "status" in fault:
                    start_response(fault["status"], [])
                    return []
        return self._app(environ, start_response)


class Server:
    def __init__(self, url):
        self.url = url

    def faults(self, *faults):
        """From now on these: dicts of path, method, times, and status or seconds."""
        self.ask("-/faults", data=json.dumps(faults).encode())

    def ask(self, path, **options):
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        direct.open(urllib.request.Request(f"{self.url}/{path}", **options), timeout=PATIENCE).close()


@contextmanager
def running(bucket):
    """The server with one empty bucket; its socket listens before it does, so nobody needs to wait or guess a port."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listening:
        server = Server(f"http://127.0.0.1:{listening.getsockname()[1]}")
        command = [sys.executable, "-m", "tests.support.object_store", str(listening.fileno())]
        process = subprocess.Popen(
            command, cwd=Path(__file__).parents[2], stderr=subprocess.DEVNULL, pass_fds=[listening.fileno()]
        )
    try:
        server.ask(bucket, method="PUT")
        yield server
    finally:
        process.kill()
        process.wait()


def _serve(listening):
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    os.environ.setdefault("MOTO_CALL_RESET_API", "false")
    app = Faulty(DomainDispatcherApplication(create_backend_app))
    make_server("127.0.0.1", 0, app, threaded=True, fd=listening).serve_forever()


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
