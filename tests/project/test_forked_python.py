"""A fork is what the program would be: its folder, environment, streams, arguments and end."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from pathlib import Path

import pytest

from fixtures import forked_python

TELL = """
import os, sys
print(os.getcwd(), os.environ["NAME"], sys.argv[1:], sys.stdin.read(), "torch" in sys.modules)
print("warned", file=sys.stderr)
"""
PATIENCE = 240  # seconds on a busy machine
WAIT = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"


@pytest.mark.slow
def test_a_fork_has_what_its_starter_has(forks: str, tmp_path: Path) -> None:
    (tmp_path / "tell.py").write_text(TELL, encoding="utf-8")
    run = subprocess.run(
        forked_python.command(forks, "tell", "a", "b c"),
        cwd=tmp_path,
        env=os.environ | {"NAME": "value"},
        input="typed",
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == f"{tmp_path} value ['a', 'b c'] typed True\n"
    assert run.stderr == "warned\n"


@pytest.mark.slow
def test_a_fork_runs_code_that_is_an_argument(forks: str, tmp_path: Path) -> None:
    code = "import sys; print(sys.argv, sys.stdin.read(), 'torch' in sys.modules, __name__)"
    run = subprocess.run(
        forked_python.command(forks, "-u", "-c", code, "a"),
        cwd=tmp_path,
        input="typed",
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "['-c', 'a'] typed True __main__\n"


@pytest.mark.slow
def test_a_fork_ends_with_its_starter(forks: str, tmp_path: Path) -> None:
    (tmp_path / "wait.py").write_text(WAIT, encoding="utf-8")
    with subprocess.Popen(
        forked_python.command(forks, "wait"), cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        starter.kill()
    _wait_until_ended(pid)


@pytest.mark.slow
def test_a_fork_ends_with_a_starter_that_has_not_heard_of_it(forks: str, tmp_path: Path) -> None:
    (tmp_path / "wait.py").write_text(WAIT, encoding="utf-8")
    asked = {"program": ["wait"], "folder": str(tmp_path), "environment": dict(os.environ)}
    told = json.dumps(asked).encode()
    read, write = os.pipe()
    with socket.socket(socket.AF_UNIX) as starter, open(write, "wb"), open(read) as output:
        starter.connect(forks)
        socket.send_fds(starter, [len(told).to_bytes(4, "big")], [0, write, 2])
        starter.sendall(told)
        pid = int(output.readline())
    # The socket closed with the number of the fork unread in it.
    _wait_until_ended(pid)


def _wait_until_ended(pid: int) -> None:
    limit = time.monotonic() + PATIENCE
    while _runs(pid):
        if time.monotonic() > limit:
            pytest.fail(f"process {pid} still runs after {PATIENCE} s")
        time.sleep(0.1)


def _runs(pid: int) -> bool:
    """Whether a process runs; one that has ended may stay until its new parent asks about it."""
    try:
        os.kill(pid, 0)
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except ProcessLookupError:
        return False
    except FileNotFoundError:
        # Ended in between, or a system without /proc, where a signal tells enough.
        return not Path("/proc").is_dir()
