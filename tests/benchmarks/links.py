"""Cost of explaining one link, after the attention was read.

Run by `make bench`, with the embedded model and a text of about 20 tokens.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from attnwidget import load_model
from attnwidget.mechanisms import explain_link, key_biplot, score_at_distances, score_sources

TEXT = "The cat sat on the mat, and the dog that had barked at the moon slept near the river."


def least(run: Callable[[], object], times: int = 7) -> float:
    """The least time of a run in ms."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return 1000 * min(seconds)


def main() -> None:
    attention = load_model(device="cpu").attend(TEXT)
    print(f"explain_link: {least(lambda: explain_link(attention, 2, 8, 2, 3)):.1f} ms (30 allowed)")
    moved = least(lambda: score_at_distances(attention, 0, 8, 2, 3, range(-5, 2)))
    print(f"score_at_distances, layer 0: {moved:.1f} ms")
    first = least(lambda: score_sources(attention, 5, 3, 2, 3), times=1)
    again = least(lambda: score_sources(attention, 5, 3, 2, 3))
    print(f"score_sources, layer 5: {first:.0f} ms with the recorded pass, then {again:.0f} ms")
    print(f"key_biplot: {least(lambda: key_biplot(attention, 2, 8)):.1f} ms")


if __name__ == "__main__":
    main()
