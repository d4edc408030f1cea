"""The token classes that one figure sets side by side, every token in one of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.studies.accumulator import Batch
from attnwidget.studies.token_classes import STANDARD_CLASSES, TokenClass

OTHER = "other tokens"


def compared_names(asked: Iterable[str]) -> tuple[str, ...]:
    """The standard classes, those `asked` for, and all tokens that are in none of them."""
    return (*STANDARD_CLASSES, *asked, OTHER)


def described(asked: Mapping[str, TokenClass]) -> dict[str, list[str]]:
    """Classes as JSON: their tokens, or the name of their function."""
    return {
        name: [getattr(members, "__qualname__", "function")]
        if callable(members)
        else sorted(members)
        for name, members in asked.items()
    }


def compared_members(batch: Batch, names: Sequence[str]) -> Tensor:
    """Bool [B, C, n]: which tokens are in each class of `compared_names`."""
    named = torch.stack([batch.classes[name] for name in names[:-1]], dim=1)
    other = batch.real & ~named.any(1)
    return torch.cat([named, other[:, None]], dim=1)


def compared_shown(names: Sequence[str], documents: NDArray[np.int64]) -> list[int]:
    """Which of `names` to show, given how many documents have each.

    Classes of no document are left out, and the first token where it is a [CLS].
    """
    by_name = dict(zip(names, documents.tolist(), strict=True))
    first_is_cls = by_name["[CLS]"] >= by_name["first token"]
    return [
        i
        for i, name in enumerate(names)
        if by_name[name] and not (name == "first token" and first_is_cls)
    ]
