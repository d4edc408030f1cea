"""Studies that are killed, interrupted or refused room at random moments, and taken up again.

Each run is a fork of a process that has built the models, so that a cycle costs little. What was
taken up must end in the bits of a run that nothing happened to, and leave the same files.
"""

from __future__ import annotations

import argparse
import dataclasses
import errno
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import torch

from attnwidget import ablate, compare, load_model, make_segments, measure
from attnwidget.corpus import resume_file
from attnwidget.probes import (
    features,
    train_dependency_probe,
    train_pair_probe,
    train_structural_probe,
)
from attnwidget.probes.dependency import probe_fitting as fitting
from attnwidget.text.treebank import Sentence
from fixtures import zoo
from fixtures.planted_probes import sentences
from fixtures.vocabularies import word_tokenizer

#: Seconds that a run may take.
LIMIT = 120
#: What happens to a run: at a moment of its time or at a step that it takes on files.
FAULTS = ("kill", "interrupt", "full disk", "read-only folder")


def save_often() -> None:
    """Small studies are saved as often as large ones are in hours."""
    resume_file._SECONDS_BETWEEN_SAVES = 0
    fitting._SECONDS_BETWEEN_SAVES = 0
    fitting._KEPT_EVERY = 3
    features._SECONDS_BETWEEN_FLUSHES = 0


@cache
def model(name: str = "bert") -> Any:
    return load_model(zoo.build(name), word_tokenizer())


@cache
def texts() -> list[str]:
    draw = random.Random(0)
    return [
        " ".join(f"w{draw.randrange(90)}" for _ in range(draw.randint(3, 12))) for _ in range(16)
    ]


@cache
def trees(n: int, seed: int) -> list[Sentence]:
    found = []
    for one in sentences(n, seed=seed):
        sides = ["root" if not g else "left" if g < i else "right" for i, g in _numbered(one)]
        found.append(Sentence.from_lists(one.words, one.governors, sides, name=one.name))
    return found


def _numbered(one: Sentence) -> Sequence[tuple[int, int]]:
    return [*enumerate(one.governors, 1)]


def _measure(folder: Path) -> Any:
    return measure(
        model(),
        make_segments(texts(), model()),
        ["entropy", "position", "distances"],
        batch_size=2,
        resume=folder / "run.npz",
        progress=False,
    )


def _compare(folder: Path) -> Any:
    return compare(
        model(),
        model("roberta"),
        make_segments(texts()[:8], model()),
        batch_size=2,
        resume=folder / "run.npz",
        progress=False,
    )


def _ablate(folder: Path) -> Any:
    return ablate(
        model("gpt2"),
        make_segments(texts(), model("gpt2")),
        scoring="loss",
        batch_size=2,
        resume=folder / "run.npz",
        progress=False,
    )


def _probe(folder: Path) -> Any:
    return train_dependency_probe(
        model(),
        trees(16, 0),
        trees(6, 1),
        seeds=2,
        control=True,
        description_length=True,
        batch_size=4,
        cache=folder / "maps",
        resume=folder / "run.npz",
        progress=False,
    )


def _structural(folder: Path) -> Any:
    return train_structural_probe(
        model(),
        trees(20, 0),
        trees(6, 1),
        layers=[1],
        rank=4,
        epochs=5,
        cache=folder / "vectors",
        resume=folder / "run.npz",
        progress=False,
    )


def _pairs(folder: Path) -> Any:
    return train_pair_probe(
        model(),
        trees(20, 0),
        trees(6, 1),
        min_count=2,
        epochs=4,
        cache=folder / "maps",
        resume=folder / "run.npz",
        progress=False,
    )


STUDIES: dict[str, Callable[[Path], Any]] = {
    "measure": _measure,
    "compare": _compare,
    "ablate": _ablate,
    "train_dependency_probe": _probe,
    "structural_probe": _structural,
    "train_pair_probe": _pairs,
}


