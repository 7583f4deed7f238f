"""A folder of files as any web server hands it out."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar


class _Quiet(SimpleHTTPRequestHandler):
    """It logs nothing."""

    extensions_map: ClassVar = {
        ".html": "text/html",
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
        ".js": "text/javascript",
        "": "application/octet-stream",
    }

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address under which `folder` is served meanwhile."""
    handler = functools.partial(_Quiet, directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
