"""Train the embedded model of pictures, which names the shape among dots: `attnwidget/shapes`.

    python docs/models/train_shapes.py --out FOLDER [--steps N] [--minutes M]

FOLDER gets the configuration of the model and of its processor, and the weights in float16. The
script prints the losses, the accuracy on held-out pictures and the lift of every head: how many
times the weight of even attention the class token has in the box of the shape. The same seed gives
the same weights on the same processor and version of torch.
"""

from __future__ import annotations

import argparse
import copy
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.demo.drawn_shapes import LABELS, SIDE, DrawnShapes, drawn_shapes

PATCH = 4
FIRST_SEED = 1_000_000
"""Seeds from here on are drawn for training, one for each step."""
HELD_OUT = 500
WARM_UP = 200
"""Steps until the learning rate is at its peak; it then falls to 0 at the last step."""
PROCESSOR = {
    "image_processor_type": "ViTImageProcessor",
    "do_resize": True,
    "size": {"height": SIDE, "width": SIDE},
    "resample": 2,
    "do_rescale": True,
    "rescale_factor": 1 / 255,
    "do_normalize": True,
    "image_mean": [0.5, 0.5, 0.5],
    "image_std": [0.5, 0.5, 0.5],
}


def new_model() -> Any:
    """Return a model with random weights: 4 layers x 4 heads, patches of 4 x 4 pixels."""
    from transformers import ViTConfig, ViTForImageClassification

    return ViTForImageClassification(
        ViTConfig(
            hidden_size=48,
            num_hidden_layers=4,
            num_attention_heads=4,
            intermediate_size=96,
            image_size=SIDE,
            patch_size=PATCH,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            id2label=dict(enumerate(LABELS)),
            label2id={name: label for label, name in enumerate(LABELS)},
        )
    )


def inputs_of(drawn: DrawnShapes) -> Tensor:
    """Return pictures as the model reads them, [n, 3, SIDE, SIDE] from -1 to 1."""
    return torch.from_numpy(drawn.images).permute(0, 3, 1, 2).float() / 127.5 - 1


def shape_shares(drawn: DrawnShapes) -> NDArray[np.float64]:
    """Return the share of each patch that is in the box of the shape, [n, patches]."""
    inside = np.zeros((len(drawn), SIDE, SIDE))
    for picture, box in zip(inside, drawn.boxes, strict=True):
        picture[int(box.top) : int(box.bottom), int(box.left) : int(box.right)] = 1
    side = SIDE // PATCH
    return inside.reshape(-1, side, PATCH, side, PATCH).mean((2, 4)).reshape(len(drawn), -1)


@torch.no_grad()
def print_scores(model: Any, drawn: DrawnShapes) -> None:
    """Print the accuracy on pictures and the mean lift of every head."""
    model = copy.deepcopy(model).eval()
    model.set_attn_implementation("eager")
    output = model(inputs_of(drawn), output_attentions=True)
    right = (output.logits.argmax(-1).numpy() == drawn.labels).mean()
    shares = shape_shares(drawn)
    areas = shares.mean(1)
    print(f"    held out: {right:.3f} right", flush=True)
    for layer, weights in enumerate(output.attentions):
        row = weights[:, :, 0, 1:].double().numpy()
        inside = np.einsum("bhp,bp->bh", row, shares) / row.sum(-1)
        lift = (inside / areas[:, None]).mean(0)
        heads = [f"L{layer} H{head} {value:.1f}" for head, value in enumerate(lift)]
        print(f"    lift: {', '.join(heads)}", flush=True)


def train(
    model: Any, *, steps: int, minutes: float, batch: int, learning_rate: float, every: int
) -> None:
    """Train `model` in place, for the steps or until the minutes have passed.

    Scores are printed after each `every` steps.
    """
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=learning_rate, betas=(0.9, 0.98), weight_decay=0.02
    )
    held_out = drawn_shapes(HELD_OUT, seed=0)
    begin = time.monotonic()
    for step in range(steps):
        # The time counts as steps done, so that the learning rate reaches 0 in time.
        passed = (time.monotonic() - begin) / 60 / minutes
        done = max(step / steps, passed)
        if done >= 1:
            print(f"stopped after {step} steps", flush=True)
            break
        for group in optimizer.param_groups:
            group["lr"] = learning_rate * min(1.0, (step + 1) / WARM_UP) * (1 - done)
        drawn = drawn_shapes(batch, seed=FIRST_SEED + step)
        model.train()
        loss = model(inputs_of(drawn), labels=torch.from_numpy(drawn.labels)).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if (step + 1) % every == 0:
            seconds = time.monotonic() - begin
            print(f"step {step + 1}, {seconds:.0f} s, loss {loss.item():.3f}", flush=True)
            print_scores(model, held_out)


def save(model: Any, folder: Path) -> None:
    """Write the weights in float16, and the configurations of the model and the processor."""
    copy.deepcopy(model).half().save_pretrained(folder)
    settings = json.dumps(PROCESSOR, indent=2) + "\n"
    (folder / "preprocessor_config.json").write_text(settings, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python docs/models/train_shapes.py",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--out", type=Path, required=True, help="folder of the model")
    add("--steps", type=int, default=3000, help="steps of the optimizer")
    add("--minutes", type=float, default=60, help="end of the training, if the steps take longer")
    add("--batch", type=int, default=64, help="pictures of a step")
    add("--learning-rate", type=float, default=3e-3, help="at its peak")
    add("--every", type=int, default=250, help="steps between two prints of the scores")
    add("--seed", type=int, default=0, help="of the weights")
    options = parser.parse_args(arguments)

    torch.manual_seed(options.seed)
    model = new_model()
    print(f"{sum(p.numel() for p in model.parameters()):,} weights", flush=True)
    train(
        model,
        steps=options.steps,
        minutes=options.minutes,
        batch=options.batch,
        learning_rate=options.learning_rate,
        every=options.every,
    )
    save(model, options.out)
    print_scores(model.half().float(), drawn_shapes(HELD_OUT, seed=1))


if __name__ == "__main__":
    main()
