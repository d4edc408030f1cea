"""Notebook servers of our own, on loopback, each in its own home and process group."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from fixtures import forked_python

REPOSITORY = Path(__file__).parents[2]
START_LIMIT = 300  # seconds; a cold machine reads JupyterLab from disk first
JUPYTER_FLAGS = [
    "--no-browser",
    "--allow-root",
    "--ServerApp.ip=127.0.0.1",
    "--ServerApp.port_retries=0",
    "--ServerApp.password=",
    "--ServerApp.disable_check_xsrf=True",
    "--IdentityProvider.token=",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    "--LabApp.expose_app_in_browser=True",
    "--JupyterNotebookApp.expose_app_in_browser=True",
]


@dataclass(frozen=True)
class Server:
    """A running server: its address and the folder that it serves."""

    url: str
    root: Path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def isolated_environment(home: Path) -> dict[str, str]:
    """The environment of a server that reads and writes no settings but those in `home`."""
    config = home / "config"
    settings = home / "settings"
    page_config = config / "labconfig" / "page_config.json"
    tracker = settings / "@jupyterlab" / "notebook-extension" / "tracker.jupyterlab-settings"
    for path in (page_config, tracker):
        path.parent.mkdir(parents=True, exist_ok=True)
    # The offer of news covers the notebook and asks the network.
    announcements = {"@jupyterlab/apputils-extension:announcements": True}
    page_config.write_text(json.dumps({"disabledExtensions": announcements}))
    # Cells off the screen would otherwise not be in the page.
    tracker.write_text(json.dumps({"windowingMode": "none"}))
    return os.environ | {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "xdg"),
        "JUPYTER_CONFIG_DIR": str(config),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(settings),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "IPYTHONDIR": str(home / "ipython"),
        "MARIMO_SKIP_UPDATE_CHECK": "1",
        "HF_HUB_OFFLINE": "1",
        # The checkout under test, whether or not the environment has it installed.
        "PYTHONPATH": str(REPOSITORY),
    }


def _wait(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    limit = time.monotonic() + START_LIMIT
    while time.monotonic() < limit:
        if process.poll() is not None:
            raise RuntimeError(
                f"server exited with {process.returncode}: {log.read_text()[-3000:]}"
            )
        with suppress(OSError):
            urllib.request.urlopen(address, timeout=2).read()
            return
        time.sleep(0.2)
    raise RuntimeError(f"no answer in {START_LIMIT} s: {log.read_text()[-3000:]}")


@contextmanager
def running(
    arguments: list[str], address: str, home: Path, root: Path, **environment: str
) -> Iterator[None]:
    """Run a program until the block ends; it has started when `address` answers."""
    log = home / "server.log"
    own = isolated_environment(home) | environment
    with log.open("wb") as out:
        process = subprocess.Popen(
            arguments,
            env=own,
            cwd=root,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _wait(process, address, log)
            yield
        finally:
            _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(5)


@contextmanager
def jupyter(folder: Path, forks: str | None = None) -> Iterator[Server]:
    """JupyterLab and Notebook 7, serving `folder`/notebooks; kernels are forks where said."""
    root = folder / "notebooks"
    port = free_port()
    root.mkdir(parents=True)
    program = [
        sys.executable,
        "-m",
        "jupyterlab",
        *JUPYTER_FLAGS,
        f"--ServerApp.port={port}",
        f"--ServerApp.root_dir={root}",
    ]
    url = f"http://127.0.0.1:{port}"
    home = folder / "home"
    kernels = {} if forks is None else forked_python.kernelspec(home / "data", forks)
    with running(program, f"{url}/api/status", home, root, **kernels):
        yield Server(url, root)


@contextmanager
def marimo(source: str, folder: Path, forks: str) -> Iterator[Server]:
    """A marimo app whose cells are in `source`, running as a page, in a fork."""
    folder.mkdir(parents=True, exist_ok=True)
    app = folder / "app.py"
    port = free_port()
    app.write_text(source, encoding="utf-8")
    program = forked_python.command(
        forks,
        "marimo",
        "--quiet",
        "run",
        "--headless",
        "--no-token",
        "--host=127.0.0.1",
        f"--port={port}",
        str(app),
    )
    url = f"http://127.0.0.1:{port}"
    with running(program, f"{url}/health", folder / "home", folder):
        yield Server(url, folder)
