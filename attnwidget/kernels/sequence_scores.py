"""How likely a model holds the tokens of a sequence to be."""

from __future__ import annotations

import torch
from torch import Tensor


def next_token_log_probabilities(logits: Tensor, ids: Tensor) -> Tensor:
    """Log p(token | the tokens before it) of every token but the first, in nats.

    Args:
        logits: [B, n, V], those at i being of the token at i + 1.
        ids: [B, n].

    Returns:
        float32 [B, n - 1]; their sum is the log probability of a text after its first token.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.sequence_scores import next_token_log_probabilities
        >>> next_token_log_probabilities(torch.zeros(1, 3, 2), torch.tensor([[0, 1, 1]])).exp()
        tensor([[0.5000, 0.5000]])
    """
    scores = torch.log_softmax(logits[:, :-1].float(), -1)
    return scores.gather(-1, ids[:, 1:, None])[..., 0]
