"""Kernels that start at once: forks of one process that has read the large libraries already.

`python forked_kernels.py serve SOCKET` waits for requests; `python forked_kernels.py start SOCKET
FILE` is what a notebook server starts in place of a kernel, and lives and dies with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import time
from pathlib import Path
from types import FrameType

START_LIMIT = 120  # seconds that the libraries may take on a cold machine
# None of the package itself: what a kernel shows is what it reads itself.
READ_BEFORE = [
    "altair",
    "anywidget",
    "ipykernel.kernelapp",
    "ipywidgets",
    "scipy.stats",
    "torch",
    "transformers.models.bert.modeling_bert",
    "transformers.models.bert.tokenization_bert",
]


def kernelspec(data: Path, address: Path) -> None:
    """Let the notebook server whose data folder this is start its kernels here."""
    start = [sys.executable, "-S", __file__, "start", str(address), "{connection_file}"]
    spec = {"argv": start, "display_name": "Python 3", "language": "python"}
    folder = data / "kernels" / "python3"
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text(json.dumps(spec))


def serve(address: str) -> None:
    """Fork a kernel for each connection; the kernel keeps the connection as long as it lives."""
    from importlib import import_module

    for name in READ_BEFORE:
        import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no kernel is waited for
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(address)
        door.listen()
        while True:
            client, _ = door.accept()
            with client:
                if os.fork() == 0:
                    door.close()
                    _be_kernel(client)


def _be_kernel(client: socket.socket) -> None:
    from threading import Thread

    from ipykernel.kernelapp import IPKernelApp

    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    folder, connection_file = json.loads(client.recv(4096))
    os.chdir(folder)
    client.sendall(b"%d" % os.getpid())

    def end_with_the_starter() -> None:
        client.recv(1)
        os._exit(0)

    Thread(target=end_with_the_starter, daemon=True).start()
    sys.path[0] = ""
    IPKernelApp.launch_instance(["-f", connection_file])
    os._exit(0)


def start(address: str, connection_file: str) -> None:
    """Ask for a kernel, pass signals on to it, and end when it ends."""
    limit = time.monotonic() + START_LIMIT
    with socket.socket(socket.AF_UNIX) as server:
        while True:
            try:
                server.connect(address)
                break
            except OSError:
                if time.monotonic() > limit:
                    raise
                time.sleep(0.1)
        server.sendall(json.dumps([os.getcwd(), connection_file]).encode())
        pid = int(server.recv(32))

        def pass_on(number: int, _: FrameType | None) -> None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, pass_on)
        while True:
            with contextlib.suppress(InterruptedError):
                if not server.recv(1):
                    return


if __name__ == "__main__":
    {"serve": serve, "start": start}[sys.argv[1]](*sys.argv[2:])
