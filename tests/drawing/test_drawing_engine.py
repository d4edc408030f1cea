"""The engine that draws figures without a page: any thread, a fork, an event loop, bad input."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from attnwidget.drawing import engine
from attnwidget.drawing.engine import draw

STATE = {"selected": [], "_source": {"model": "<b>&\x00"}}


def test_text_is_text_and_signs_that_xml_forbids_are_replaced() -> None:
    drawing = draw("head_view", STATE)
    assert "&lt;b&gt;&amp;\ufffd" in drawing.body
    assert drawing.caption.model == STATE["_source"]["model"]
    assert drawing.columns == ("from", "to", "weight") and drawing.rows == ()


def test_many_threads_draw_the_same() -> None:
    with ThreadPoolExecutor(8) as pool:
        bodies = {
            drawing.body for drawing in pool.map(lambda _: draw("head_view", STATE), range(40))
        }
    assert len(bodies) == 1


@pytest.mark.slow
def test_the_engine_draws_inside_and_outside_an_event_loop() -> None:
    code = (
        "import asyncio\n"
        "from attnwidget.drawing.engine import draw\n"
        f"state = {STATE!r}\n"
        "async def main():\n"
        "    return draw('head_view', state).body\n"
        "print(asyncio.run(main()) == draw('head_view', state).body)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert run.stdout.strip() == "True", run.stderr
    # In a thread of its own: the thread of the tests may have an event loop already.
    with ThreadPoolExecutor(1) as pool:
        drawn = pool.submit(lambda: asyncio.run(_drawn())).result()
    assert drawn == draw("head_view", STATE).body


async def _drawn() -> str:
    return draw("head_view", STATE).body


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_draws_the_same() -> None:
    before = draw("head_view", STATE).body
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, draw("head_view", STATE).body.encode())
        finally:
            os._exit(0)
    os.close(write)
    with open(read, "rb") as pipe:
        drawn = pipe.read()
    deadline = time.monotonic() + 30
    while os.waitpid(child, os.WNOHANG) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert drawn.decode() == before


@pytest.mark.slow
@pytest.mark.parametrize("attempt", range(3))
def test_a_script_that_drew_ends(attempt: int) -> None:
    code = f"from attnwidget.drawing.engine import draw\ndraw('head_view', {STATE!r})"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_an_unknown_figure_says_so_and_the_next_one_is_drawn() -> None:
    with pytest.raises(RuntimeError, match="there is no figure pie"):
        draw("pie", STATE)
    assert draw("head_view", STATE).width > 0


def test_what_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_PATIENCE", 0.2)
    fresh = engine._Engine()
    fresh.answer(_wish(), b"")
    assert fresh._racer is not None
    fresh._racer.eval("bundle = {...bundle, draw() { for (;;); }}")
    with pytest.raises(TimeoutError, match="0 s"):
        fresh.answer(_wish(), b"")
    found, _ = fresh.answer(_wish(), b"")
    assert found["width"] > 0
    fresh.close()


def _wish() -> str:
    return (
        '{"figure": "head_view", "state": {"selected": [], "_source": {"model": ""}},'
        ' "width": null, "theme": "light", "density": 1, "pixels": 0,'
        ' "dense": false, "brief": false, "caption": false}'
    )
