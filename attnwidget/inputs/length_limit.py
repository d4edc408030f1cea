"""Largest number of input tokens of a model, and the source of this limit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from torch import nn

from attnwidget.text.whole_number import whole_number

_LENGTH_FIELDS = ("max_position_embeddings", "max_target_positions", "max_seq_len", "n_ctx")
# Names of the modules with a vector for each position.
_POSITION_TABLE = re.compile(r"(^|\.)(position_embeddings?|embed_positions|positions_embed|wpe)$")
# Tokenizers without a limit state 1e30 as their limit.
_SANE_LENGTH = 10**7


class LengthLimit:
    """Largest number of input tokens.

    A table of position vectors is a limit that cannot be raised. The configuration and the
    tokenizer state other limits, which `max_tokens` replaces.

    Args:
        hf_model: Transformers model.
        tokenizer: Tokenizer of the model, or None. Later changes of its `model_max_length` count.
        max_tokens: Limit in place of the stated limits; None uses the stated limits.
        reads_text: Function that returns whether the module at a path reads text. The positions of
            pictures and sound do not limit a text.

    Attributes:
        chosen: Value of `max_tokens`.

    Raises:
        ValueError: `max_tokens` is below 1, or exceeds the table of position vectors.

    Example:
        >>> from attnwidget import load_model
        >>> limit = load_model().length_limit
        >>> limit.tokens, limit.reads
        (512, 'this model reads')
    """

    def __init__(
        self,
        hf_model: Any,
        tokenizer: Any = None,
        max_tokens: int | None = None,
        reads_text: Callable[[str], bool] = lambda _: True,
    ) -> None:
        self._tokenizer = tokenizer
        if max_tokens is not None:
            max_tokens = whole_number("max_tokens", max_tokens, 1)
        self.chosen = max_tokens
        tables = [size for path, size in _table_sizes(hf_model) if reads_text(path)]
        config = hf_model.config.get_text_config()
        config_values = [getattr(config, name, None) for name in _LENGTH_FIELDS]
        config_limits = [n for n in config_values if isinstance(n, int) and n > 0][:1]
        self._of_model = min([*tables, *config_limits], default=None)
        if max_tokens is None:
            return
        if tables and max_tokens > min(tables):
            raise ValueError(
                f"max_tokens is {max_tokens:,}, but this {type(hf_model).__name__} has vectors for "
                f"{min(tables):,} positions alone: pass at most that number"
            )

    @property
    def tokens(self) -> int | None:
        """Largest number of tokens, or None if there is no limit."""
        if self.chosen is not None:
            return self.chosen
        limits = [n for n in (self._of_model, self._of_tokenizer) if n is not None]
        return min(limits, default=None)

    @property
    def reads(self) -> str:
        """Source of the limit for error messages, which continue with the number."""
        if self.chosen is not None:
            return "max_tokens of load_model allows"
        if self.tokens == self._of_model:
            return "this model reads"
        return "its tokenizer (model_max_length) allows"

    @property
    def advice(self) -> str:
        """Advice in Python for an input that is too long."""
        shorten = "shorten it (model.attend reads its beginning with truncate=True)"
        if self.chosen is None and self.tokens != self._of_model:
            return f"{shorten}, or raise the limit, load_model(..., max_tokens=...)"
        return shorten

    @property
    def _of_tokenizer(self) -> int | None:
        stated_limit = getattr(self._tokenizer, "model_max_length", None)
        return (
            stated_limit
            if isinstance(stated_limit, int) and 0 < stated_limit < _SANE_LENGTH
            else None
        )


def _table_sizes(hf_model: nn.Module) -> Iterator[tuple[str, int]]:
    for path, module in hf_model.named_modules():
        if isinstance(module, nn.Embedding) and _POSITION_TABLE.search(path):
            # RoBERTa and similar models count positions from the padding index on, and OPT and BART
            # from an offset on, so that 514 positions have room for 512 tokens.
            first = 0 if module.padding_idx is None else module.padding_idx + 1
            size = module.num_embeddings - max(first, int(getattr(module, "offset", 0)))
            yield path, size
