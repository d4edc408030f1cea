"""Classification of attention maps into five patterns with a small convolutional network."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attnwidget.kernels.patterns import BLOCK, PATTERNS

SIDE = 32
CHANNELS = 6
_WIDTHS = (16, 16, 24, 24, 32, 32, 48, 48)
_NEAR = 3


class PatternNetwork(nn.Module):
    """Network of eight convolutional layers with ReLU, as in Kovaleva et al. 2019 (section 4.1).

    The paper gives no other details. The 3 x 3 kernels, the pooling after every second layer, and
    the linear layer on the mean and maximum of the final features are choices of this project.

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
        """Return logits [N, 5] in the order of `PATTERNS`.

        Args:
            images: Images [N, CHANNELS, SIDE, SIDE].
        """
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
    """Return the input images of the network for maps of any length.

    The queries of a map are divided into `SIDE` strips of equal height, and its keys into `SIDE`
    strips of equal width. A token on a border is divided in proportion between the strips, as is
    every token of an input with fewer than `SIDE` tokens. Each channel has values from 0 to 1:

    0. the square root of the total weight of each key, relative to an even spread, so that maps of
       10 and of 500 tokens are comparable;
    1. the same for keys at most 3 tokens from the query;
    2. the mean of r / (1 + r), where r is the weight relative to an even spread over the visible
       keys of the query;
    3. the share of token pairs in the same sentence, 0 everywhere in a single sentence;
    4. the share of visible pairs, which is 1 everywhere except in causal maps;
    5. the share of pairs at most 3 tokens from the diagonal, which shows the scale.

    Args:
        weights: Attention weights [B, H, n, n]; 0 in padding columns.
        lengths: Number of tokens in each input, with padding on the right, int [B].
        segments: Sentence of each token, 0 or 1, [B, n]; None = one sentence.
        causal: Whether queries see no later token. Sentences are ignored in this case.

    Returns:
        Images, float32 [B, H, CHANNELS, SIDE, SIDE].

    Example:
        >>> import torch
        >>> from attnwidget.kernels.pattern_network import pattern_images
        >>> pattern_images(torch.eye(20)[None, None], torch.tensor([20])).shape
        torch.Size([1, 1, 6, 32, 32])
    """
    weights = weights.float()
    n = weights.shape[-1]
    lengths = lengths.to(weights.device)
    positions = torch.arange(n, dtype=torch.long, device=weights.device)
    real = (positions < lengths[:, None]).float()  # [B, n]
    share = _shares(lengths, n)  # [B, SIDE, n], of each token in each strip
    mean = share / share.sum(-1, keepdim=True)
    near = ((positions[:, None] - positions).abs() <= _NEAR).float()
    visible = real[:, None] * real[:, :, None]  # [B, n, n]
    if causal:
        visible = visible.tril()
    n_visible = visible.sum(-1).clamp_min(1)
    relative = weights * n_visible[:, None, :, None]
    same_sentence = torch.zeros_like(visible)
    if segments is not None and not causal:
        second = ((segments.to(weights.device) > 0) & (real > 0)).float()
        pair = second.amax(-1)[:, None, None]
        same_sentence = pair * (second[:, :, None] == second[:, None]).float()

    def pooled(cells: Tensor, keys: Tensor) -> Tensor:
        """Pool cells [B, ?, n, n]: mean over queries, `keys` over keys; [B, ?, SIDE, SIDE]."""
        return mean[:, None] @ cells @ keys[:, None].mT

    head_channels = [
        pooled(weights, share).sqrt(),
        pooled(weights * near, share).sqrt(),
        pooled(relative / (1 + relative), mean),
    ]
    input_channels = [
        pooled(cells[:, None], mean).expand_as(head_channels[0])
        for cells in (same_sentence, visible, near.expand_as(visible))
    ]
    return torch.stack([*head_channels, *input_channels], 2)


@torch.no_grad()
def classify_images(network: PatternNetwork, images: Tensor) -> Tensor:
    """Return the pattern of each map as an index into `PATTERNS`, int64 [B, H].

    Causal maps and maps with a single sentence never have the block pattern.

    Args:
        network: Pattern network.
        images: Result of `pattern_images`, [B, H, CHANNELS, SIDE, SIDE].

    Example:
        >>> import torch
        >>> from attnwidget.kernels.pattern_network import PatternNetwork, classify_images
        >>> classify_images(PatternNetwork(), torch.zeros(1, 4, 6, 32, 32)).shape
        torch.Size([1, 4])
    """
    # In the channels-last format, a CPU takes half the time.
    maps = images.flatten(0, 1).contiguous(memory_format=torch.channels_last)
    logits = network(maps).unflatten(0, images.shape[:2])
    is_single = images[:, :, 3].amax((-1, -2)) == 0  # [B, H]
    logits[..., PATTERNS.index(BLOCK)].masked_fill_(is_single, -torch.inf)
    patterns: Tensor = logits.argmax(-1)
    return patterns


def _shares(lengths: Tensor, n: int) -> Tensor:
    """Return the share of each token in each of `SIDE` equal strips, [B, SIDE, n]."""
    width = lengths[:, None, None] / SIDE
    start = torch.arange(SIDE, dtype=torch.long, device=lengths.device)[None, :, None] * width
    token = torch.arange(n, dtype=torch.long, device=lengths.device)
    overlap = torch.minimum(start + width, token + 1.0) - torch.maximum(start, token.float())
    return overlap.clamp_min(0)