def bits(result: object) -> str:
    """A hash of every number and word of a result, but for the model in it."""
    digest = blake2b(digest_size=16)

    def add(value: Any) -> None:
        digest.update(type(value).__name__.encode())
        if isinstance(value, torch.Tensor):
            value = value.detach().numpy()
        if isinstance(value, np.ndarray) and value.dtype != object:
            digest.update(f"{value.dtype} {value.shape}".encode() + value.tobytes())
        elif isinstance(value, Mapping):
            for key in value:
                digest.update(repr(key).encode())
                add(value[key])
        elif isinstance(value, (list, tuple)):
            for one in value:
                add(one)
        elif dataclasses.is_dataclass(value):
            for field in dataclasses.fields(value):
                if field.name != "model":
                    add(getattr(value, field.name))
        elif value is None or isinstance(value, (str, int, float, np.generic)):
            digest.update(repr(value).encode())
        else:
            raise TypeError(f"no bits of {type(value).__name__}")

    add(result)
    return digest.hexdigest()


def files_in(folder: Path) -> dict[str, str]:
    """What there is in a folder: a hash of each file by its name."""
    return {
        str(path.relative_to(folder)): blake2b(path.read_bytes(), digest_size=16).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@dataclasses.dataclass
class Ended:
    """How a run ended.

    Attributes:
        how: "done", "raised", "killed" by a signal or "hung".
        said: of an error, its class and words.
        bits: of a result.
        complete: whether the result says that it is all.
        steps: what it did with files.
        seconds: from its start on.
    """

    how: str
    said: str = ""
    bits: str = ""
    complete: bool = True
    steps: int = 0
    seconds: float = 0.0


class _Steps:
    """Counts what a run does with files in a folder, and does something at one of these steps."""

    def __init__(self, folder: Path, at: int | None, do: Callable[[], None]) -> None:
        self.count = 0
        self._at = at
        self._do = do
        self._folder = str(folder)
        sys.addaudithook(self._see)

    def _see(self, event: str, arguments: Any) -> None:
        if event == "open":
            flags = arguments[2] if isinstance(arguments[2], int) else 0
            changes = bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        else:
            changes = event in ("os.rename", "os.remove", "os.truncate")
        if changes and str(arguments[0]).startswith(self._folder):
            self.count += 1
            if self._at is not None and self.count >= self._at:
                self._do()


def _child(study: str, folder: Path, fault: str, step: int | None, limit: int | None) -> Ended:
    """Run a study in this process, with a fault at a step."""

    def happens() -> None:
        steps._at = None
        if fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif fault == "interrupt":
            os.kill(os.getpid(), signal.SIGINT)
        elif fault == "full disk":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def refuse() -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    if fault == "read-only folder":
        steps = _Steps(folder, 1, refuse)
    else:
        steps = _Steps(folder, step, happens)
    if limit is not None:  # a write beyond it is the kernel's error, in the midst of a file
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    start = time.monotonic()
    try:
        result = STUDIES[study](folder)
        complete = bool(getattr(result, "complete", True))
        ended = Ended("done", bits=bits(_said_by(result)), complete=complete)
    except BaseException as error:
        ended = Ended("raised", said=f"{type(error).__name__}: {error}")
        if not isinstance(error, (KeyboardInterrupt, OSError)):
            ended.said += f"\n{traceback.format_exc()[-1500:]}"
    ended.steps = steps.count
    ended.seconds = time.monotonic() - start
    return ended


def _said_by(result: Any) -> Any:
    if hasattr(result, "heads") and not dataclasses.is_dataclass(result):
        return {name: result[name] for name in result}, result.n_segments
    return result


def run(
    study: str,
    folder: Path,
    fault: str = "",
    *,
    after: float | None = None,
    step: int | None = None,
    limit: int | None = None,
) -> Ended:
    """Run a study in a fork.

    Args:
        study: one of `STUDIES`.
        folder: where its files are.
        fault: one of `FAULTS`, or "".
        after: seconds after which a signal is sent.
        step: the step on files at which it happens.
        limit: bytes that a file may have.
    """
    told, tell = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(told)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.write(tell, b"\n")
            ended = _child(study, folder, fault, step, limit)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
            os.write(tell, json.dumps(dataclasses.asdict(ended)).encode())
        except KeyboardInterrupt:  # after the study, or before it
            os.write(tell, json.dumps(dataclasses.asdict(Ended("late"))).encode())
        finally:
            os._exit(0)
    os.close(tell)
    with open(told, "rb") as answer:
        answer.readline()
        if after is not None:
            time.sleep(after)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL if fault == "kill" else signal.SIGINT)
        signal.signal(signal.SIGALRM, lambda *_: os.kill(pid, signal.SIGKILL))
        signal.alarm(LIMIT)
        data = answer.read()
        _, status = os.waitpid(pid, 0)
        hung = signal.alarm(0) == 0
    if hung:
        return Ended("hung")
    return (
        Ended(**json.loads(data))
        if data
        else Ended("killed", str(os.waitstatus_to_exitcode(status)))
    )


