"""The engine that draws figures: a process that threads share and that may end at any time."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from attnwidget.drawing.conversion import chart_scripts, draw_chart, svg_to_pdf, svg_to_png
from attnwidget.drawing.engine import draw, engine
from attnwidget.drawing.engine_process import EngineProcess
from refusals import naming

STATE = {"selected": [], "_source": {"model": "<b>&\x00"}}
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20"><text y="15">a</text></svg>'
CHART = {"data": {"values": [{"x": 1}]}, "mark": "point", "encoding": {"x": {"field": "x"}}}
POSIX = pytest.mark.skipif(os.name != "posix", reason="this system has no signals")

# Drawing code that does on request what real code must never do.
MISBEHAVING = """
var bundle = {
  room: (length) => new Uint8Array(length),
  pixels: () => new Uint8Array(),
  draw(request) {
    if (request === "hang") for (;;);
    if (request === "fill") { const all = []; for (;;) all.push(new Array(1e6).fill(0.5)); }
    return JSON.stringify({ rasters: [], request });
  },
};
"""


@pytest.fixture
def misbehaving() -> Iterator[EngineProcess]:
    process = EngineProcess(MISBEHAVING.encode())
    yield process
    process.close()


def ask(process: EngineProcess, request: str) -> bytes:
    _, (answer,) = process.ask("figure", [f'"{request}"'.encode(), b""], what="the figure 'x'")
    return answer


def children(of: int) -> list[int]:
    """Return the living processes that a process has started."""
    stats = [(path, stat(path)) for path in Path("/proc").glob("[0-9]*")]
    return [int(path.name) for path, (state, parent) in stats if parent == of and state != "Z"]


def stat(process: Path) -> tuple[str, int]:
    """Return the state and the parent of a process, ("Z", 0) if it has ended."""
    try:
        state, parent, *_ = (process / "stat").read_text("utf-8").rpartition(")")[2].split()
    except OSError:
        return "Z", 0
    return state, int(parent)


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


def test_the_engine_draws_inside_and_outside_an_event_loop() -> None:
    async def drawn() -> str:
        return draw("head_view", STATE).body

    # In a thread of its own: the thread of the tests may have an event loop already.
    with ThreadPoolExecutor(1) as pool:
        inside = pool.submit(lambda: asyncio.run(drawn())).result()
    assert inside == draw("head_view", STATE).body


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_draws_the_same_and_leaves_the_engine_of_its_parent() -> None:
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
    os.waitpid(child, 0)
    assert drawn.decode() == before == draw("head_view", STATE).body


def test_svg_and_charts_are_converted() -> None:
    assert svg_to_png(SVG)[1:4] == b"PNG" and svg_to_pdf(SVG)[:4] == b"%PDF"
    assert draw_chart(CHART, "svg")[:4] == b"<svg" and draw_chart(CHART, "pdf")[:4] == b"%PDF"
    small, large = (draw_chart(CHART, "png", scale=scale) for scale in (1, 3))
    assert small[1:4] == large[1:4] == b"PNG" and len(small) < len(large)
    assert "vega" in chart_scripts("v6.1")


def test_what_is_no_svg_and_no_chart_is_refused_and_the_next_one_is_converted() -> None:
    with pytest.raises(RuntimeError, match=naming("the PNG", "could not be drawn")):
        svg_to_png("no SVG")
    with pytest.raises(RuntimeError, match=naming("the chart", "could not be drawn")):
        draw_chart({"mark": "no mark", "data": 3}, "png")
    assert svg_to_png(SVG)[1:4] == b"PNG"


def test_an_unknown_figure_says_so_and_the_next_one_is_drawn() -> None:
    with pytest.raises(RuntimeError, match=naming("'pie'", "no figure pie")):
        draw("pie", STATE)
    assert draw("head_view", STATE).width > 0


def test_what_takes_too_long_is_given_up_and_the_next_figure_starts_a_new_engine(
    misbehaving: EngineProcess,
) -> None:
    usual = misbehaving.patience
    ask(misbehaving, "fine")
    misbehaving.patience = 1
    with pytest.raises(TimeoutError, match=naming("'x'", "1 s")):
        ask(misbehaving, "hang")
    misbehaving.patience = usual
    assert b"fine" in ask(misbehaving, "fine")


@POSIX
@pytest.mark.parametrize("n_bytes", [10, 50_000_000], ids=["reading", "writing"])
def test_an_engine_that_was_stopped_is_given_up(
    misbehaving: EngineProcess, monkeypatch: pytest.MonkeyPatch, n_bytes: int
) -> None:
    """A small request fits into the pipe; a large one does not, and waits for the engine."""
    usual = misbehaving.patience
    ask(misbehaving, "fine")
    assert misbehaving.child is not None
    os.kill(misbehaving.child, signal.SIGSTOP)
    monkeypatch.setattr("attnwidget.drawing.engine_process._GRACE", 0.5)
    misbehaving.patience = 0.5
    errors: list[Exception] = []

    def draw_more() -> None:
        try:
            misbehaving.ask("figure", [b"{}", bytes(n_bytes)], what="the figure 'x'")
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=draw_more, daemon=True)
    thread.start()
    thread.join(120)
    assert not thread.is_alive() and isinstance(errors[0], TimeoutError), errors
    assert "was not drawn within 0.5 s" in str(errors[0])
    assert misbehaving.child is None
    misbehaving.patience = usual
    assert b"fine" in ask(misbehaving, "fine")


@POSIX
def test_large_requests_and_answers_pass(misbehaving: EngineProcess) -> None:
    assert ask(misbehaving, "x" * 3_000_000).count(b"x") >= 3_000_000


def test_a_figure_that_needs_too_much_memory_is_an_error(misbehaving: EngineProcess) -> None:
    with pytest.raises((MemoryError, RuntimeError), match="the figure 'x'"):
        ask(misbehaving, "fill")
    assert b"fine" in ask(misbehaving, "fine")


@POSIX
@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGTRAP"])
def test_an_engine_that_dies_while_it_draws_is_an_error_with_its_signal(
    misbehaving: EngineProcess, name: str
) -> None:
    ended = threading.Event()

    def kill() -> None:
        # On a slow machine a first signal may come before the request, which then starts anew.
        while not ended.wait(0.5):
            if (child := misbehaving.child) is not None:
                os.kill(child, getattr(signal, name))

    ask(misbehaving, "fine")
    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(RuntimeError, match=naming(name, "'x'")):
        ask(misbehaving, "hang")
    ended.set()
    killer.join()
    assert b"fine" in ask(misbehaving, "fine")


@POSIX
def test_an_engine_that_died_in_between_is_replaced_without_an_error(
    misbehaving: EngineProcess,
) -> None:
    ask(misbehaving, "fine")
    first = misbehaving.child
    assert first is not None
    os.kill(first, signal.SIGKILL)
    deadline = time.monotonic() + 120
    while misbehaving.child is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert b"fine" in ask(misbehaving, "fine") and misbehaving.child != first


@POSIX
def test_an_interrupt_of_the_whole_group_does_not_end_the_engine(
    misbehaving: EngineProcess,
) -> None:
    ask(misbehaving, "fine")
    child = misbehaving.child
    assert child is not None
    os.kill(child, signal.SIGINT)
    assert b"fine" in ask(misbehaving, "fine") and misbehaving.child == child


@POSIX
def test_an_interrupted_request_does_not_leave_its_answer_to_the_next_one(
    misbehaving: EngineProcess,
) -> None:
    def interrupt(signum: int, frame: object) -> None:
        raise KeyboardInterrupt

    def interrupted() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        ask(misbehaving, "hang")

    ask(misbehaving, "fine")
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert b"second" in ask(misbehaving, "second")


def test_a_program_that_names_no_python_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    with pytest.raises(RuntimeError, match=naming("multiprocessing.set_executable", ".html")):
        ask(EngineProcess(MISBEHAVING.encode()), "fine")


def test_an_engine_that_cannot_start_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("multiprocessing.spawn._python_exe", str(tmp_path / "no python"))
    with pytest.raises(RuntimeError, match=naming("could not start", "no python")):
        ask(EngineProcess(MISBEHAVING.encode()), "fine")


def test_a_file_of_the_current_folder_does_not_replace_a_module(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong json')")
    code = (
        "import sys, os\n"
        "from attnwidget.drawing.engine import draw\n"
        f"os.chdir({str(tmp_path)!r})\n"
        "sys.path.insert(0, '')\n"
        f"print(draw('head_view', {STATE!r}).width > 0)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout.strip() == "True", run.stderr


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="this system does not list its processes")
def test_the_engine_ends_with_its_parent_even_if_forks_of_the_parent_live_on() -> None:
    code = (
        "import os, time\n"
        "from attnwidget.drawing.engine import draw, engine\n"
        f"draw('head_view', {STATE!r})\n"
        # A fork that Python does not know keeps the pipes of its parent open.
        "import ctypes\n"
        "fork = ctypes.CDLL(None).fork() == 0\n"
        "if fork: time.sleep(60); os._exit(0)\n"
        "print(engine().child, flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        forks = [pid for pid in children(parent.pid) if pid != child]
        parent.kill()
    deadline = time.monotonic() + 120
    while _lives(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    for fork in forks:
        os.kill(fork, signal.SIGKILL)
    assert not _lives(child)


def _lives(pid: int) -> bool:
    return stat(Path(f"/proc/{pid}"))[0] != "Z"


@pytest.mark.slow
@POSIX
def test_an_engine_that_is_killed_again_and_again_leaves_drawings_or_errors() -> None:
    draw("head_view", STATE)
    ended = threading.Event()
    killed = 0

    def kill() -> None:
        nonlocal killed
        while not ended.wait(0.05):
            child = engine().child
            if child is not None:
                os.kill(child, signal.SIGKILL)
                killed += 1

    killer = threading.Thread(target=kill)
    killer.start()
    drawn = 0
    errors: list[str] = []
    try:
        while killed < 100:
            try:
                drawn += draw("head_view", STATE).width > 0
            except RuntimeError as error:
                errors.append(str(error))
    finally:
        ended.set()
        killer.join()
    assert errors and all("ended (by signal SIGKILL)" in error for error in errors)
    assert draw("head_view", STATE).width > 0
