"""Comparison of model states with and without some tokens or patches, digit by digit."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log2

import torch
from torch import Tensor

# Smallest change in a state that depends on a token, relative to its largest number.
_CHANGED = 1e-4


class MixedTokens(Exception):  # noqa: N818  it ends a search, and reaches no caller of the package
    """A state depends on several tokens, or two states depend on the same token."""


class TokenWatch:
    """Comparer of states with and without some tokens or patches.

    Args:
        states: Function from visible tokens or patches, bool [count], to the resulting states,
            [n, d].
        count: Number of tokens or patches.

    Example:
        >>> import torch
        >>> from attnwidget.capture.maps.token_watch import TokenWatch
        >>> watch = TokenWatch(lambda visible: 1.0 + visible[[2, 0, 1]].float()[:, None], 3)
        >>> watch.codes(torch.arange(3), 3)
        [2, 0, 1]
    """

    def __init__(self, states: Callable[[Tensor], Tensor], count: int) -> None:
        self._states = states
        self._base = states(torch.zeros(count, dtype=torch.bool, device="cpu"))
        self._scale = self._base.abs().amax(-1)

    def changed(self, visible: Tensor) -> Tensor:
        """Return whether each state changes if some tokens become visible, bool [n]."""
        states = self._states(visible)
        scale = torch.maximum(self._scale, states.abs().amax(-1))
        return (states - self._base).abs().amax(-1) > _CHANGED * scale

    def codes(self, numbers: Tensor, count: int) -> list[int]:
        """Return the number of the token behind each state, or -1 for a state that never changes.

        Args:
            numbers: Number of each token or patch, int64.
            count: Number of different numbers.

        Raises:
            MixedTokens: A state depends on several numbers, or two states on the same number.
        """
        codes = torch.zeros(self._scale.shape, dtype=torch.int64, device="cpu")
        has_token = None
        for digit in range(max(1, ceil(log2(count)))):
            has_digit = (numbers >> digit) % 2 == 1
            on, off = self.changed(has_digit), self.changed(~has_digit)
            if bool((on & off).any()) or (
                has_token is not None and not torch.equal(on | off, has_token)
            ):
                raise MixedTokens
            has_token = on | off
            if not bool(has_token.any()):
                return [-1] * len(codes)
            codes += on.long() << digit
        assert has_token is not None
        token_codes = codes[has_token]
        if len(token_codes.unique()) < len(token_codes) or int(token_codes.max()) >= count:
            raise MixedTokens
        return [int(code) for code in torch.where(has_token, codes, -1)]
