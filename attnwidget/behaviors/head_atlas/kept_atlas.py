"""Atlases that a reader keeps for the next time, beside the cache of models."""

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
    """Write an atlas into the cache of Hugging Face, where `known_atlas` finds it; return its file.

    Raises:
        OSError: The file cannot be written.
    """
    folder = make_folder(_folder(), "atlases")
    path = folder / f"{atlas.provenance['weights']}.json"
    atlas.save(path)
    return path


def known_atlas(model: AttentionModel) -> Atlas | None:
    """Return the atlas that comes with a model or was kept for it; None for neither.

    A kept atlas belongs to a model of the same weights, with the same heads switched off. A file
    that this version does not read counts as none.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.behaviors.head_atlas.kept_atlas import known_atlas
        >>> known_atlas(load_model())
        Atlas(small BERT (in the package), 72 heads, 38 named, 39 behaviors)
    """
    own = own_atlas(model)
    folder = _folder()
    if own is not None or not folder.is_dir():
        return own
    path = folder / f"{weights_digest(model.hf_model)}.json"
    try:
        kept = load_atlas(path)
    except (OSError, ValueError):
        return None
    return kept if kept.provenance.get("edits") == model.edits.digest else None


def _folder() -> Path:
    return Path(constants.HF_HOME) / "attnwidget" / "atlases"
