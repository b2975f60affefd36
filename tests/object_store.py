"""An S3 server in a process of its own, which can be told to fail or to be slow: `python object_store.py PORT`."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path


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
        body = json.dumps(faults).encode()
        with urllib.request.urlopen(urllib.request.Request(f"{self.url}/-/faults", body), timeout=10):
            pass


@contextmanager
def running(bucket):
    """The server with one empty bucket."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = Server(f"http://127.0.0.1:{port}")
    process = subprocess.Popen([sys.executable, str(Path(__file__)), str(port)], stderr=subprocess.DEVNULL)
    try:
        _await(server, process)
        with urllib.request.urlopen(urllib.request.Request(f"{server.url}/{bucket}", method="PUT"), timeout=10):
            yield server
    finally:
        process.kill()
        process.wait()


def _await(server, process):
    for _ in range(600):
        try:
            return server.faults()
        except OSError:
            assert process.poll() is None, "the server ended"
            time.sleep(0.1)
    raise TimeoutError("the server did not start")


def _serve(port):
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import run_simple

    os.environ.setdefault("MOTO_CALL_RESET_API", "false")
    run_simple("127.0.0.1", port, Faulty(DomainDispatcherApplication(create_backend_app)), threaded=True)


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
