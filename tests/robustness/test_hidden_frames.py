"""IPython prints the user's line and the sentence of an error, without the package in between."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import IPython
import pytest
from IPython.core.ultratb import FormattedTB

from attnwidget import load_model, load_treebank, make_segments, measure
from attnwidget.metrics import Entropy, LayerBatch

if TYPE_CHECKING:
    from attnwidget import AttentionModel

HIDDEN = re.compile(r"skipping hidden \d+ frame")


def printed(use: Callable[[], Any]) -> str:
    """The traceback of the error of a call, as IPython prints it."""
    try:
        use()
    except Exception:
        lines = FormattedTB(mode="Context").structured_traceback(*sys.exc_info())
    else:
        raise AssertionError("no error")
    return re.sub(r"\x1b\[[\d;]*m", "", "\n".join(lines))


@pytest.fixture
def in_ipython(monkeypatch: pytest.MonkeyPatch) -> None:
    """`get_ipython()` returns a shell, as in a notebook."""
    monkeypatch.setattr(IPython, "get_ipython", lambda: object())


def frames(text: str) -> int:
    """The number of printed frames of the package."""
    return len(re.findall(r"^File .*[\\/]attnwidget[\\/](?!tests)\w+", text, re.MULTILINE))


@pytest.mark.usefixtures("in_ipython")
def test_ipython_shows_one_frame_of_the_package(model: AttentionModel, tmp_path: Path) -> None:
    segments = make_segments(["The cat sat."], model)
    for use in (
        lambda: load_treebank(tmp_path / "a.conllu"),
        lambda: load_model("./nowhere/at/all"),
        lambda: measure(model, segments, ["entropi"], progress=False),
    ):
        text = printed(use)
        assert frames(text) == 1, text
        assert HIDDEN.search(text) and "use()" in text
        assert "direct cause" not in text


@pytest.mark.usefixtures("in_ipython")
def test_frames_of_a_users_own_code_stay(model: AttentionModel) -> None:
    class Failing(Entropy):
        name = "failing"

        def update(self, layer: LayerBatch) -> None:
            self.fail()

        def fail(self) -> None:
            raise ZeroDivisionError("mine")

    segments = make_segments(["The cat sat."], model)
    text = printed(lambda: measure(model, segments, [Failing()], progress=False))
    shown = HIDDEN.split(text)[-1]
    assert frames(text) == 0 and "self.fail()" in shown and 'ZeroDivisionError("mine")' in shown


def test_every_frame_is_shown_outside_of_ipython(tmp_path: Path) -> None:
    text = printed(lambda: load_treebank(tmp_path / "a.conllu"))
    assert frames(text) > 4 and not HIDDEN.search(text)
