"""The sweep over all architectures: one process for each type, with limits; a table at the end.

`PYTHONPATH=.:tests python -m sweep.run` runs it; `make sweep` writes the page of the documentation
as well. The exit status is 1 if a type differs from its model without saying so.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import select
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
import transformers

from sweep.architectures import architectures
from sweep.comparisons import FAILURES, ClassResult, Comparison, Outcome, compare_class

#: Seconds that one type may take, and memory that its process may add to what it begins with.
SECONDS = 120.0
BYTES = 4 * 2**30


@dataclass
class TypeResult:
    """What the sweep found of one type, all of its classes together."""

    model_type: str
    outcome: Outcome
    classes: list[ClassResult] = field(default_factory=list)
    seconds: float = 0.0


def sweep_type(model_type: str) -> TypeResult:
    """Compare every class of a type, in this process.

    The type is "equal" if one class is equal and none fails, "refused" if one is refused and none
    is equal.
    """
    start = time.perf_counter()
    classes = [compare_class(model_type, name) for name in architectures()[model_type]]
    outcomes = {result.outcome for result in classes}
    order: tuple[Outcome, ...] = (*FAILURES, "equal", "refused", "not built")
    outcome = next(outcome for outcome in order if outcome in outcomes)
    return TypeResult(model_type, outcome, classes, time.perf_counter() - start)


def sweep_apart(model_type: str) -> TypeResult:
    """The same in a process of its own, which is ended at the limits of time and memory."""
    start = time.perf_counter()
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reader)
        _work(model_type, writer)
    os.close(writer)
    written = b""
    with os.fdopen(reader, "rb", buffering=0) as pipe:
        while (left := SECONDS - (time.perf_counter() - start)) > 0:
            ready, _, _ = select.select([pipe], [], [], left)
            block = pipe.read(1 << 16) if ready else b""
            if not block:
                break
            written += block
    seconds = time.perf_counter() - start
    if seconds >= SECONDS:
        os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    try:
        return result_of(json.loads(written))
    except json.JSONDecodeError:
        limit = f"it took more than {SECONDS:.0f} s" if seconds >= SECONDS else ""
        reason = limit or f"its process ended with status {status}"
        failed = [ClassResult(name, "error", reason) for name in architectures()[model_type]]
        return TypeResult(model_type, "error", failed, seconds)


def _work(model_type: str, writer: int) -> None:
    """Sweep a type in a forked process, and end it."""
    status = 1
    try:
        held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (held + BYTES, held + BYTES))
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(json.dumps(asdict(sweep_type(model_type))).encode())
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def result_of(fields: dict[str, object]) -> TypeResult:
    """The result that `dataclasses.asdict` made these fields of."""
    classes = []
    for given in fields.pop("classes"):  # type: ignore[attr-defined]
        comparisons = [Comparison(**comparison) for comparison in given.pop("comparisons")]
        classes.append(ClassResult(**given, comparisons=comparisons))
    return TypeResult(**fields, classes=classes)  # type: ignore[arg-type]


def failures_of(result: TypeResult) -> list[str]:
    """A line for every comparison of a type that fails the sweep."""
    lines = []
    for of_class in result.classes:
        where = f"{result.model_type} ({of_class.class_name})"
        if of_class.outcome in FAILURES and not of_class.comparisons:
            lines.append(f"{where}: {of_class.reason}")
        for comparison in of_class.comparisons:
            if comparison.outcome in FAILURES:
                by = "" if comparison.difference is None else f" by {comparison.difference:.2g}"
                said = f"{comparison.outcome}{by} {comparison.reason}".strip()
                lines.append(f"{where}, {comparison.name}: {said}")
    return lines


def quiet() -> None:
    """One thread, and no warnings of models with random weights."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()


def main() -> int:
    """Sweep the types that the command line names, all of them without a name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("types", nargs="*", metavar="type", help="configuration types; none = all")
    parser.add_argument("--results", type=Path, help="file of JSON to write all numbers to")
    parser.add_argument("--page", type=Path, help="page of the documentation to write")
    options = parser.parse_args()
    types = options.types or list(architectures())
    if unknown := set(types) - set(architectures()):
        parser.error(f"transformers {transformers.__version__} registers no {sorted(unknown)}")
    quiet()
    results = []
    for number, model_type in enumerate(types, 1):
        result = sweep_apart(model_type)
        results.append(result)
        place = f"{number:{len(str(len(types)))}}/{len(types)}"
        print(f"{place} {model_type}: {result.outcome} ({result.seconds:.1f} s)", flush=True)
    if options.results:
        options.results.parent.mkdir(parents=True, exist_ok=True)
        options.results.write_text(json.dumps([asdict(result) for result in results], indent=1))
    if options.page:
        from sweep.models_page import models_page

        options.page.write_text(models_page(results), encoding="utf-8")
        print(f"wrote {options.page}")
    counts = Counter(result.outcome for result in results)
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))
    failed = [line for result in results for line in failures_of(result)]
    if failed:
        print(f"\n{len(failed)} comparisons fail:", *failed, sep="\n", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
