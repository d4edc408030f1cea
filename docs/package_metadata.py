"""Metadata that the build adds to the package: the README with absolute links, and addresses."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(?P<image>!?)(?P<label>\[[^\]]*\])\((?!https?:|#)(?P<target>[^)\s]+)\)")


class PackageMetadata(MetadataHookInterface):
    """Metadata hook of the build: adds the README and the addresses to the metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set `readme`, with links to the repository, and `urls`.

        Args:
            metadata: Metadata of the package, which this method changes.
        """
        text = (Path(self.root) / "README.md").read_text("utf-8")
        address = repository_address(os.environ)
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": absolute_links(text, *address) if address else text,
        }
        metadata["urls"] = stated_addresses(self.config.get("urls", {}))


def stated_addresses(addresses: Mapping[str, str]) -> dict[str, str]:
    """Return the addresses that are filled in.

    Args:
        addresses: Addresses by their label in the metadata, "" if the project has none yet.

    Raises:
        ValueError: An address does not begin with https://.
    """
    for label, address in addresses.items():
        if address and not re.fullmatch(r"https://[^\s/]+\.[^\s]+", address):
            raise ValueError(f"the address {label!r} must begin with https://, got {address!r}")
    return {label: address for label, address in addresses.items() if address}


def repository_address(environ: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the address of the repository and its commit, as GitHub Actions states both.

    The result is None outside of GitHub Actions: a commit on a developer's machine may not be
    public, so links of a package that is built there stay relative.

    Args:
        environ: Environment variables.
    """
    names = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_SHA")
    if not all(environ.get(name) for name in names):
        return None
    server, repository, commit = (environ[name] for name in names)
    return f"{server}/{repository}", commit


def absolute_links(text: str, address: str, commit: str) -> str:
    """Return Markdown whose relative links lead to the files of one commit of a repository.

    Args:
        text: Markdown with relative links.
        address: Address of the repository.
        commit: Hash of the commit.
    """

    def absolute(link: re.Match[str]) -> str:
        kind = "raw" if link["image"] else "blob"
        return f"{link['image']}{link['label']}({address}/{kind}/{commit}/{link['target']})"

    return _LINK.sub(absolute, text)
