"""Save the explorer that the README links to: `python docs/readme_page.py`.

Writes docs/images/explorer.html, a page that needs no kernel and no network. Its text is the first
example of the explorer. Tabs with the cards of heads and a treebank would make it ten times as
large.
"""

from __future__ import annotations

from pathlib import Path

from attnwidget import explore

PAGE = Path(__file__).parent / "images" / "explorer.html"


def main() -> None:
    """Write the page."""
    explorer = explore(panels=["grid", "view"])
    explorer.save(PAGE)
    print(f"{PAGE}: {PAGE.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
