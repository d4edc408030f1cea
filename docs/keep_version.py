"""Keep the documentation of every version: `python keep_version.py SITE PAGES VERSION`.

PAGES is the folder that a web server shows. Each version has a folder in it. `index.html` leads to
the newest version, and `versions.html` lists all versions.
"""

from __future__ import annotations

import argparse
import re
import shutil
from pathlib import Path

_VERSION = re.compile(r"(?P<numbers>\d+(\.\d+)*)(?P<before>(a|b|rc)\d+)?")
_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>attnwidget: documentation</title>{head}</head>
<body>
<h1>Documentation of attnwidget</h1>
<ul>
{items}
</ul>
</body>
</html>
"""


def keep_version(site: Path, pages: Path, version: str) -> list[str]:
    """Put a site into the folder of its version, and return all versions, newest first.

    A version that is there already is replaced.

    Raises:
        ValueError: The version is no number such as 0.1.0, or the site has no index.html.
    """
    if not _VERSION.fullmatch(version):
        raise ValueError(f"a version is a number such as 0.1.0 or 0.2.0rc1, got {version!r}")
    if not (site / "index.html").is_file():
        raise ValueError(f"{site} has no index.html: build the site first (make docs)")
    shutil.rmtree(pages / version, ignore_errors=True)
    shutil.copytree(site, pages / version)
    folders = [path.name for path in pages.iterdir() if path.is_dir()]
    versions = sorted(filter(_VERSION.fullmatch, folders), key=_rank, reverse=True)
    newest = next((name for name in versions if _is_final(name)), versions[0])
    items = "\n".join(f'<li><a href="{name}/index.html">{name}</a></li>' for name in versions)
    leads = f'<meta http-equiv="refresh" content="0; url={newest}/index.html">'
    (pages / "index.html").write_text(_PAGE.format(head=leads, items=items), "utf-8")
    (pages / "versions.html").write_text(_PAGE.format(head="", items=items), "utf-8")
    # Without this file, GitHub Pages leaves out names that begin with an underscore.
    (pages / ".nojekyll").touch()
    return versions


def _is_final(version: str) -> bool:
    match = _VERSION.fullmatch(version)
    return match is not None and match["before"] is None


def _rank(version: str) -> tuple[list[int], bool, str, int]:
    """Return the place of a version: 0.2.0 comes after 0.2.0rc1, and 0.10.0 after 0.9.0."""
    match = _VERSION.fullmatch(version)
    assert match is not None
    numbers = [int(number) for number in match["numbers"].split(".")]
    before = match["before"] or ""
    letters = before.rstrip("0123456789")
    return numbers, not before, letters, int(before[len(letters) :] or 0)


def main() -> None:
    """Keep the site that the command line names, and print the versions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    parser.add_argument("pages", type=Path)
    parser.add_argument("version")
    arguments = parser.parse_args()
    print(*keep_version(arguments.site, arguments.pages, arguments.version))


if __name__ == "__main__":
    main()
