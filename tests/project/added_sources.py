"""The page on how to add: the files that it shows, and a copy of the sources that has them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "pages" / "about" / "how-to-add.md"
_SHOWN = re.compile(r'^```(?P<kind>\w+) title="(?P<path>[\w/.]+)"\n(?P<text>.*?)^```$', re.M | re.S)


@dataclass(frozen=True)
class ShownFile:
    """A file that the page shows, whole or as what changes in it.

    Attributes:
        path: from the root of the repository.
        text: all of it, or hunks of a diff, with a line of "@@" between two.
        changes: whether it is there already, and the text says what changes.
    """

    path: str
    text: str
    changes: bool

    def write(self, root: Path) -> None:
        """Apply it to the sources below `root`."""
        path = root / self.path
        if not self.changes:
            assert not path.exists(), f"{self.path} is there already: show what changes in it"
            path.parent.mkdir(exist_ok=True)
            path.write_text(self.text, "utf-8")
            return
        text = path.read_text("utf-8")
        for hunk in self.text.split("@@\n"):
            lines = hunk.splitlines(keepends=True)
            before = "".join(line[1:] or line for line in lines if line[0] != "+")
            after = "".join(line[1:] or line for line in lines if line[0] != "-")
            assert text.count(before) == 1, f"{self.path} has not, or not once:\n{before}"
            text = text.replace(before, after)
        path.write_text(text, "utf-8")


def section(title: str) -> str:
    """What the page says of one kind of thing."""
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE.read_text("utf-8"), re.M | re.S)
    assert found, f"the page on how to add has no section {title!r}"
    return found[1]


def shown_files(title: str) -> list[ShownFile]:
    """The files of an example, from the top."""
    return [
        ShownFile(found["path"], found["text"], found["kind"] == "diff")
        for found in _SHOWN.finditer(section(title))
    ]


def build_with(shown: Sequence[ShownFile], copy: Path) -> str:
    """Copy the package to `copy`, add what the page shows, build the bundles; returns node.

    The copy has the embedded models as links, so that its figures can ask a model.
    """
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed: the examples cannot be built")
    if not (ROOT / "js" / "node_modules").is_dir():
        pytest.skip("js/node_modules is missing: run `make build` once")
    leave = shutil.ignore_patterns("__pycache__", "*.safetensors")
    shutil.copytree(ROOT / "attnwidget", copy / "attnwidget", ignore=leave)
    for weights in (ROOT / "attnwidget").rglob("*.safetensors"):
        (copy / weights.relative_to(ROOT)).symlink_to(weights)
    shutil.copytree(ROOT / "js" / "src", copy / "js" / "src")
    for name in ("build.mjs", "figure_modules.mjs", "tsconfig.json"):
        shutil.copy(ROOT / "js" / name, copy / "js")
    (copy / "js" / "node_modules").symlink_to(ROOT / "js" / "node_modules")
    for file in shown:
        file.write(copy)
    subprocess.run([node, "build.mjs", "--quiet"], cwd=copy / "js", check=True)
    return node
