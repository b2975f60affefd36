"""A web server of files in memory, in a thread: with ranges of bytes or without, and with answers that fail."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class WebServer:
    """`files` has the bytes of each path; `fail` the statuses of its next answers; `cut` after how many bytes they end.

    `asked` are the requests so far: the method, the path and the range.
    """

    def __init__(self, address, ranges=True):
        self.url, self.ranges, self.tagged = address, ranges, True
        self.files, self.fail, self.cut, self.asked = {}, {}, {}, []
        self.wait = None  # seconds that answers which fail say to wait for

    def put(self, name, content):
        self.files[f"/{name}"] = content
        return f"{self.url}/{name}"


def _handler(server):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16  # an answer in one packet

        def log_message(self, *args):
            pass

        def do_HEAD(self):
            self.respond(body=False)

        def do_GET(self):
            self.respond(body=True)

        def respond(self, body):
            path = self.path.partition("?")[0]
            server.asked.append((self.command, path, self.headers.get("Range")))
            status = server.fail.get(path, [])
            if body and status:
                self.close_connection = True
                return self.answer(status.pop(), b"")
            content = server.files.get(path)
            if content is None:
                return self.answer(404, b"", body)
            given = self.headers.get("Range")
            if given is None or not server.ranges:
                return self.answer(200, content, body)
            first, last = given.removeprefix("bytes=").split("-")
            part = content[int(first) : int(last) + 1]
            cut = server.cut.get(path, [])
            if body and cut:  # the connection ends within the answer
                self.close_connection = True
                return self.answer(206, part, body, int(first), len(content), cut.pop())
            return self.answer(206, part, body, int(first), len(content))

        def answer(self, status, content, body=True, first=0, whole=0, most=None):
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            if server.tagged and status in (200, 206):
                path = self.path.partition("?")[0]
                self.send_header("ETag", f'"{hash(server.files[path])}"')
            if status in (429, 503) and server.wait is not None:
                self.send_header("Retry-After", str(server.wait))
            if status == 206:
                self.send_header("Content-Range", f"bytes {first}-{first + len(content) - 1}/{whole}")
            self.end_headers()
            if body:
                self.wfile.write(content[:most])

    return Handler


@contextmanager
def serving(ranges=True):
    """A server of its own for as long as the context lasts."""
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as listening:
        listening.daemon_threads = True
        server = WebServer(f"http://127.0.0.1:{listening.server_address[1]}", ranges)
        listening.RequestHandlerClass = _handler(server)
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            listening.shutdown()
            thread.join()
