"""Loading of atlases from files."""

from __future__ import annotations

import json
from pathlib import Path

from attnwidget.behaviors.head_atlas.atlas_json import decoded_notes, decoded_parts
from attnwidget.behaviors.head_atlas.atlas_result import Atlas
from attnwidget.behaviors.head_atlas.distances_json import decoded_distances
from attnwidget.behaviors.head_atlas.rules_json import decoded_rules
from attnwidget.hidden_frames import hides_frames
from attnwidget.text.given_paths import refuse_no_file


@hides_frames
def load_atlas(path: str | Path) -> Atlas:
    """Read an atlas that `Atlas.save` wrote. No model is needed.

    Raises:
        ValueError: If the file is not an atlas, or an atlas of another version.
        OSError: If the file cannot be read.

    Example:
        >>> import tempfile
        >>> from attnwidget import atlas, load_atlas, load_model, make_segments
        >>> model = load_model()
        >>> texts = make_segments(["The cat sat on the mat.", "It slept there."] * 4, model)
        >>> found = atlas(model, texts, treebank=(), behaviors=["previous token"], effects=False,
        ...     n_random_models=0, progress=False)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found.save(f"{folder}/atlas.json")
        ...     load_atlas(f"{folder}/atlas.json")
        Atlas(small BERT (in the package), 72 heads, ... named, 1 behavior)
    """
    path = Path(path)
    refuse_no_file(path, "an atlas that Atlas.save wrote (.json)")
    data = path.read_bytes()
    try:
        stored = json.loads(data.decode("utf-8", "surrogatepass"))
        if not isinstance(stored, dict):
            raise ValueError("it holds no object")
        return Atlas(
            **decoded_parts(stored),
            **decoded_rules(stored),
            distances=decoded_distances(stored),
            reasons=dict(stored["reasons"]),
            provenance=dict(stored["provenance"]),
            complete=bool(stored["complete"]),
            notes=decoded_notes(stored),
        )
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path} is no atlas that Atlas.save wrote: {error}") from error
