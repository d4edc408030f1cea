"""Training checkpoints of the bundled causal model."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.resources import as_file, files

from attnwidget.capture.load import load_model
from attnwidget.capture.model import AttentionModel
from attnwidget.hidden_frames import hides_frames

MODEL = "attnwidget/induction"


@hides_frames
def induction_checkpoints() -> list[tuple[int, Callable[[], AttentionModel]]]:
    """Return the training steps of `load_model("attnwidget/induction")` with their weights.

    The steps rise from 0, the random weights, to the end of the training. Each step comes with a
    function that loads its model.

    Example:
        >>> from attnwidget.demo import induction_checkpoints
        >>> (first, load), *_, (last, _) = induction_checkpoints()
        >>> first, last > 1000, load().name
        (0, True, 'two-layer Llama (in the package), step0')
    """
    with as_file(files("attnwidget").joinpath("demo", "induction")) as folder:
        steps = sorted(int(path.name.removeprefix("step")) for path in folder.glob("step*"))
    return [(step, partial(load_model, MODEL, revision=f"step{step}")) for step in steps]
