"""Means over segments for each token class, for comparison in one figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from attnwidget.corpus.accumulator import Batch, R
from attnwidget.corpus.segment_means import SegmentMeans
from attnwidget.corpus.token_classes import STANDARD_CLASSES, TokenClass, described

OTHER = "other tokens"


class ClassMeans(SegmentMeans[R]):
    """Means over segments for token classes that together include all tokens.

    The classes are the standard classes, the user's classes, and "other tokens" (in no other
    class). The count "with_class" is the number of segments that have a token of each class.

    Args:
        classes: Additional classes by name.
    """

    def __init__(self, classes: Mapping[str, TokenClass] | None) -> None:
        self._asked = dict(classes or {})
        self._names = (*STANDARD_CLASSES, *self._asked, OTHER)
        self.of_segments = {"with_class": (len(self._names),)}

    @property
    def options(self) -> dict[str, Any]:
        return {"classes": described(self._asked)}

    @property
    def token_classes(self) -> Mapping[str, TokenClass]:
        return self._asked

    def members(self, batch: Batch) -> Tensor:
        """Return the mask of the tokens in each class, bool [B, C, n].

        Args:
            batch: Segments of the batch.
        """
        class_masks = torch.stack([batch.classes[name] for name in self._names[:-1]], dim=1)
        other = batch.real & ~class_masks.any(1)
        return torch.cat([class_masks, other[:, None]], dim=1)

    def shown(self) -> list[int]:
        """Return the indices of classes with tokens; "first token" only if it is not [CLS]."""
        n_with_class = dict(zip(self._names, self.counted("with_class").tolist(), strict=True))
        if n_with_class["[CLS]"] >= n_with_class["first token"]:
            n_with_class["first token"] = 0
        return [i for i, name in enumerate(self._names) if n_with_class[name]]
