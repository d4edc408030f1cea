"""What every test runs under: no network, no model hub, limits that a busy machine can keep."""

from __future__ import annotations

import ipaddress
import os
import socket
from pathlib import Path
from typing import Any

# Before any test imports transformers, which reads them once.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import pytest
from hypothesis import settings

# How long an example takes says more about the machine than about the code.
settings.register_profile("attnwidget", deadline=None, max_examples=40)
settings.load_profile("attnwidget")


def _is_local(address: Any) -> bool:
    if not isinstance(address, tuple):
        return True  # a Unix socket
    host = address[0]
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse every connection that leaves this machine."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if not _is_local(address):
            raise AssertionError(f"a test tried to connect to {address}: nothing may be fetched")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of treebanks that ATTNWIDGET_DATA names; tests that need it are marked `data`."""
    folder = os.environ.get("ATTNWIDGET_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("ATTNWIDGET_DATA names no folder of treebanks")
    return Path(folder)
