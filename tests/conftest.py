"""What every test runs under: no network, no model hub, limits that a busy machine can keep."""

from __future__ import annotations

import gc
import ipaddress
import os
import random
import shlex
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

# Before any test imports transformers, which reads them once.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import comm
import ipywidgets
import pytest
from hypothesis import settings

from fixtures import forked_python
from fixtures.recording import RecordingComm

if TYPE_CHECKING:
    from attnwidget import AttentionModel

# How long an example takes says more about the machine than about the code. The same code has the
# same examples; `pytest --hypothesis-profile search` looks for others.
settings.register_profile("attnwidget", deadline=None, max_examples=40, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile("attnwidget")


@pytest.fixture(scope="session")
def model() -> AttentionModel:
    """The embedded model, which no test changes for good."""
    # Imported here: the process that starts the tests and its forks must stay without torch.
    from attnwidget import load_model

    return load_model(device="cpu")


@pytest.fixture
def recording(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Widgets have comms that keep what is sent, and are closed at the end."""
    monkeypatch.setattr(comm, "create_comm", RecordingComm)
    yield
    for widget in list(ipywidgets.widgets.widget._instances.values()):
        if hasattr(widget, "wait"):  # it measures in a thread, and closes the figures that it made
            widget.close()
    ipywidgets.Widget.close_all()


def _is_local(address: Any) -> bool:
    if not isinstance(address, tuple):
        return True  # a Unix socket
    host = address[0]
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@pytest.fixture(autouse=True)
def same_draws() -> None:
    """A test draws the same numbers whichever tests came before it in its process."""
    random.seed(0)
    if "torch" in sys.modules:  # a test that needs no model does not wait for it
        sys.modules["torch"].manual_seed(0)


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse every connection that leaves this machine."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if not _is_local(address):
            raise AssertionError(f"a test tried to connect to {address}: nothing may be fetched")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep what is collected, and the libraries, out of the sight of the garbage collector.

    They live to the end. The collector would otherwise visit a million objects again and again.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


FORKS = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """Offer forks of one process to all the processes that run tests.

    It reads nothing before it is asked: what it shares are libraries, so that no test sees more of
    another one than two programs do that are started one after the other.
    """
    of_starter: dict[str, str] | None = getattr(config, "workerinput", None)
    if of_starter is not None:
        config.stash[FORKS] = of_starter["forks"]
        return
    stack = ExitStack()
    config.add_cleanup(stack.close)
    folder = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
    config.stash[FORKS] = stack.enter_context(forked_python.serving(Path(folder)))


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_setupnodes(config: pytest.Config, specs: list[Any]) -> None:
    """Let the processes that run tests be forks too, so that the libraries are read once."""
    for spec in specs:
        if spec.popen and not spec.python and sys.platform == "linux":
            spec.python = shlex.join(forked_python.command(config.stash[FORKS]))


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_configure_node(node: Any) -> None:
    node.workerinput["forks"] = node.config.stash[FORKS]


@pytest.fixture(scope="session")
def forks(pytestconfig: pytest.Config) -> str:
    """The address at which `forked_python` starts programs."""
    return pytestconfig.stash[FORKS]


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of treebanks that ATTNWIDGET_DATA names; tests that need it are marked `data`."""
    folder = os.environ.get("ATTNWIDGET_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("ATTNWIDGET_DATA names no folder of treebanks")
    return Path(folder)
