"""Text positions of the tokens that a pass reads, with or without cached earlier tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from torch import Tensor

# Arguments with keys of earlier tokens, in models without a cache object.
_EARLIER_KEYS = ("past_key_values", "mems")

_grows = ContextVar("attnwidget_text_grows", default=False)


@contextmanager
def growing_text() -> Iterator[None]:
    """Declare that passes of this thread in the block read a text that becomes longer."""
    token = _grows.set(True)
    try:
        yield
    finally:
        _grows.reset(token)


@dataclass(frozen=True)
class TextPositions:
    """Text positions of the queries and keys in one pass.

    A pass over a whole text has the queries 0, 1, ... A generation step has the queries after the
    tokens in the cache. A cache with a sliding window has only the last keys of the text, and a
    fixed-size cache has keys that no token has filled yet.

    Attributes:
        past: Number of tokens in the cache before the pass; None if the pass receives earlier keys
            in an unknown form.
        grows: Whether later passes may read further tokens of the text.
        has_fixed_size: Whether the cache has a fixed size.

    Example:
        >>> from attnwidget.capture.tapping.text_positions import TextPositions
        >>> step = TextPositions(past=7, grows=True)
        >>> step.places_in_pass(n_query=1, n_key=4)
        (7, 4, 8, 8)
    """

    past: int | None = 0
    grows: bool = False
    has_fixed_size: bool = False

    @classmethod
    def of_pass(cls, args: Sequence[Any], named: Mapping[str, Any]) -> TextPositions:
        """Return the positions of a pass, before the pass adds keys to the cache.

        Args:
            args: Positional arguments of the model's or decoder's forward.
            named: Keyword arguments of the forward.
        """
        values = (*args, *named.values())
        cache = next((value for value in values if hasattr(value, "get_seq_length")), None)
        if cache is not None:
            is_fixed = bool(getattr(cache, "is_compileable", False))
            return cls(int(cache.get_seq_length()), True, is_fixed)
        is_unknown = any(named.get(name) is not None for name in _EARLIER_KEYS)
        # Some models store keys in their modules, and receive only the positions of new tokens.
        positions = named.get("cache_position")
        if isinstance(positions, Tensor) and positions.numel():
            is_unknown |= bool(positions[0] > 0)
        return cls(None if is_unknown else 0, _grows.get())

    def places_in_pass(
        self, n_query: int, n_key: int, *, is_cross: bool = False
    ) -> tuple[int, int, int, int]:
        """Return where a map of this pass is in the text.

        Args:
            n_query: Number of queries in the map.
            n_key: Number of keys in the map.
            is_cross: Whether the keys belong to another sequence, which a pass reads as a whole.

        Returns:
            Positions of the first query and the first key, and the numbers of tokens that queries
            and keys may come from.

        Raises:
            ValueError: The tokens of the keys are unknown.
        """
        first_query = self.first_query()
        first_key, n_tokens = self._keys(n_query, n_key, is_cross)
        return first_query, first_key, first_query + n_query, n_tokens

    def first_query(self) -> int:
        """Return the position of the first query.

        Raises:
            ValueError: The position is unknown.
        """
        if self.past is None:
            raise _unknown()
        return self.past

    def _keys(self, n_query: int, n_key: int, is_cross: bool) -> tuple[int, int]:
        """Return the first key's position, and the number of tokens that keys may come from."""
        n_tokens = self.first_query() + n_query
        if is_cross:
            return 0, n_key
        if self.past and n_key <= n_tokens:
            return n_tokens - n_key, n_tokens
        if n_key > n_tokens and self.has_fixed_size:
            return 0, n_tokens
        if n_key > n_tokens and self.grows:
            raise _unknown()
        # Without earlier tokens, a layer counts its own keys, which may be fewer or more.
        return 0, n_key


def _unknown() -> ValueError:
    return ValueError(
        "links and patches name tokens of the text, and the model keeps earlier tokens in a way "
        "that does not tell their positions: generate with use_cache=False"
    )
