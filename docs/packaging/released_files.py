"""Compare a wheel and a source archive with the files that a release must have.

`python docs/packaging/released_files.py dist/*` fails if a file is missing or was not expected.

The files follow from the repository, so that no list has to be kept:

- The wheel has all files of `attnwidget`, and the licences that `pyproject.toml` names.
- The source archive has all files that `[tool.hatch.build.targets.sdist]` includes.
"""

from __future__ import annotations

import fnmatch
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
#: Files that the build itself adds to the source archive.
BUILT = {"PKG-INFO", "pyproject.toml", ".gitignore"}


def tracked_files() -> list[str]:
    """Return the paths of all files of the repository."""
    run = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [path for path in run.stdout.split("\0") if path]


def licence_files() -> list[str]:
    """Return the paths of the licences that the package must have."""
    patterns = _pyproject()["project"]["license-files"]
    return [path for path in tracked_files() if _matches(path, patterns)]


def wheel_files() -> set[str]:
    """Return the paths of the package's files in a wheel, without its metadata."""
    return {path for path in tracked_files() if path.startswith("attnwidget/")}


def archive_files() -> set[str]:
    """Return the paths of all files in a source archive."""
    patterns = _pyproject()["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    included = {path for path in tracked_files() if _matches(path, patterns)}
    return included | BUILT | set(licence_files())


def faults(path: Path) -> list[str]:
    """Return a line for each file that a wheel or a source archive lacks or should not have.

    Args:
        path: File that ends with .whl or .tar.gz.
    """
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            names = {name for name in wheel.namelist() if not name.endswith("/")}
        metadata = {name for name in names if name.partition("/")[0].endswith(".dist-info")}
        licences = {name.partition("/licenses/")[2] for name in metadata}
        missing = [f"{name}: no licence" for name in licence_files() if name not in licences]
        return missing + _differences(names - metadata, wheel_files())
    with tarfile.open(path) as archive:
        names = {item.name.partition("/")[2] for item in archive.getmembers() if item.isfile()}
    return _differences(names, archive_files())


def _differences(names: set[str], expected: set[str]) -> list[str]:
    missing = [f"{name}: missing" for name in sorted(expected - names)]
    return missing + [f"{name}: not expected" for name in sorted(names - expected)]


def _matches(path: str, patterns: list[str]) -> bool:
    """Whether a path is one of the patterns, or in one of the folders that they name."""
    for pattern in patterns:
        plain = pattern.removeprefix("/")
        if path == plain or path.startswith(f"{plain}/"):
            return True
        is_near = path.count("/") == plain.count("/")
        if "*" in plain and is_near and fnmatch.fnmatchcase(path, plain):
            return True
    return False


def _pyproject() -> dict[str, dict]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def main() -> None:
    lines = [f"{name}: {line}" for name in sys.argv[1:] for line in faults(Path(name))]
    if not sys.argv[1:] or lines:
        sys.exit("\n".join(lines) or __doc__)
    print(
        f"{len(wheel_files())} files of the package, {len(archive_files())} of the source archive"
    )


if __name__ == "__main__":
    main()
