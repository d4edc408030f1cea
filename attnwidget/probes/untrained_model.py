"""Same architecture with random weights, as a control: words and positions without learning."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import torch
from torch import nn

from attnwidget.capture.load import load_model
from attnwidget.capture.tapping.attention_sites import find_sites
from attnwidget.model_facts.plain_defaults import plain_defaults
from attnwidget.model_facts.plain_forward import uncompiled
from attnwidget.text.counted import counted

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


def untrained_like(model: AttentionModel, *, seed: int = 0) -> AttentionModel:
    """Return a model of the same architecture with random weights, except for embeddings.

    Word and position embeddings are copied from the model. This is the control of Clark et al.
    2019, section 5: a probe on its attention shows how much the probe finds by itself. Weights are
    drawn as the architecture draws them before training.

    Args:
        model: Model from `load_model`.
        seed: Seed of the weights.

    Raises:
        ValueError: If the number of layers differs from the configuration, because layers were
            removed or added.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.probes.untrained_model import untrained_like
        >>> untrained_like(load_model())
        AttentionModel(BertForMaskedLM 'small BERT (in the package), untrained', 6×12 heads, cpu)
    """
    trained = model.hf_model
    config = copy.deepcopy(trained.config)
    with torch.random.fork_rng(), plain_defaults():
        torch.manual_seed(seed)
        untrained = type(trained)(config)
    counts = [len(find_sites(uncompiled(part))) for part in (trained, untrained)]
    if counts[0] != counts[1]:
        raise ValueError(
            f"{model.own_name} has {counted(counts[0], 'attention module')}, and its configuration "
            f"describes a model with {counts[1]}. A control with random weights is made from the "
            "configuration: set config.num_hidden_layers (and config.layer_types, if there are any)"
        )
    words = trained.get_input_embeddings()
    modules = dict(untrained.named_modules())
    with torch.no_grad():
        for path, module in trained.named_modules():
            if module is words:
                # The input embeddings of a vision model embed patches, and consist of several
                # modules.
                modules[path].load_state_dict(module.state_dict())
            elif isinstance(module, nn.Embedding) and is_of_positions(path):
                modules[path].weight.copy_(module.weight)
    untrained.to(model.device, next(trained.parameters()).dtype).eval()
    return with_other_weights(model, untrained, "untrained")


def with_other_weights(model: AttentionModel, hf_model: nn.Module, how: str) -> AttentionModel:
    """Return a model of the same architecture, with the tokenizer or processor of `model`.

    Args:
        model: Model from `load_model`.
        hf_model: Transformers model with other weights.
        how: Description of the weights, for the name of the result.
    """
    processor = model.tokenizer if model.processor is None else model.processor
    return load_model(hf_model, processor, name=f"{model.own_name}, {how}")


def is_of_positions(path: str) -> bool:
    """Return whether the name of an embedding indicates positions, not distances.

    Example:
        >>> from attnwidget.probes.untrained_model import is_of_positions
        >>> is_of_positions("transformer.wpe"), is_of_positions("relative_position_bias_table")
        (True, False)
    """
    last = path.rpartition(".")[2]
    return ("position" in last and "relative" not in last) or last == "wpe"
