"""Download of Universal Dependencies treebanks to a local folder."""

from __future__ import annotations

import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from hashlib import sha1
from pathlib import Path
from typing import Any, Literal

from attnwidget.hidden_frames import hides_frames
from attnwidget.text.atomic_file import write_whole
from attnwidget.text.given_paths import make_folder, refuse_no_folder

_LISTING = "https://api.github.com/repos/UniversalDependencies/{name}/contents?ref={release}"
_SITE = "https://universaldependencies.org"
_SECONDS = 30


@hides_frames
def fetch_treebank(
    name: str,
    *,
    split: Literal["train", "dev", "test"] = "dev",
    release: str = "r2.16",
    folder: str | Path | None = None,
) -> Path:
    """Return the path of a Universal Dependencies treebank, which the first call downloads.

    `load_treebank` reads the file. The treebank is downloaded from its repository on GitHub,
    checked against the checksum in GitHub's file list, and saved with its license.

    Args:
        name: Name of the treebank, such as "UD_English-EWT".
        split: Part of the treebank: "train", "dev" or "test". Small treebanks have no "train", and
            some only "test".
        release: Tag of the release.
        folder: Folder for the file; None = `attnwidget/treebanks` in the user's cache folder
            (`XDG_CACHE_HOME`, or `~/.cache`).

    Returns:
        The path of the .conllu file.

    Raises:
        ValueError: There is no treebank, release or split with this name.
        ConnectionError: There is no network, or the server does not respond; the message explains
            how to continue without a network.
        OSError: The folder cannot be written, or is a file.

    Example:
        >>> from attnwidget import fetch_treebank, load_treebank
        >>> len(load_treebank(fetch_treebank("UD_English-EWT")))  # doctest: +SKIP
        2001
    """
    if not re.fullmatch(r"UD_[\w-]+", name):
        raise ValueError(f"name a treebank as {_SITE} does, 'UD_English-EWT', not {name!r}")
    if not re.fullmatch(r"[\w.-]+", release):
        raise ValueError(f"release is a tag such as 'r2.16', got {release!r}")
    if split not in ("train", "dev", "test"):
        raise ValueError(f"split must be 'train', 'dev' or 'test', got {split!r}")
    if folder is not None and os.path.lexists(folder):
        refuse_no_folder(folder, "a folder for treebanks")
    target_folder = (Path(folder) if folder is not None else _cache()) / name / release
    if cached := sorted(target_folder.glob(f"*-ud-{split}.conllu")):
        return cached[0]
    listing = json.loads(_get(_LISTING.format(name=name, release=release), name, release))
    files = {entry["name"]: entry for entry in listing if entry.get("type") == "file"}
    treebank_files = sorted(file for file in files if re.fullmatch(r"[\w-]+-ud-\w+\.conllu", file))
    split_files = [file for file in treebank_files if file.endswith(f"-ud-{split}.conllu")]
    if not split_files:
        raise ValueError(
            f"{name} {release} has no {split!r} file, but {', '.join(treebank_files) or 'none'}"
        )
    make_folder(target_folder, "the treebank")
    for file in [*(f for f in ("LICENSE.txt", "README.md") if f in files), split_files[0]]:
        _keep(files[file], target_folder / file, name, release)
    return target_folder / split_files[0]


def _cache() -> Path:
    """Return the default folder for treebanks."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "attnwidget/treebanks")


def _keep(entry: Mapping[str, Any], path: Path, name: str, release: str) -> None:
    """Download one file completely, or leave no file."""
    content = _get(entry["download_url"], name, release)
    if sha1(b"blob %d\0" % len(content) + content).hexdigest() != entry["sha"]:
        raise ConnectionError(f"{path.name} of {name} arrived damaged: fetch it again")
    write_whole(path, content)


def _get(url: str, name: str, release: str) -> bytes:
    """Return the content of a URL; raise an error with advice if it cannot be downloaded."""
    request = urllib.request.Request(url, headers={"User-Agent": "attnwidget"})
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as response:
            content: bytes = response.read()
            return content
    except urllib.error.HTTPError as error:
        if error.code == 404:
            raise ValueError(
                f"there is no treebank {name} of release {release}: names and releases are at "
                f"{_SITE}"
            ) from error
        raise ConnectionError(_without(name, f"the server said {error.code}")) from error
    except OSError as error:
        raise ConnectionError(_without(name, str(error))) from error


def _without(name: str, reason: str) -> str:
    """Return the message for a failed download."""
    return (
        f"{name} could not be fetched ({reason}): fetch_treebank needs a network. Without one, "
        f"bring its .conllu file from {_SITE} and pass its path to load_treebank"
    )
