"""Scripts that draw, measure and tokenize in every kind of process end with exit code 0."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

POSIX = pytest.mark.skipif(os.name != "posix", reason="this system has no fork and no limits")
ROOT = Path(__file__).parents[2]

# What a user does: read a text, measure, draw a widget in all formats, draw and save a chart.
START = """
import os, signal, sys, threading
from pathlib import Path

folder = Path(sys.argv[1])


def work(name="figure"):
    from attnwidget import HeadGrid, load_model, make_segments, measure

    model = load_model()
    grid = HeadGrid(model.attend("The cat sat on the mat."))
    for suffix in ("svg", "pdf", "png"):
        assert grid.save(folder / f"{name}.{suffix}").stat().st_size > 1000
    segments = make_segments(["The cat sat.", "It slept."], model)
    results = measure(model, segments, ["entropy", "position"], progress=False)
    results["entropy"].chart().save(folder / f"{name}-chart.png")
    assert (folder / f"{name}-chart.png").stat().st_size > 1000


def forked():
    child = os.fork()
    if not child:
        try:
            work("forked")
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


if __name__ == "__main__":
"""
WAYS = {
    "main thread": "work()",
    "worker thread": """
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        work("again")
    """,
    "threads at once": """
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, "abcd"))
    """,
    "event loop": """
        import asyncio
        async def main():
            work()
            await asyncio.to_thread(work, "thread")
        asyncio.run(main())
    """,
    "spawn": """
        import multiprocessing
        child = multiprocessing.get_context("spawn").Process(target=work, daemon=True)
        child.start()
        child.join()
        assert child.exitcode == 0
        work("parent")
    """,
    "executor of processes": """
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            list(pool.map(work, "ab"))
    """,
    "joblib": """
        from joblib import Parallel, delayed
        Parallel(2)([delayed(work)("a"), delayed(len)("b")])
    """,
    "Dask": """
        from distributed import Client
        with Client(n_workers=1, threads_per_worker=2, dashboard_address=None) as client:
            client.gather(client.map(work, "ab"))
    """,
    "after an engine that was killed": """
        from attnwidget.drawing.engine import engine
        work()
        os.kill(engine().child, signal.SIGTERM if os.name == "nt" else signal.SIGKILL)
        work("again")
    """,
    "after a drawing that took too long, whose error is kept": """
        from attnwidget import HeadGrid, load_model
        from attnwidget.drawing.engine import engine
        grid = HeadGrid(load_model().attend("The cat sat on the mat."))
        grid.save(folder / "first.svg")
        usual, engine().patience = engine().patience, 1e-3
        kept = None
        while kept is None:
            try:
                grid.save(folder / "slow.svg")
            except TimeoutError as error:
                kept = error
        engine().patience = usual
        work()
    """,
    "exit handlers before and after the engine's own": """
        import atexit
        grids = []
        def save(name):
            for suffix in ("svg", "pdf", "png"):
                assert grids[0].save(folder / f"{name}.{suffix}").stat().st_size > 1000
        atexit.register(save, "after")
        from attnwidget import HeadGrid, load_model
        grids.append(HeadGrid(load_model().attend("The cat sat on the mat.")))
        grids[0].save(folder / "usual-chart.png")
        atexit.register(save, "before")
    """,
    "a resume file of a study": """
        from attnwidget import load_model, make_segments, measure
        model = load_model()
        segments = make_segments(["The cat sat.", "It slept."] * 4, model)
        for _ in range(2):
            measure(model, segments, ["entropy"], resume=folder / "study", progress=False)
        work()
    """,
}
POSIX_WAYS = {
    "fork before anything": "forked()\nwork()",
    "fork after a drawing": "work()\nforked()\nwork('again')",
    "fork from a thread": """
        work()
        thread = threading.Thread(target=forked)
        thread.start()
        thread.join()
    """,
    "closed standard streams": """
        for stream in (0, 1, 2):
            os.close(stream)
        work()
    """,
    "ignored child signals": "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\nwork()",
}


def run(body: str, folder: Path, *, shell: str = "", **environment: str) -> tuple[int, str]:
    """Run a script in a process of its own; return its exit code and its errors."""
    script = folder / "script.py"
    script.write_text(START + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ") + "\n")
    command = [sys.executable, str(script), str(folder)]
    if shell:
        command = ["bash", "-c", f'{shell}; exec "$@"', "bash", *command]
    # Python looks for modules beside the script, which is not the folder of the package.
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", **environment}
    # A file and no pipe: children that outlive the script would hold a pipe open.
    errors = folder / "errors.txt"
    with errors.open("wb") as file:
        ended = subprocess.run(
            command, env=environment, stderr=file, stdout=file, timeout=800, check=False
        )
    return ended.returncode, errors.read_text("utf-8", "replace")


@pytest.mark.parametrize("way", WAYS)
def test_a_script_that_works_ends_well(way: str, tmp_path: Path) -> None:
    code, errors = run(WAYS[way], tmp_path)
    assert (code, "Traceback" in errors) == (0, False), errors
    assert list(tmp_path.glob("*-chart.png"))
    assert not way.startswith("exit") or all(
        (tmp_path / f"{name}.pdf").exists() for name in ("before", "after")
    )


@POSIX
@pytest.mark.parametrize("way", POSIX_WAYS)
def test_a_script_of_posix_that_works_ends_well(way: str, tmp_path: Path) -> None:
    code, errors = run(POSIX_WAYS[way], tmp_path)
    assert (code, "Traceback" in errors) == (0, False), errors


@POSIX
def test_a_home_that_cannot_be_written_is_enough(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o555)
    code, errors = run("work()", tmp_path, HOME=str(home), XDG_CACHE_HOME=str(home / "cache"))
    assert code == 0, errors


LIMITED = """
    import resource
    import warnings
    from attnwidget import HeadView, load_model, options
    view = HeadView(load_model().attend("The cat sat on the mat."), layer=2, head=1)
    LIMIT
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        data, _ = view._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data and view.weights is not None
    assert any("is shown without a picture" in str(warning.message) for warning in said)
    assert "has no stored picture: RuntimeError" in data["text/html"], data["text/html"]
    for name in ("a.svg", "a.png"):
        try:
            view.save(folder / name)
        except RuntimeError as error:
            assert "ended" in str(error) or "start" in str(error)
            print(error)
        else:
            raise SystemExit("drawn in spite of the limit")
    assert view.save(folder / "a.html").stat().st_size > 1000
    view.layer = 3
    print("alive")
"""


@POSIX
def test_without_address_space_figures_live_and_say_why_they_are_not_drawn(tmp_path: Path) -> None:
    code, said = run(LIMITED.replace("LIMIT", ""), tmp_path, shell="ulimit -v 16000000")
    assert code == 0 and "alive" in said, said
    assert "reserves about 256 GB of address space" in said and "save a page (.html)" in said


@POSIX
@pytest.mark.skipif(os.name == "posix" and os.getuid() == 0, reason="no such limit for root")
def test_without_further_processes_figures_live_and_say_why_they_are_not_drawn(
    tmp_path: Path,
) -> None:
    # The loader of Transformers reads weights in threads, so the limit begins after it.
    limit = "resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))"
    code, said = run(LIMITED.replace("LIMIT", limit), tmp_path)
    assert code == 0 and "alive" in said, said
