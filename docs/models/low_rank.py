"""Fine-tuning of few numbers: a matrix of low rank is added to each weight of a model's layers.

Hu et al. 2022, "LoRA: Low-Rank Adaptation of Large Language Models", section 4.1.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from attnwidget.model_facts.packed_weights import DOWN, UP


class LowRankUpdate(nn.Module):
    """A weight [rows, columns] plus the product of two trained factors.

    Args:
        weight: The weight, which only gives its shape.
        rank: Columns of the first factor, and rows of the second.
        generator: Draws the second factor. The first is zero before the training, so the model
            starts with its given weights.
    """

    def __init__(self, weight: Tensor, rank: int, generator: torch.Generator) -> None:
        super().__init__()
        rows, columns = weight.shape
        drawn = torch.randn(rank, columns, generator=generator, dtype=torch.float32, device="cpu")
        self.down = nn.Parameter(drawn / columns**0.5)
        self.up = nn.Parameter(torch.zeros(rows, rank, dtype=torch.float32, device="cpu"))

    def forward(self, weight: Tensor) -> Tensor:
        return weight + self.up @ self.down


def train_updates(model: nn.Module, layers: nn.Module, rank: int, seed: int) -> None:
    """Let a training change only updates of the linear modules in `layers`, and new modules.

    Args:
        model: A transformers model with a base model and a new head.
        layers: The module of `model` with its layers.
        rank: Rank of each update.
        seed: Seed of the factors.
    """
    generator = torch.Generator(device="cpu").manual_seed(seed)
    base: nn.Module = getattr(model, str(model.base_model_prefix))
    pooler = {id(weight) for weight in getattr(base, "pooler", nn.Module()).parameters()}
    for weight in base.parameters():
        weight.requires_grad = id(weight) in pooler
    linear = [module for module in layers.modules() if isinstance(module, nn.Linear)]
    for module in linear:
        update = LowRankUpdate(module.weight, rank, generator)
        parametrize.register_parametrization(module, "weight", update)


@torch.no_grad()
def merge_updates(model: nn.Module) -> dict[str, Tensor]:
    """Round what was trained to float16, add the updates to the weights, and return the changes.

    Returns:
        The factors and the other trained weights in float16, named as
        `attnwidget.model_facts.packed_weights.updated_weights` reads them.
    """
    changes = {}
    for name, weight in model.named_parameters():
        if weight.requires_grad:
            weight.copy_(weight.half())
            whole = name.replace(".parametrizations.weight.0.up", f".weight{UP}")
            whole = whole.replace(".parametrizations.weight.0.down", f".weight{DOWN}")
            changes[whole] = weight.detach().half().cpu()
    for module in list(model.modules()):
        if parametrize.is_parametrized(module):
            parametrize.remove_parametrizations(module, "weight", leave_parametrized=True)
    return changes
