"""Which of five patterns an attention map shows, by a small convolutional network."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attnwidget.kernels.patterns import BLOCK, PATTERNS

SIDE = 32
CHANNELS = 6
_WIDTHS = (16, 16, 24, 24, 32, 32, 48, 48)
_NEAR = 3


class PatternNetwork(nn.Module):
    """Eight convolutional layers with ReLU, as in Kovaleva et al. 2019 (section 4.1).

    Nothing else of theirs was published: kernels of 3 x 3, halving after each second layer, and a
    linear layer on the mean and the maximum of what is left are this project's choice.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.pattern_network import CHANNELS, SIDE, PatternNetwork
        >>> PatternNetwork()(torch.zeros(2, CHANNELS, SIDE, SIDE)).shape
        torch.Size([2, 5])
    """

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for k, (before, width) in enumerate(zip((CHANNELS, *_WIDTHS), _WIDTHS, strict=False)):
            layers += [
                nn.Conv2d(before, width, 3, padding=1, dtype=torch.float32, device="cpu"),
                nn.ReLU(),
            ]
            if k % 2 and k < len(_WIDTHS) - 1:
                layers.append(nn.MaxPool2d(2))
        self.convolutions = nn.Sequential(*layers)
        self.answer = nn.Linear(2 * _WIDTHS[-1], len(PATTERNS), dtype=torch.float32, device="cpu")

    def forward(self, images: Tensor) -> Tensor:
        """Logits [N, 5] in the order of `PATTERNS`, of `images` [N, CHANNELS, SIDE, SIDE]."""
        features = self.convolutions(images)
        logits: Tensor = self.answer(
            torch.cat([features.mean((-1, -2)), features.amax((-1, -2))], -1)
        )
        return logits


def pattern_images(
    weights: Tensor,
    lengths: Tensor,
    *,
    segments: Tensor | None = None,
    causal: bool = False,
) -> Tensor:
    """Maps of any length as what the network reads: float32 [B, H, CHANNELS, SIDE, SIDE].

    The queries of a map are cut into `SIDE` strips of equal height and its keys into as many of
    equal width; a token on a border, or one of fewer than `SIDE`, is in several in proportion. The
    channels say of each cell, between 0 and 1:

    0. the square root of the weight of each key from all queries together, relative to an even
       spread, which makes maps of 10 and of 500 tokens comparable;
    1. the same for keys at most 3 tokens from the query;
    2. the mean of r / (1 + r), r the weight relative to an even spread over what the query sees;
    3. the share of pairs of tokens in the same sentence, 0 everywhere in a single sentence;
    4. the share that queries see, which is 1 everywhere except in causal maps;
    5. the share at most 3 tokens from the diagonal, which shows the scale.

    Args:
        weights: [B, H, n, n], columns of padding 0.
        lengths: int [B], tokens of each input, padding on the right.
        segments: [B, n], 0 and 1: the sentence of each token; None = one sentence.
        causal: queries see no later token; sentences are not looked at.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.pattern_network import pattern_images
        >>> pattern_images(torch.eye(20)[None, None], torch.tensor([20])).shape
        torch.Size([1, 1, 6, 32, 32])
    """
    weights = weights.float()
    n = weights.shape[-1]
    lengths = lengths.to(weights.device)
    places = torch.arange(n, dtype=torch.long, device=weights.device)
    real = (places < lengths[:, None]).float()  # [B, n]
    share = _shares(lengths, n)  # [B, SIDE, n], of each token in each strip
    mean = share / share.sum(-1, keepdim=True)
    near = ((places[:, None] - places).abs() <= _NEAR).float()
    visible = real[:, None] * real[:, :, None]  # [B, n, n]
    if causal:
        visible = visible.tril()
    sees = visible.sum(-1).clamp_min(1)
    relative = weights * sees[:, None, :, None]
    same = torch.zeros_like(visible)
    if segments is not None and not causal:
        second = ((segments.to(weights.device) > 0) & (real > 0)).float()
        pair = second.amax(-1)[:, None, None]
        same = pair * (second[:, :, None] == second[:, None]).float()

    def pooled(cells: Tensor, keys: Tensor) -> Tensor:
        """[B, ?, SIDE, SIDE] of [B, ?, n, n]: the mean over queries of what `keys` gives."""
        return mean[:, None] @ cells @ keys[:, None].mT

    of_heads = [
        pooled(weights, share).sqrt(),
        pooled(weights * near, share).sqrt(),
        pooled(relative / (1 + relative), mean),
    ]
    of_inputs = [
        pooled(cells[:, None], mean).expand_as(of_heads[0])
        for cells in (same, visible, near.expand_as(visible))
    ]
    return torch.stack([*of_heads, *of_inputs], 2)


@torch.no_grad()
def classify_images(network: PatternNetwork, images: Tensor) -> Tensor:
    """The pattern of each map as an index into `PATTERNS`: int64 [B, H].

    `images` [B, H, CHANNELS, SIDE, SIDE] as `pattern_images` makes them. A map without a second
    sentence, or a causal one, shows no block.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.pattern_network import PatternNetwork, classify_images
        >>> classify_images(PatternNetwork(), torch.zeros(1, 4, 6, 32, 32)).shape
        torch.Size([1, 4])
    """
    # In this order a processor takes half the time.
    maps = images.flatten(0, 1).contiguous(memory_format=torch.channels_last)
    logits = network(maps).unflatten(0, images.shape[:2])
    alone = images[:, :, 3].amax((-1, -2)) == 0  # [B, H]
    logits[..., PATTERNS.index(BLOCK)].masked_fill_(alone, -torch.inf)
    patterns: Tensor = logits.argmax(-1)
    return patterns


def _shares(lengths: Tensor, n: int) -> Tensor:
    """Return the share of each of n tokens in each of SIDE equal strips: [B, SIDE, n]."""
    width = lengths[:, None, None] / SIDE
    start = torch.arange(SIDE, dtype=torch.long, device=lengths.device)[None, :, None] * width
    token = torch.arange(n, dtype=torch.long, device=lengths.device)
    overlap = torch.minimum(start + width, token + 1.0) - torch.maximum(start, token.float())
    return overlap.clamp_min(0)
