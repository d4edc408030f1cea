"""Which states change with which tokens or patches, asked of a model digit by digit."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log2

import torch
from torch import Tensor

# A state that depends on a token changes with it by more than this share of its largest number.
_CHANGED = 1e-4


class MixedTokens(Exception):  # noqa: N818  it ends a search, and reaches no caller of the package
    """A state depends on several tokens, or two states on the same one."""


class TokenWatch:
    """Comparer of states with and without some tokens or patches.

    Args:
        states: Function that returns the states, [n, d], while some tokens or patches are visible,
            bool [count].
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
        found = self._states(visible)
        scale = torch.maximum(self._scale, found.abs().amax(-1))
        return (found - self._base).abs().amax(-1) > _CHANGED * scale

    def codes(self, numbers: Tensor, count: int) -> list[int]:
        """Return the number behind each state, or -1 for a state that never changes.

        Args:
            numbers: The number of each token or patch, int64.
            count: Number of different numbers.

        Raises:
            MixedTokens: A state depends on several numbers, or two states on the same one.
        """
        codes = torch.zeros(self._scale.shape, dtype=torch.int64, device="cpu")
        seen = None
        for digit in range(max(1, ceil(log2(count)))):
            one = (numbers >> digit) % 2 == 1
            on, off = self.changed(one), self.changed(~one)
            if bool((on & off).any()) or (seen is not None and not torch.equal(on | off, seen)):
                raise MixedTokens
            seen = on | off
            if not bool(seen.any()):
                return [-1] * len(codes)
            codes += on.long() << digit
        assert seen is not None
        numbered = codes[seen]
        if len(numbered.unique()) < len(numbered) or int(numbered.max()) >= count:
            raise MixedTokens
        return [int(code) for code in torch.where(seen, codes, -1)]
