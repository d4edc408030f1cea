"""Whether the output of a head favours the token that the head reads."""

from __future__ import annotations

import torch
from torch import Tensor


def eigenvalue_copying(output: Tensor, tokens: Tensor, value: Tensor) -> Tensor:
    """Sum of the eigenvalues of W_E W_V W_O W_U over the sum of their sizes (Elhage et al. 2021).

    1: the head raises the logits of the tokens that it reads, in every direction; -1: the head
    lowers these logits. The matrix has the size of the vocabulary; W_O W_U W_E W_V has the same
    eigenvalues but for zeros.

    Args:
        output: W_O, [..., Dv, d].
        tokens: W_U W_E, [d, d]: the sum over the vocabulary of each token's unembedding times its
            embedding.
        value: W_V, [..., d, Dv].

    Returns:
        From -1 to 1, [...]; 0 for a head that writes nothing.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.copying import eigenvalue_copying
        >>> eigenvalue_copying(torch.eye(3)[:2], torch.eye(3), torch.eye(3)[:, :2])
        tensor(1.)
    """
    eigenvalues = torch.linalg.eigvals(output @ tokens @ value)
    size = eigenvalues.abs().sum(-1)
    return torch.where(size > 0, eigenvalues.real.sum(-1) / size, 0.0)


def share_among_top(logits: Tensor, ids: Tensor, top: int) -> Tensor:
    """Share of tokens that are among the `top` largest of their own logits.

    Args:
        logits: [..., T, V], a row for each token.
        ids: The id of each token, int64 [T].
        top: Number of ranks that count.

    Returns:
        [...], from 0 to 1.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.copying import share_among_top
        >>> logits = torch.tensor([[3.0, 2.0, 1.0], [3.0, 2.0, 1.0]])
        >>> share_among_top(logits, torch.tensor([0, 2]), top=1)
        tensor(0.5000)
    """
    return (ranks(logits, ids) < top).float().mean(-1)


def share_of_others_among_top(logits: Tensor, ids: Tensor, top: int) -> Tensor:
    """Share of the other tokens that are among the `top` largest of the logits of a row.

    This is the control of `share_among_top`, with the same arguments. A head with the same output
    for every token has equal shares of read tokens and of other tokens.

    Returns:
        Mean over the T rows and the T - 1 other tokens of each, [...], from 0 to 1.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.copying import share_among_top, share_of_others_among_top
        >>> same = torch.tensor([3.0, 2.0, 1.0]).expand(3, 3)
        >>> ids = torch.tensor([0, 1, 2])
        >>> share_of_others_among_top(same, ids, top=1), share_among_top(same, ids, top=1)
        (tensor(0.3333), tensor(0.3333))
    """
    # As in `ranks`, ties count against a token.
    bound = logits.topk(top + 1, dim=-1).values[..., -1:]
    among = logits[..., ids] > bound  # [..., T, T]
    other = ~torch.eye(len(ids), dtype=torch.bool, device=logits.device)
    return (among & other).float().sum((-2, -1)) / other.sum()


def ranks(logits: Tensor, ids: Tensor) -> Tensor:
    """Number of other tokens with at least the logit of the token of the row: int64 [..., T].

    `logits` [..., T, V]; `ids` int64 [T]. Ties count against the token: a head without output
    favours no token.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.copying import ranks
        >>> ranks(torch.tensor([[3.0, 2.0, 1.0]]), torch.tensor([1]))
        tensor([1])
    """
    index = ids.expand(logits.shape[:-1])[..., None]
    return (logits >= logits.gather(-1, index)).sum(-1) - 1
