"""Log probabilities of the tokens in a sequence."""

from __future__ import annotations

import torch
from torch import Tensor


def next_token_log_probabilities(logits: Tensor, ids: Tensor) -> Tensor:
    """Return log p(token | preceding tokens) of every token except the first, in nats.

    Args:
        logits: Logits [B, n, V]; the logits at i predict the token at i + 1.
        ids: Token ids [B, n].

    Returns:
        Log probabilities, float32 [B, n - 1]. Their sum is the log probability of the text given
        its first token.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.sequence_scores import next_token_log_probabilities
        >>> next_token_log_probabilities(torch.zeros(1, 3, 2), torch.tensor([[0, 1, 1]])).exp()
        tensor([[0.5000, 0.5000]])
    """
    scores = torch.log_softmax(logits[:, :-1].float(), -1)
    return scores.gather(-1, ids[:, 1:, None])[..., 0]
