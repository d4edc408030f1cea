"""How the apps start in each host, and where their pages are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from browser.servers import JUPYTER_FLAGS, REPOSITORY, free_port, running

APPS = Path(__file__).parent / "apps"
#: One environment for each host, made by `make test-hosts`.
ENVIRONMENTS = REPOSITORY / ".venv-hosts"
#: What pip installs beside the packages of an environment; the hosts' environments share it.
SHARE = Path(sys.prefix) / "share" / "jupyter"
NODE = ENVIRONMENTS / "node" / "node_modules" / ".bin"
CELL = "from attnwidget import explore\n\nexplorer = explore()\nexplorer"
NOTEBOOK = {
    "nbformat": 4,
    "nbformat_minor": 5,
    "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    "cells": [
        {
            "cell_type": "code",
            "id": "explorer",
            "metadata": {},
            "execution_count": None,
            "outputs": [],
            "source": CELL,
        }
    ],
}


class Started(NamedTuple):
    """A host that runs: the address of the page, and the folder of the host."""

    url: str
    folder: Path


def python(host: str) -> str:
    """The Python of a host's environment.

    Raises:
        FileNotFoundError: The environment is not there.
    """
    found = ENVIRONMENTS / host / "bin" / "python"
    if not found.exists():
        raise FileNotFoundError(f"{found} is missing: run `make test-hosts`")
    return str(found)


def _settings(host: str) -> dict[str, str]:
    """Let a host find what pip installs beside packages: first its own, then the shared files."""
    own = ENVIRONMENTS / host / "share" / "jupyter"
    return {
        "JUPYTER_PATH": os.pathsep.join([str(own), str(SHARE)]),
        "JUPYTERLAB_DIR": str(SHARE / "lab"),
        "JUPYTER_CONFIG_PATH": str(Path(sys.prefix) / "etc" / "jupyter"),
    }


def write_notebook(folder: Path) -> Path:
    """Write the notebook of the explorer."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "host.ipynb"
    path.write_text(json.dumps(NOTEBOOK), encoding="utf-8")
    return path


@contextmanager
def started(host: str, folder: Path) -> Iterator[Started]:
    """Run the app of a host until the block ends."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    home = folder / "home"
    home.mkdir(parents=True)
    path = "/"
    ready = ""
    more = _settings(host)
    if host == "panel":
        path = "/panel_app"
        more["BOKEH_RESOURCES"] = "server"
        command = ["panel", "serve", str(APPS / "panel_app.py"), f"--port={port}"]
        command += ["--address=127.0.0.1", f"--allow-websocket-origin=127.0.0.1:{port}"]
    elif host == "shiny":
        command = ["shiny", "run", f"--port={port}", str(APPS / "shiny_app.py")]
    elif host == "solara":
        command = ["solara", "run", str(APPS / "solara_app.py"), f"--port={port}"]
        command += ["--host=127.0.0.1", "--no-open", "--production"]
    elif host == "voila":
        command = ["voila", str(write_notebook(folder)), f"--port={port}", "--no-browser"]
        command += ["--Voila.ip=127.0.0.1"]
        # Each request for the page starts a kernel.
        ready = "/voila/static/voila.js"
    elif host == "streamlit":
        command = ["streamlit", "run", str(APPS / "streamlit_app.py"), f"--server.port={port}"]
        command += ["--server.address=127.0.0.1", "--server.headless=true"]
        command += ["--browser.gatherUsageStats=false"]
    elif host == "lite":
        path = "/notebooks/index.html?path=heads.ipynb"
        site = REPOSITORY / "build" / "lite"
        if not site.is_dir():
            raise FileNotFoundError(f"{site} is missing: run `make lite`")
        command = ["http.server", str(port), "--bind=127.0.0.1", f"--directory={site}"]
    elif host == "vscode":
        path = "/static/vscode.html"
        ready = "/api"
        own = ENVIRONMENTS / host
        folders = [own, own / "node_modules", SHARE / "nbextensions"]
        command = ["jupyter_server", f"--port={port}", *JUPYTER_FLAGS]
        command += [f"--ServerApp.extra_static_paths={list(map(str, folders))}"]
    else:
        path = "/hub/login"
        write_notebook(home)
        more |= {
            "HOSTS_HUB": url,
            "HOSTS_HUB_PORT": str(free_port()),
            "HOSTS_PROXY_API": f"http://127.0.0.1:{free_port()}",
            "HOSTS_PROXY": str(NODE / "configurable-http-proxy"),
        }
        command = ["jupyterhub", "-f", str(APPS / "jupyterhub_config.py")]
    # These two have their packages in the page.
    interpreter = sys.executable if host in ("lite", "vscode") else python(host)
    program = [interpreter, "-m", *command]
    with running(program, url + (ready or path), home, folder, **more):
        yield Started(url + path, home)


def convert(folder: Path) -> Path:
    """Run the notebook and write it as HTML with nbconvert; return the page."""
    notebook = write_notebook(folder)
    command = [sys.executable, "-m", "nbconvert", "--execute", "--to", "html", str(notebook)]
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    subprocess.run(command, env=environment, cwd=folder, check=True, capture_output=True)
    return folder / "host.html"
