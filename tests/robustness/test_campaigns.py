"""The campaigns in short: as many inputs as fit a test, the same ones each time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from robustness.readers import READERS, SAVED

TESTS = Path(__file__).parents[1]
#: Inputs a reader; `make fuzz` runs as many as there is time for.
INPUTS = {"FrameNet": 60, "states of explorers": 20, "messages of pages": 60} | dict.fromkeys(
    [name for name in SAVED if name != "states of explorers"], 40
)
USUAL = 150


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("names", [[*READERS], [*SAVED, "messages of pages"]], ids=["text", "own"])
def test_nothing_falls(names: list[str]) -> None:
    given = [f"{name}={INPUTS.get(name, USUAL)}" for name in names]
    run = subprocess.run(
        [sys.executable, str(TESTS / "robustness/campaign.py"), *given, "--seed", "17"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{TESTS.parent}{os.pathsep}{TESTS}"},
    )
    counts = [json.loads(line) for line in run.stdout.splitlines()]
    assert run.returncode == 0, "\n".join(fall for one in counts for fall in one["falls"])
    assert [one["reader"] for one in counts] == names, run.stderr[-2000:]
    for one in counts:
        wanted = INPUTS.get(one["reader"], USUAL)
        assert one["inputs"] == one["read"] + one["refused"] == wanted, one
        # What has a seal is either as it was written or refused.
        assert one["refused"] and (one["read"] or one["reader"] in SAVED), one
