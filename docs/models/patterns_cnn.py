"""Train the network that names the patterns of attention maps.

    python docs/models/patterns_cnn.py --labels FILE --maps FILE --out FILE

The labels are those of tests/data: pattern_labels.json and pattern_maps.npz. Only the samples named
in TRAINED_ON are read from them; what is held out is for tests. The other half of every batch are
made maps.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import safetensors.torch
import torch
from torch import Tensor, nn
from torch.nn import functional

from attnwidget.kernels.pattern_network import PatternNetwork, classify_images, pattern_images
from attnwidget.kernels.patterns import PATTERNS
from pattern_maps import PatternMap, made_map

TRAINED_ON = ("development", "training")
HELD_OUT = ("held out", "held out later")
# A generated map for each seed, with seeds that training never draws.
_CHECKED_FROM = 10**6


def read_labels(
    labels: str | Path, maps: str | Path, samples: Sequence[str]
) -> Iterator[PatternMap]:
    """The labeled maps of some samples, stored as bytes of sqrt(weight / maximum)."""
    stored = np.load(maps)["maps"]
    start = 0
    for entry in json.loads(Path(labels).read_text("utf-8")):
        n = entry["tokens"]
        cells = stored[start : start + n * n].reshape(n, n) / 255.0
        start += n * n
        if entry["sample"] in samples:
            weights = cells**2
            weights = weights / weights.sum(-1, keepdims=True)
            yield PatternMap(weights, entry["first"], entry["label"])


def image_of(pattern_map: PatternMap) -> Tensor:
    """What the network reads of a map: [CHANNELS, SIDE, SIDE]."""
    n = len(pattern_map.weights)
    images = pattern_images(
        torch.from_numpy(pattern_map.weights)[None, None],
        torch.tensor([n], dtype=torch.long, device="cpu"),
        segments=torch.arange(n, dtype=torch.long, device="cpu")[None] >= pattern_map.first,
        causal=pattern_map.causal,
    )
    return images[0, 0]


def images_of(maps: Sequence[PatternMap]) -> tuple[Tensor, Tensor]:
    """(what the network reads [N, CHANNELS, SIDE, SIDE], labels as indices into PATTERNS [N])."""
    labels = torch.tensor(
        [PATTERNS.index(item.label) for item in maps], dtype=torch.long, device="cpu"
    )
    return torch.stack([image_of(item) for item in maps]), labels


def varied(pattern_map: PatternMap, draw: np.random.Generator) -> PatternMap:
    """The same map at another softmax temperature, with noise, a little nearer to an even one."""
    weights = pattern_map.weights ** draw.uniform(0.85, 1.15)
    weights = weights * np.exp(draw.uniform(0, 0.3) * draw.normal(size=weights.shape))
    weights /= weights.sum(-1, keepdims=True)
    even = draw.uniform(0, 0.06)
    return PatternMap(
        (1 - even) * weights + even / len(weights),
        pattern_map.first,
        pattern_map.label,
        pattern_map.causal,
    )


def train(
    labeled: Sequence[PatternMap],
    *,
    n_made: int,
    copies: int,
    steps: int,
    batch: int = 96,
    learning_rate: float = 2e-3,
    seed: int = 0,
) -> Iterator[tuple[int, float, PatternNetwork]]:
    """Train a new network; every 100 steps, and after the last, yields (steps, mean loss, network).

    Half of a batch are labeled maps, each in `copies` variants, rare labels drawn more often (by
    the root of their number); half are `n_made` made ones, as many of each pattern.
    """
    torch.manual_seed(seed)
    draw = np.random.default_rng(seed)
    of_labeled, labels = images_of(
        [item if not k else varied(item, draw) for k in range(copies) for item in labeled]
    )
    of_made, made_labels = images_of(
        [made_map(PATTERNS[k % len(PATTERNS)], draw) for k in range(n_made)]
    )
    often = torch.bincount(labels, minlength=len(PATTERNS)).clamp_min(1)[labels] ** -0.5
    network = PatternNetwork()
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)  # type: ignore[arg-type]
    optimizer = torch.optim.AdamW(network.parameters(), weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, learning_rate, total_steps=steps, pct_start=0.15
    )
    losses = []
    for step in range(1, steps + 1):
        drawn = torch.multinomial(often, batch // 2, replacement=True)
        other = torch.randint(n_made, (batch - batch // 2,), dtype=torch.long, device="cpu")
        logits = network(torch.cat([of_labeled[drawn], of_made[other]]))
        truth = torch.cat([labels[drawn], made_labels[other]])
        loss = functional.cross_entropy(logits, truth, label_smoothing=0.05)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if step % 100 == 0 or step == steps:
            yield step, float(np.mean(losses)), network
            losses.clear()


def accuracy(network: PatternNetwork, maps: Sequence[PatternMap]) -> float:
    """The share of maps that the network names as they are labeled."""
    images, labels = images_of(maps)
    return float((classify_images(network, images[:, None])[:, 0] == labels).float().mean())


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python docs/models/patterns_cnn.py",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--labels", required=True, help="pattern_labels.json")
    parser.add_argument("--maps", required=True, help="pattern_maps.npz")
    parser.add_argument("--out", type=Path, required=True, help="the file of the weights")
    parser.add_argument("--made", type=int, default=6000, help="made maps to train on")
    parser.add_argument("--copies", type=int, default=8, help="variants of a labeled map")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)

    begin = time.monotonic()
    labeled = list(read_labels(options.labels, options.maps, TRAINED_ON))
    unseen = [
        made_map(pattern, np.random.default_rng(_CHECKED_FROM + seed))
        for seed in range(100)
        for pattern in PATTERNS
    ]
    print(f"{len(labeled)} labeled maps and {options.made} made ones", flush=True)
    rounds = train(
        labeled,
        n_made=options.made,
        copies=options.copies,
        steps=options.steps,
        seed=options.seed,
    )
    network = PatternNetwork()
    for step, loss, network in rounds:  # noqa: B007 - the last one is kept
        print(f"step {step}, {time.monotonic() - begin:.0f} s: loss {loss:.3f}", flush=True)
    network.half()
    safetensors.torch.save_file(
        {name: values.contiguous() for name, values in network.state_dict().items()}, options.out
    )
    network.float()
    print(
        f"named as labeled: {100 * accuracy(network, labeled):.1f} % of the labeled maps, "
        f"{100 * accuracy(network, unseen):.1f} % of {len(unseen)} other made ones"
    )


if __name__ == "__main__":
    main()
