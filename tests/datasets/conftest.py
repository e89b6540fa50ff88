"""A publisher on this machine."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        publisher = self.server.publisher
        publisher.requests.append(self.path)
        content = publisher.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content) + publisher.withheld))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args):
        pass


class Publisher:
    """Serves ``files`` and remembers what was asked for; ``withheld`` bytes are announced only."""

    def __init__(self, port):
        self.base = f"http://127.0.0.1:{port}"
        self.files, self.requests, self.withheld = {}, [], 0


@pytest.fixture
def publisher(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with HTTPServer(("127.0.0.1", 0), _Handler) as server:
        server.publisher = Publisher(server.server_port)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.publisher
        server.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path):
    """The folder of the files in the data home ``tmp_path``."""
    folder = tmp_path / "skmia"
    folder.mkdir()
    return folder
