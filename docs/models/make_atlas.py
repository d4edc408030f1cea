"""Make the atlases that come with the package: of the embedded model, and of its sibling.

    python docs/models/make_atlas.py --out atlas.json
    python docs/models/make_atlas.py --model attnwidget/genre --out atlas_genre.json

An atlas is made from the texts and the treebank of the package. The file is small, because it has
few examples per head and rounded numbers.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attnwidget.behaviors.head_atlas.build_atlas import atlas
from attnwidget.capture.load import load_model
from attnwidget.text.atomic_file import write_whole

#: Number of examples of each kind.
K = 10
#: Significant digits of the numbers in the file.
DIGITS = 6


def rounded(value: Any) -> Any:
    """Return JSON with `DIGITS` significant digits per number.

    Example:
        >>> from make_atlas import rounded
        >>> rounded({"score": [0.123456789, 3, "nan"]})
        {'score': [0.123457, 3, 'nan']}
    """
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {name: rounded(inner) for name, inner in value.items()}
    return [rounded(inner) for inner in value] if isinstance(value, list) else value


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the atlas and write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="the JSON file")
    parser.add_argument("--model", help="a model of the package; the embedded model by default")
    parser.add_argument("--resume", type=Path, help="a folder that keeps finished work")
    options = parser.parse_args(arguments)
    model = load_model(options.model, device="cpu")
    atlas(model, n_examples=K, resume=options.resume).save(options.out)
    stored = rounded(json.loads(options.out.read_text("utf-8")))
    text = json.dumps(stored, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    write_whole(options.out, (text + "\n").encode("utf-8"))


if __name__ == "__main__":
    main()
