"""JSON form of the distances of an atlas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from attnwidget.behaviors.examples.link_distances import DISTANCES, LinkDistances
from attnwidget.behaviors.head_atlas.atlas_json import plain_json


def encoded_distances(found: LinkDistances | None) -> dict[str, Any]:
    """Return distances as a part of the JSON of an atlas; {} without distances."""
    if found is None:
        return {}
    shares = plain_json(found.shares.tolist())
    return {"distances": {"shares": shares, "n_segments": found.n_segments}}


def decoded_distances(stored: Mapping[str, Any]) -> LinkDistances | None:
    """Return the distances of an atlas from its JSON; None if the file has none.

    Raises:
        ValueError, KeyError, TypeError: If parts are missing or have another form.
    """
    part = stored.get("distances")
    if part is None:
        return None
    # "nan" is a text in JSON.
    shares = np.array(part["shares"], dtype=object).astype(np.float64)
    if shares.ndim != 3 or len(shares) != len(DISTANCES):
        raise ValueError(
            f"distances must have {len(DISTANCES)} shares per head, got an array {shares.shape}"
        )
    return LinkDistances(shares, int(part["n_segments"]), model_name=str(stored["model"]))
