"""Atlases that a user stores for later sessions, next to the model cache."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from huggingface_hub import constants

from attnwidget.behaviors.head_atlas.atlas_file import load_atlas
from attnwidget.behaviors.head_atlas.atlas_result import Atlas
from attnwidget.behaviors.head_atlas.demo_atlas import own_atlas
from attnwidget.model_facts.pickled_model import weights_digest
from attnwidget.text.given_paths import make_folder

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


def keep_atlas(atlas: Atlas) -> Path:
    """Write an atlas to the Hugging Face cache, where `known_atlas` finds it; return its path.

    Raises:
        OSError: If the file cannot be written.
    """
    folder = make_folder(_folder(), "atlases")
    path = folder / f"{atlas.provenance['weights']}.json"
    atlas.save(path)
    return path


def known_atlas(model: AttentionModel) -> Atlas | None:
    """Return the bundled or stored atlas of a model; None if there is none.

    A stored atlas belongs to a model with the same weights and the same disabled heads. A file
    that this version cannot read is ignored.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.behaviors.head_atlas.kept_atlas import known_atlas
        >>> known_atlas(load_model())
        Atlas(small BERT (in the package), 72 heads, 38 named, 39 behaviors)
    """
    bundled = own_atlas(model)
    folder = _folder()
    if bundled is not None or not folder.is_dir():
        return bundled
    path = folder / f"{weights_digest(model.hf_model)}.json"
    try:
        stored = load_atlas(path)
    except (OSError, ValueError):
        return None
    return stored if stored.provenance.get("edits") == model.edits.digest else None


def _folder() -> Path:
    return Path(constants.HF_HOME) / "attnwidget" / "atlases"
