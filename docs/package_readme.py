"""The README as the package index shows it: with absolute links instead of relative ones."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(?P<image>!?)(?P<label>\[[^\]]*\])\((?!https?:|#)(?P<target>[^)\s]+)\)")


class PackageReadme(MetadataHookInterface):
    """Metadata hook of the build: adds the README to the metadata of the package."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set `readme`, with links to the repository that the environment names."""
        text = (Path(self.root) / "README.md").read_text("utf-8")
        address = repository_address(os.environ)
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": absolute_links(text, *address) if address else text,
        }


def repository_address(environ: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the address of the repository and its commit, as GitHub Actions states both.

    None outside of GitHub Actions: the address of a copy on a developer's machine is unknown, so
    links of a package that is built there stay relative.
    """
    names = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_SHA")
    if not all(environ.get(name) for name in names):
        return None
    server, repository, commit = (environ[name] for name in names)
    return f"{server}/{repository}", commit


def absolute_links(text: str, address: str, commit: str) -> str:
    """Return Markdown whose relative links lead to the files of one commit of a repository."""

    def absolute(link: re.Match[str]) -> str:
        kind = "raw" if link["image"] else "blob"
        return f"{link['image']}{link['label']}({address}/{kind}/{commit}/{link['target']})"

    return _LINK.sub(absolute, text)
