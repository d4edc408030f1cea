"""Runs a reader on mutated inputs in a process of its own, under limits, and says what fell."""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from robustness.judging import raised_by_the_package, said_in, where

#: Seconds of computing and of waiting that one input may take; bytes beyond those at the start.
SECONDS = 10
WAITING = 120
MEMORY = 2 * 2**30
#: Types of errors that the package raises on purpose.
REFUSALS = (ValueError, OSError)
_SHOWN = 25
PAGES = "messages of pages"


class Hung(BaseException):
    """An input took longer than `SECONDS`."""


@contextmanager
def limits() -> Iterator[None]:
    """Inside, the process has no more memory than it needs, and an input an end."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    room = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (room, before[1]))

    def stop(number: int, frame: Any) -> None:
        raise Hung(f"longer than {SECONDS} s")

    signal.signal(signal.SIGALRM, stop)
    signal.signal(signal.SIGPROF, stop)
    if not _WATCHING:
        sys.addaudithook(_watch)
    _WATCHING.append(True)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
        _WATCHING.pop()


_WATCHING: list[bool] = []
_FORBIDDEN = ("pickle.find_class", "os.system", "subprocess.Popen", "socket.connect")


def _watch(event: str, arguments: Any) -> None:
    """Nothing that is read runs anything or asks for anything elsewhere."""
    if _WATCHING and event in _FORBIDDEN:
        raise RuntimeError(f"an input led to {event} {arguments!r}")


def judged(reader: Any, path: Path, kind: str) -> tuple[str, str]:
    """What a reader made of a file: "read", "refused" or "fell", and what is to be said of it."""
    _timed(SECONDS, WAITING)
    try:
        found = reader.read(path)
    except REFUSALS as error:
        said = str(error)
        if isinstance(error, UnicodeError):
            return "fell", f"{where(error)} {type(error).__name__}: {said[:200]}"
        if not reader.names(path, said):
            return "fell", f"{where(error)} without the file: {type(error).__name__}: {said[:200]}"
        lined = re.search(r":\d+: ", said) or "line " in said
        return "refused", "with a line" if lined else "without"
    except TypeError as error:
        if not raised_by_the_package(error):
            return "fell", f"{where(error)} TypeError: {said_in(error)}"
        return "refused", "without"
    except Hung as error:
        return "fell", f"{where(error)} Hung"
    except BaseException as error:
        return "fell", f"{where(error)} {type(error).__name__}: {said_in(error)}"
    finally:
        _timed(0, 0)
    try:
        reader.check(path, found)
    except Exception as error:
        return "fell", f"wrong result: {type(error).__name__}: {str(error)[:200]}"
    return "read", ""


def _timed(computing: float, waiting: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, computing)
    signal.setitimer(signal.ITIMER_REAL, waiting)


def run(name: str, inputs: int, seed: int, seconds: float | None = None) -> dict[str, Any]:
    """Counts of what a reader made of so many mutated inputs, and one of each fall."""
    from robustness.readers import reader, woken

    one = reader(name)
    outcomes: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    falls: dict[str, str] = {}
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(inputs):
            if seconds is not None and time.monotonic() - start > seconds:
                break
            draw = random.Random(f"{name} {seed} {number}")
            kind, path = one.case(Path(folder), draw)
            outcome, said = judged(one, path, kind)
            outcomes[outcome] += 1
            kinds[kind] += 1
            if outcome == "refused":
                lines[said] += 1
            if outcome == "fell":
                falls.setdefault(
                    re.sub(r"'.*|\d{3,}.*", "", said), f"input {number}, {kind}: {said}"
                )
    if woken():
        falls["unpickled"] = "an object was unpickled"
    return {
        "reader": name,
        "seed": seed,
        "inputs": sum(outcomes.values()),
        **{outcome: outcomes[outcome] for outcome in ("read", "refused", "fell")},
        "refusals with a line": lines["with a line"],
        "kinds": dict(sorted(kinds.items())),
        "falls": list(falls.values())[:_SHOWN],
        "seconds": round(time.process_time(), 1),
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def main() -> None:
    """Print the counts of the readers named, one JSON a line; exit 1 where something fell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("readers", nargs="*", help='"name" or "name=inputs"; all without one')
    parser.add_argument("--inputs", type=int, default=10_000, help="mutated inputs a reader")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, help="for all readers together")
    given = parser.parse_args()
    from robustness.readers import READERS, SAVED, reader

    asked = given.readers or [*READERS, *SAVED, PAGES]
    share = None if given.seconds is None else given.seconds / len(asked)
    fell = False
    for one in asked:
        name, _, own = one.partition("=")
        inputs = int(own or given.inputs)
        if name == PAGES:
            from robustness import page_messages

            counts = page_messages.run(inputs, given.seed, share)
        else:
            reader(name)  # before the limits: what is imported needs room
            with limits():
                counts = run(name, inputs, given.seed, share)
        print(json.dumps(counts, ensure_ascii=False), flush=True)
        fell = fell or bool(counts["falls"])
    sys.exit(int(fell))


if __name__ == "__main__":
    main()
