"""Write the version, its date and the addresses of the project to all files that state them.

Each has one place: `attnwidget/__init__.py` the version, `CHANGELOG.md` its date, and
`pyproject.toml` the addresses (`[tool.hatch.metadata.hooks.custom.urls]`).

`python docs/stated_metadata.py` writes `CITATION.cff`, the conda recipe, and the version
of the page's code. With `--check` it writes nothing, and fails if a file is not current.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
#: Keys of the addresses in CITATION.cff and in the conda recipe, by their label in pyproject.toml.
CITATION_KEYS = {"Repository": "repository-code", "Documentation": "url"}
RECIPE_KEYS = {"Repository": "repository", "Documentation": "documentation"}


def stated_version() -> str:
    """Return the version of the package."""
    text = (ROOT / "attnwidget" / "__init__.py").read_text("utf-8")
    return _only(r'^__version__ = "(.+)"$', text, "attnwidget/__init__.py")


def stated_date() -> str:
    """Return the date of this version, from its heading in the changelog."""
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    heading = rf"^## {re.escape(stated_version())} \((\d{{4}}-\d\d-\d\d)\)$"
    return _only(heading, text, "CHANGELOG.md")


def stated_addresses() -> dict[str, str]:
    """Return the addresses of the project that are filled in, by label."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    hook = tomllib.loads(text)["tool"]["hatch"]["metadata"]["hooks"]["custom"]
    return {label: address for label, address in hook["urls"].items() if address}


def current_texts() -> dict[str, str]:
    """Return the text that each file must have, by its path."""
    version = stated_version()
    return {
        "CITATION.cff": _citation(_read("CITATION.cff"), version),
        "docs/packaging/conda/recipe.yaml": _recipe(_read("docs/packaging/conda/recipe.yaml")),
        "js/package.json": _first_version(_read("js/package.json"), version, 1),
        # The lock file has the version of the page's code twice, before all other versions.
        "js/package-lock.json": _first_version(_read("js/package-lock.json"), version, 2),
    }


def _citation(text: str, version: str) -> str:
    text = re.sub(r"^version: .*$", f"version: {version}", text, flags=re.MULTILINE)
    text = re.sub(r"^date-released: .*$", f"date-released: {stated_date()}", text, flags=re.M)
    return _with_addresses(text, CITATION_KEYS, after="license", indent="")


def _recipe(text: str) -> str:
    text = re.sub(r'^  version: ".*"$', f'  version: "{stated_version()}"', text, flags=re.M)
    return _with_addresses(text, RECIPE_KEYS, after="summary", indent="  ")


def _with_addresses(text: str, keys: dict[str, str], *, after: str, indent: str) -> str:
    """Return a YAML text with the addresses in place of former ones, after the line of a key."""
    for key in keys.values():
        text = re.sub(rf"^{indent}{key}: https://.*\n", "", text, flags=re.MULTILINE)
    addresses = stated_addresses()
    lines = [
        f"{indent}{key}: {addresses[label]}" for label, key in keys.items() if label in addresses
    ]
    line = _only(rf"^({indent}{after}: .*)$", text, after)
    return text.replace(f"{line}\n", "\n".join([line, *lines]) + "\n", 1)


def _first_version(text: str, version: str, count: int) -> str:
    """Return a JSON text with a version in place of its first ones."""
    return re.sub(r'"version": "[^"]*"', f'"version": "{version}"', text, count=count)


def _read(path: str) -> str:
    return (ROOT / path).read_text("utf-8")


def _only(pattern: str, text: str, place: str) -> str:
    """Return what the group of a pattern matches, which a text must have once."""
    matches = re.findall(pattern, text, re.MULTILINE)
    if len(matches) != 1:
        raise ValueError(f"{place} must have one line like {pattern}, has {len(matches)}")
    return str(matches[0])


def main() -> None:
    stale = [path for path, text in current_texts().items() if _read(path) != text]
    if "--check" in sys.argv[1:]:
        if stale:
            sys.exit(f"run `python docs/stated_metadata.py`: not current: {stale}")
        return
    for path in stale:
        (ROOT / path).write_text(current_texts()[path], "utf-8")
        print(path)


if __name__ == "__main__":
    main()
