"""Python programs that start at once: forks of one process that has read the large libraries.

`python forked_python.py start SOCKET MODULE ARGUMENT …` is `python -m MODULE ARGUMENT …`, in the
folder, the environment and the streams of who starts it; it lives and dies with its starter.
`python forked_python.py serve SOCKET` makes the forks, for all the processes of a run of tests.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

START_LIMIT = 120  # seconds that the libraries may take on a cold machine
# The package is read here too: nothing of it runs before a fork uses it.
READ_BEFORE = [
    "altair",
    "anywidget",
    "attnwidget.widgets.explorer.widget",
    "attnwidget.widgets.head_grid.widget",
    "ipykernel.kernelapp",
    "ipywidgets",
    "scipy.stats",
    "sklearn.manifold",
    "torch",
    "transformers.models.bert.modeling_bert",
    "transformers.models.bert.tokenization_bert",
]


def command(address: str, *program: str) -> list[str]:
    """What starts a fork that runs `python -m program`."""
    return [sys.executable, "-S", __file__, "start", address, *program]


def kernelspec(data: Path, address: str) -> dict[str, str]:
    """Let who reads this Jupyter data folder start its kernels as forks; what makes one read it."""
    start = command(address, "ipykernel_launcher", "-f", "{connection_file}")
    spec = {"argv": start, "display_name": "Python 3", "language": "python"}
    folder = data / "kernels" / "python3"
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text(json.dumps(spec))
    return {"JUPYTER_DATA_DIR": str(data), "JUPYTER_PREFER_ENV_PATH": "0"}


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of a process that makes forks until the block ends."""
    address = str(folder / "forks")
    environment = os.environ | {"HOME": str(folder), "PYTHONPATH": str(Path(__file__).parents[1])}
    with (folder / "forks.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, __file__, "serve", address],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield address
    finally:
        process.kill()
        process.wait()


def serve(address: str) -> None:
    """Fork for each connection; who asks first waits until the libraries are read."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no fork is waited for
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(address)
        door.listen()
        client, _ = door.accept()
        _read_libraries()
        while True:
            with client:
                if os.fork() == 0:
                    door.close()
                    _run(client)
            client, _ = door.accept()


def _read_libraries() -> None:
    import gc
    from importlib import import_module

    for name in READ_BEFORE:
        import_module(name)
    gc.freeze()  # forks share what their collectors do not touch


def _run(client: socket.socket) -> None:
    import runpy
    import traceback
    from threading import Thread

    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    told, streams, _, _ = socket.recv_fds(client, 4, 3)
    for own, given in enumerate(streams):
        os.dup2(given, own)
        os.close(given)
    asked = json.loads(client.recv(int.from_bytes(told, "big"), socket.MSG_WAITALL))
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    client.sendall(b"%d" % os.getpid())

    def end_with_the_starter() -> None:
        client.recv(1)
        os._exit(0)

    Thread(target=end_with_the_starter, daemon=True).start()
    sys.path[0] = ""
    module, *arguments = asked["program"]
    sys.argv = [module, *arguments]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit:
        pass
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def start(address: str, *program: str) -> None:
    """Ask for a fork, pass signals on to it, and end when it ends."""
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
        asked = {"program": program, "folder": os.getcwd(), "environment": dict(os.environ)}
        told = json.dumps(asked).encode()
        socket.send_fds(server, [len(told).to_bytes(4, "big")], [0, 1, 2])
        server.sendall(told)
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
