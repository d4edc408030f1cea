"""The first steps after an installation, to run where no sources are: numbers, figures, a page."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # nothing is fetched

import comm

import attnwidget
from attnwidget import HeadView, explore, load_model, make_segments, measure

TEXT = "The captain told his men that he would not leave the ship."
NAMED = ("attnwidget", "python", "torch", "transformers", "numpy", "anywidget")


class CountingComm(comm.base_comm.BaseComm):
    """Counts the messages to a page, in place of a page."""

    messages = 0

    def publish_msg(self, *args: object, **keys: object) -> None:
        CountingComm.messages += 1


def main() -> None:
    """Print versions and numbers.

    Raises:
        RuntimeError: The package is imported from its sources, and not from an installation.
    """
    if "site-packages" not in Path(attnwidget.__file__).parts:
        raise RuntimeError(f"{attnwidget.__file__} is no installed package: run in another folder")
    versions = attnwidget.versions()
    print(", ".join(f"{name} {versions[name]}" for name in NAMED if name in versions))
    model = load_model()
    attention = model.attend(TEXT)
    print(f"L1 H3, from he to captain: {attention.weights(1, 3)[7, 2]:.4f}")
    entropy = measure(model, make_segments([TEXT], model), ["entropy"], progress=False)["entropy"]
    print(f"L1 H3, entropy: {entropy.entropy[1, 3]:.4f} nats")
    genre = load_model("attnwidget/genre").predict("Please send me the report by Monday.")
    print("genre:", genre.to_frame()["answer"][0])
    comm.create_comm = CountingComm
    with tempfile.TemporaryDirectory() as folder:
        view = HeadView(attention, layer=1, head=3)
        for kind in ("png", "svg", "pdf", "html"):
            view.save(Path(folder) / f"view.{kind}")
        explorer = explore(model, TEXT)
        explorer.wait()
        explorer.save(Path(folder) / "explorer.html")
        sizes = {path.name: path.stat().st_size for path in sorted(Path(folder).iterdir())}
        explorer.close()
    print(", ".join(f"{name} {size:,} bytes" for name, size in sizes.items()))
    print(f"the figures sent {CountingComm.messages} messages")
    print("first steps: done")


if __name__ == "__main__":
    main()
