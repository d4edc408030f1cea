"""Means over segments by classes of tokens, for comparison in one figure."""

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
    """Means over segments by token classes that leave no token out.

    The classes are the standard classes, the user's classes, and "other tokens" (in no class). The
    count "with_class" is the number of segments with a token of each class.

    Args:
        classes: Further classes by name.
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
        """Return which tokens are in each class, bool [B, C, n]."""
        named = torch.stack([batch.classes[name] for name in self._names[:-1]], dim=1)
        other = batch.real & ~named.any(1)
        return torch.cat([named, other[:, None]], dim=1)

    def shown(self) -> list[int]:
        """Return the classes to show: classes with tokens; "first token" only without [CLS]."""
        having = dict(zip(self._names, self.counted("with_class").tolist(), strict=True))
        if having["[CLS]"] >= having["first token"]:
            having["first token"] = 0
        return [i for i, name in enumerate(self._names) if having[name]]
