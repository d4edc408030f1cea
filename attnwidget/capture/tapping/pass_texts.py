"""Texts that a pass reads: where they begin in a padded batch, and their tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from attnwidget.text.tokens import Tokens

#: Function that returns the token axis of vocabulary ids.
Spell = Callable[[Sequence[int]], Tokens]


@dataclass(frozen=True, eq=False)
class PassTexts:
    """Texts of one stack in a pass that begins with their first token.

    Attributes:
        ids: Vocabulary ids, [B, n]; None if the pass reads vectors or pictures.
        mask: 0 for padding and 1 for tokens, [B, n]; None without padding.
        resolved: Positions of links whose ends were looked up in these texts. Later passes of a
            generation use the same positions.

    Example:
        >>> import torch
        >>> from attnwidget.capture.tapping.pass_texts import PassTexts
        >>> texts = PassTexts(torch.tensor([[0, 7, 8]]), torch.tensor([[0, 1, 1]]))
        >>> texts.offsets, texts.ids_of(0)
        ([1], [7, 8])
    """

    ids: Tensor | None = None
    mask: Tensor | None = None
    resolved: dict[Any, Any] = field(default_factory=dict)

    @classmethod
    def of_pass(
        cls, args: Sequence[Any], named: Mapping[str, Any], *, of_decoder: bool
    ) -> PassTexts:
        """Return the texts in the arguments of a model's forward.

        Args:
            args: Positional arguments of the forward.
            named: Keyword arguments of the forward.
            of_decoder: Whether the texts are those of the decoder in an encoder-decoder.
        """
        prefix = "decoder_" if of_decoder and "decoder_input_ids" in named else ""
        ids = named.get(f"{prefix}input_ids")
        if ids is None and args and not prefix:
            ids = args[0]
        is_ids = isinstance(ids, Tensor) and ids.ndim == 2 and not ids.is_floating_point()
        mask = named.get(f"{prefix}attention_mask")
        is_mask = isinstance(mask, Tensor) and mask.ndim == 2
        return cls(ids if is_ids else None, mask if is_mask else None)

    @cached_property
    def offsets(self) -> list[int]:
        """Number of padding tokens before each text; empty without padding before any text."""
        if self.mask is None:
            return []
        offsets: list[int] = torch.argmax((self.mask != 0).to(torch.uint8), -1).tolist()
        return offsets if any(offsets) else []

    def ids_of(self, row: int) -> list[int] | None:
        """Return the ids of one text without padding; None if they are unknown."""
        if self.ids is None:
            return None
        ids = self.ids[row]
        if self.mask is not None and self.mask.shape == self.ids.shape:
            ids = ids[self.mask[row] != 0]
        return [int(token_id) for token_id in ids.tolist()]