@dataclasses.dataclass
class Whole:
    """A run that nothing happened to: its result, files, time, steps on files, files' bytes."""

    bits: str
    files: dict[str, str]
    seconds: float
    steps: int
    sizes: list[int]


def whole(study: str, folder: Path) -> Whole:
    found = run(study, folder)
    if found.how != "done":
        raise RuntimeError(f"{study} fails by itself: {found.said}")
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return Whole(found.bits, files_in(folder), found.seconds, found.steps, sizes)


@contextmanager
def really(fault: str, mounted: Path, room: int) -> Iterator[None]:
    """A file system of root's that has so many bytes of room in the block, or is read-only."""
    filler = mounted / "filler"
    if fault == "full disk":
        free = shutil.disk_usage(mounted).free
        filler.write_bytes(b"x" * max(0, free - room))
    else:
        subprocess.run(["mount", "-o", "remount,ro", str(mounted)], check=True)
    try:
        yield
    finally:
        if fault != "full disk":
            subprocess.run(["mount", "-o", "remount,rw", str(mounted)], check=True)
        filler.unlink(missing_ok=True)


def cycle(
    study: str,
    fault: str,
    expected: Whole,
    folder: Path,
    draw: random.Random,
    mounted: Path | None,
) -> Counter[str]:
    """A study with a fault or two, taken up until it is done; what became of it.

    `mounted` is the small file system that `folder` is on, where there is one.

    Raises:
        AssertionError: something fell.
    """
    found: Counter[str] = Counter()
    if fault in ("full disk", "read-only folder") and draw.random() < 0.7:
        # Something to lose.
        run(study, folder, "kill", step=draw.randint(2, expected.steps))
    for _ in range(1 if draw.random() < 0.7 else 2):
        before = files_in(folder)
        moment: dict[str, Any] = {}
        if fault in ("kill", "interrupt") and draw.random() < 0.6:
            moment["after"] = draw.uniform(0, 1.05 * expected.seconds)
        elif fault == "full disk" and draw.random() < 0.5:
            moment["limit"] = draw.randint(0, max(expected.sizes))
        else:
            moment["step"] = draw.randint(1, expected.steps)
        if mounted is not None:
            with really(fault, mounted, draw.randint(0, 2 * sum(expected.sizes))):
                ended = run(study, folder)
        else:
            ended = run(study, folder, fault, **moment)
        how = judged(fault, ended, folder, expected)
        if fault == "interrupt" and ended.how == "raised":
            kept = files_in(folder).get("run.npz") != before.get("run.npz")
            how += ", with work of its own in the resume file" if kept else ""
        found[how] += 1
        if fault in ("full disk", "read-only folder") and ended.how == "raised":
            _nothing_lost(before, files_in(folder), fault)
    ended = run(study, folder)
    assert ended.how == "done" and ended.complete, f"taken up: {ended.how} {ended.said}"
    assert ended.bits == expected.bits, "taken up: other bits"
    left = files_in(folder)
    # Of a file that was whole when its writer was killed: nobody writes it again, nor locks it.
    left = {name: one for name, one in left.items() if not name.endswith("features.bin.lock")}
    assert left == expected.files, f"files: {_differing(left, expected.files)}"
    return found


