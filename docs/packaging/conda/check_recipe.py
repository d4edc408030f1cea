"""Render the recipe of the conda package without building it.

`python docs/packaging/conda/check_recipe.py`, with py-rattler-build installed. The checksum is that
of the environment, or zeros: rendering fetches nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

import rattler_build

os.environ.setdefault("ATTNWIDGET_SHA256", "0" * 64)


def main() -> None:
    path = Path(__file__).with_name("recipe.yaml")
    for variant in rattler_build.Stage0Recipe.from_file(path).render():
        recipe = variant.recipe.to_dict()
        package = recipe["package"]
        run = recipe["requirements"]["run"]
        print(
            f"{package['name']} {package['version']}: {len(run)} requirements, "
            f"{len(recipe['tests'])} tests"
        )


if __name__ == "__main__":
    main()
