"""Metrics that go wrong in workers, in a file of their own which workers import."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from attnwidget.metrics import Entropy, LayerBatch


class Killing(Entropy):
    """Kills its process by SIGKILL after so many batches, as often as asked.

    Args:
        folder: where it notes what it did, for processes that come after.
        times: how often.
        every: batches between.
    """

    name = "killing"

    def __init__(self, folder: Path, times: int, every: int) -> None:
        self.folder = str(folder)
        self.times = times
        self.every = every

    def update(self, layer: LayerBatch) -> None:
        super().update(layer)
        if layer.layer == 0:
            folder = Path(self.folder)
            (folder / f"read-{os.getpid()}-{time.time_ns()}").touch()
            killed = len([*folder.glob("killed-*")])
            if killed < self.times and len([*folder.glob("read-*")]) >= self.every * (killed + 1):
                (folder / f"killed-{killed}").touch()
                os.kill(os.getpid(), signal.SIGKILL)


class Failing(Entropy):
    """Fails in the first so many batches."""

    name = "failing"
    left = 0

    def update(self, layer: LayerBatch) -> None:
        if Failing.left:
            Failing.left -= 1
            raise OSError("the disk is full")
        super().update(layer)


class Slow(Entropy):
    """Takes its time."""

    name = "slow"

    def update(self, layer: LayerBatch) -> None:
        time.sleep(0.02)
        super().update(layer)