def judged(fault: str, ended: Ended, folder: Path, expected: Whole) -> str:
    """What became of a run with a fault; AssertionError where that is not as documented."""
    if ended.how == "late":
        return "ended before"
    if ended.how == "done" and ended.complete:
        assert ended.bits == expected.bits, f"{fault}: other bits without a word"
        return "ended before"
    if fault == "kill":
        assert ended.how == "killed", f"{ended.how} {ended.said}"
        return "killed"
    if fault == "interrupt":
        if ended.how == "done":
            return "returned what is done"
        assert ended.said.startswith("KeyboardInterrupt"), f"{ended.how} {ended.said}"
        return "raised KeyboardInterrupt"
    kinds = (
        "OSError: [Errno",
        "PermissionError: [Errno",
        "OSError: the maps",
        "OSError: the hidden",
    )
    assert ended.how == "raised" and ended.said.startswith(kinds), f"{ended.how} {ended.said}"
    assert f"'{folder}/" in ended.said and ".part'" not in ended.said, f"unnamed: {ended.said}"
    return "raised OSError"


def _nothing_lost(before: Mapping[str, str], after: Mapping[str, str], fault: str) -> None:
    gone = [name for name in before if name not in after and not name.endswith((".part", ".lock"))]
    assert not gone, f"{fault}: {gone} are gone"
    changed = _differing(before, {name: after.get(name, "") for name in before})
    assert fault != "read-only folder" or not changed, f"{fault}: {changed} were changed"
    litter = [name for name in after if name.endswith((".part", ".lock")) and name not in before]
    assert not litter, f"{fault}: {litter} are left"


def _differing(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    return sorted(name for name in {*one, *other} if one.get(name) != other.get(name))


def campaign(
    study: str,
    fault: str,
    count: int,
    seed: int,
    seconds: float | None = None,
    mounted: Path | None = None,
) -> dict[str, Any]:
    """Counts of what became of so many faults that hit a study, and what fell."""
    found: Counter[str] = Counter()
    falls: list[str] = []
    start = time.monotonic()
    number = 0
    with tempfile.TemporaryDirectory() as place:
        expected = whole(study, Path(place))
    while found.total() - found["ended before"] < count and number < 5 * count:
        if seconds is not None and time.monotonic() - start > seconds:
            break
        draw = random.Random(f"{study} {fault} {seed} {number}")
        with tempfile.TemporaryDirectory(dir=mounted) as place:
            try:
                found += cycle(study, fault, expected, Path(place), draw, mounted)
            except AssertionError as error:
                found["fell"] += 1
                falls.append(f"cycle {number}: {error}")
        number += 1
    return {
        "study": study,
        "fault": fault,
        "seed": seed,
        "cycles": number,
        **dict(sorted(found.items())),
        "a whole run": f"{expected.seconds:.2f} s, {expected.steps} steps on files",
        "falls": falls[:20],
        "seconds": round(time.monotonic() - start, 1),
    }


def main() -> None:
    """Print counts, one JSON a line for each study and fault; exit 1 where something fell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="*", help=f"of {', '.join(STUDIES)}; all without one")
    parser.add_argument("--faults", nargs="*", choices=FAULTS, default=FAULTS)
    parser.add_argument("--count", type=int, default=50, help="faults that hit, a study and fault")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, help="for all together")
    parser.add_argument(
        "--mounted", type=Path, help="a small file system of root's, to be full and read-only"
    )
    given = parser.parse_args()
    torch.set_num_threads(1)  # a fork has no threads but its own
    save_often()
    asked = [(study, fault) for study in given.studies or STUDIES for fault in given.faults]
    for name in ("bert", "gpt2", "roberta"):
        model(name)
    share = None if given.seconds is None else given.seconds / len(asked)
    fell = False
    for study, fault in asked:
        counts = campaign(study, fault, given.count, given.seed, share, given.mounted)
        print(json.dumps(counts), flush=True)
        fell = fell or bool(counts["falls"])
    sys.exit(int(fell))


if __name__ == "__main__":
    main()
