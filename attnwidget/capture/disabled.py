"""Disabled heads: a block in which a model computes with replaced head outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor

from attnwidget.capture.default_method import default_method
from attnwidget.capture.model_inputs import ModelInputs, is_one_text
from attnwidget.capture.tapping.attention_sites import count_heads, find_sites
from attnwidget.capture.tapping.edit_methods import METHODS, REFERRING, RULED, EditMethod
from attnwidget.capture.tapping.edits import Change, Edits
from attnwidget.capture.tapping.head import (
    Head,
    HeadName,
    head_parts,
    layer_of_name,
    listed_heads,
    named_head,
    names_layer,
)
from attnwidget.capture.tapping.head_rule import HeadRule
from attnwidget.capture.tapping.layer_numbers import LayerNumbers
from attnwidget.capture.tapping.numbered_layers import layer_numbers
from attnwidget.capture.tapping.pass_texts import Spell
from attnwidget.capture.tapping.stack_names import default_stack
from attnwidget.capture.tapping.tap import LayerAttention, LongAttention, open_edits, tap
from attnwidget.capture.tapping.torch_functions import summed_values
from attnwidget.inputs.media_input import is_media
from attnwidget.inputs.model_tensors import is_of_text, without_cache
from attnwidget.model_facts.weight_placement import device_of
from attnwidget.text.counted import counted
from attnwidget.text.index_among import index_among
from attnwidget.text.near_names import among
from attnwidget.text.whole_number import whole_numbers

HeadChoice = HeadName | Iterable[HeadName]


def disabled(
    hf_model: Any,
    inputs: ModelInputs,
    heads: HeadChoice | None,
    *,
    method: EditMethod | None,
    layers: Iterable[int | str] | None,
    stack: str | None,
    reference: object,
    kv_group: bool,
) -> AbstractContextManager[None]:
    """Return the block that `AttentionModel.disabled` describes."""
    intact = intact_edits(hf_model)
    heads_to_disable = chosen_heads(intact, heads, layers, stack)
    if method is None:
        method = default_method(hf_model) if reference is None else "mean"
    if method == RULED:
        raise ValueError(
            "method='rule' needs the links of one text: with_rules(attention, {'L0 H2': 'previous "
            "token'}) of attnwidget.behaviors reads a text with rules in the place of heads, and "
            "measure_rules measures the loss"
        )
    if method not in METHODS:
        raise ValueError(
            f"there is no method {method!r}: {among(method, METHODS)}; single weights: "
            "model.scaled_links(links, 0)"
        )
    if kv_group:
        heads_to_disable = _whole_groups(heads_to_disable, _key_heads(hf_model, inputs, intact))
    if (method in REFERRING) != (reference is not None):
        raise ValueError(
            f"method={method!r} needs reference=, the input whose outputs are put in"
            if reference is None
            else f"reference= is for the methods 'mean' and 'patch', not for {method!r}"
        )
    if reference is not None:
        changes = _referred(hf_model, inputs, intact, heads_to_disable, method, reference)
    else:
        changes = dict.fromkeys(heads_to_disable, Change(method, method))
    edits = open_edits(hf_model).then(Edits(changes, intact.heads_of, intact.stacks))
    return tap(hf_model, unseen, edits)


def rules_in_place(
    hf_model: Any,
    inputs: ModelInputs,
    rules: Mapping[Head, HeadRule],
    text: Mapping[str, Tensor],
) -> AbstractContextManager[None]:
    """Return a block in which the weights of heads are those of rules, for one text.

    A query without a predicted link has the mean output of the head over the text.

    Args:
        hf_model: Transformers model.
        inputs: Inputs of the model.
        rules: Rule of each head.
        text: Tensors of the text.
    """
    intact = intact_edits(hf_model)
    means = _referred(hf_model, inputs, intact, list(rules), "mean", dict(text))
    changes = {
        head: Change(
            RULED,
            f"its rule in its place: {rule.name}",
            output=means[head].output,
            weights=torch.from_numpy(rule.weights())[None],
        )
        for head, rule in rules.items()
    }
    edits = open_edits(hf_model).then(Edits(changes, intact.heads_of, intact.stacks))
    return tap(hf_model, unseen, edits)


def changed(
    hf_model: Any, changes: Mapping[Head, Change], spell: Spell | None = None
) -> AbstractContextManager[None]:
    """Return a block with some changes, for a copy of the model in another process.

    Args:
        hf_model: Transformers model.
        changes: Changes by head.
        spell: Function that returns the token axis of ids, for links between words.
    """
    intact = intact_edits(hf_model)
    return tap(hf_model, unseen, Edits(changes, intact.heads_of, intact.stacks, spell))


def unseen(_: LayerAttention) -> None:
    """Ignore the maps of a layer, because the pass needs only the edits."""


def intact_edits(hf_model: Any) -> Edits:
    """Return `Edits` without changes, with the heads and stacks of the model."""
    sites = find_sites(hf_model)
    config = hf_model.config.get_text_config()
    heads_of: dict[str, list[int]] = {}
    stacks = {site.module: site.stack for site in sites}
    # A module that is used in two places counts as two layers.
    for _, module in hf_model.named_modules(remove_duplicate=False):
        if module in stacks:
            count = count_heads(module, getattr(module, "config", config))
            heads_of.setdefault(stacks[module], []).append(count or config.num_attention_heads)
    for stack, layers in layer_numbers(hf_model, sites).items():
        # Layers without attention have no heads.
        counts = dict(zip(layers.numbers, heads_of[stack], strict=True))
        heads_of[stack] = [counts.get(number, 0) for number in range(layers.n_layers)]
    if hasattr(config, "num_hidden_groups"):  # ALBERT's layers share modules.
        n_layers = config.num_hidden_layers * config.inner_group_num
        main = default_stack(heads_of)
        heads_of = {
            stack: [counts[0]] * n_layers if stack == main else counts
            for stack, counts in heads_of.items()
        }
    return Edits(
        {},
        {stack: tuple(counts) for stack, counts in heads_of.items()},
        stacks,
    )


def chosen_heads(
    intact: Edits, heads: HeadChoice | None, layers: Iterable[int | str] | None, stack: str | None
) -> list[Head]:
    """Return the named heads, each once.

    Raises:
        ValueError: There is no head, or a stack, layer or head does not exist, or a head is named
            twice.
    """
    shapes = {name: (len(counts), max(counts)) for name, counts in intact.heads_of.items()}
    with_attention = {
        name: LayerNumbers.without([i for i, n in enumerate(counts) if n == 0], len(counts))
        for name, counts in intact.heads_of.items()
    }
    names = [] if heads is None else listed_heads(heads)
    whole_layers = [layer_of_name(name) for name in names if names_layer(name)]
    names = [name for name in names if not names_layer(name)]
    if layers is not None:
        listed_layers = [layers] if isinstance(layers, str) else layers
        # One number in place of a list is refused below, by name.
        if isinstance(listed_layers, Iterable):
            listed_layers = [layer_of_name(layer) for layer in listed_layers]
        whole_layers += whole_numbers("layers", listed_layers)
    if stack is not None and stack not in shapes:
        raise ValueError(f"there is no stack {stack!r}: {among(stack, shapes)}")
    for layer in whole_layers:
        first_head = (layer, 0) if stack is None else (layer, 0, stack)
        side = named_head(first_head, shapes, with_attention).stack
        names += [(layer, head, side) for head in range(intact.heads_of[side][layer])]
    if not names:
        raise ValueError("name heads, ['L1 H3', ...], or layers=['L1', ...]; got none")
    selected_heads = []
    for item in names:
        parts = head_parts(item, None)
        parts = (*parts, stack) if len(parts) == 2 and stack is not None else parts
        head = named_head(parts, shapes, with_attention)
        count = intact.heads_of[head.stack][head.layer]
        index_among("head", head.head, count, "this layer")
        if head in selected_heads:
            raise ValueError(f"{head} is named twice: name each head once")
        selected_heads.append(head)
    return selected_heads


def _whole_groups(
    chosen: list[Head], key_heads: Mapping[tuple[str, int], tuple[int, int]]
) -> list[Head]:
    """Return all query heads that share keys and values with a head in `chosen`."""
    members: dict[Head, None] = {}
    for head in chosen:
        n_heads, n_key_heads = key_heads[head.stack, head.layer]
        size = n_heads // n_key_heads
        first = head.head // size * size
        for index in range(first, first + size):
            members[Head(head.layer, index, head.stack)] = None
    return list(members)


def _key_heads(
    hf_model: Any, inputs: ModelInputs, intact: Edits
) -> dict[tuple[str, int], tuple[int, int]]:
    """Return the numbers of query heads and key heads per layer, from a two-token pass."""
    ids = torch.tensor([[0, 1]], dtype=torch.long, device=device_of(hf_model))
    ids_of_stacks = {"input_ids": ids} | (
        {"decoder_input_ids": ids} if inputs.encodes_apart else {}
    )
    groups: dict[tuple[str, int], tuple[int, int]] = {}

    def note(seen: LayerAttention) -> None:
        if seen.value is None:
            raise ValueError(
                f"{type(seen.module).__name__} does not show its values, so the groups of "
                "heads that share values are unknown: name the heads, without kv_group"
            )
        groups[seen.stack, seen.layer] = (seen.weights.shape[1], seen.value.shape[1])

    with torch.no_grad(), tap(hf_model, note, intact):
        hf_model(**ids_of_stacks)
    return groups


def _referred(
    hf_model: Any,
    inputs: ModelInputs,
    intact: Edits,
    chosen: list[Head],
    method: EditMethod,
    reference: object,
) -> dict[Head, Change]:
    """Return each head's replacement output, computed by the intact model on reference inputs."""
    is_one = isinstance(reference, (str, Mapping)) or is_media(reference)
    is_one = is_one or is_one_text(reference)
    is_list = isinstance(reference, Iterable) and not is_one
    references: list[object] = list(reference) if is_list else [reference]  # type: ignore[call-overload]
    if not references or (method == "patch" and len(references) > 1):
        expected = "one input" if method == "patch" else "at least one input"
        raise ValueError(f"the reference of {method!r} must be {expected}, got {len(references)}")
    outputs: dict[Head, list[Tensor]] = {head: [] for head in chosen}

    def keep(seen: LayerAttention | LongAttention) -> None:
        assert isinstance(seen, LayerAttention)  # `tap` passes the other kind only to `on_long`.
        layer_heads = [
            head for head in chosen if (head.layer, head.stack) == (seen.layer, seen.stack)
        ]
        if layer_heads and seen.value is None:
            raise ValueError(
                f"{type(seen.module).__name__} shows its attention weights, but not the values, "
                f"so {method!r} is impossible; use 'uniform', 'zero', 'first' or scaled_links"
            )
        for head in layer_heads:
            # Windows and tiles of the input are batch entries.
            outputs[head].extend(summed_values(seen)[:, head.head].unbind())

    with torch.no_grad():
        for text in references:
            with tap(hf_model, unseen, intact):
                reference_inputs, name = inputs.of_reference(text)
            is_text = all(map(is_of_text, reference_inputs))
            with tap(hf_model, keep, intact, on_again=None if is_text else keep):
                hf_model(**{**reference_inputs, **without_cache(hf_model)})
    changes = {}
    for head, output in outputs.items():
        head_output = torch.cat(output)  # [tokens of all inputs, Dv]
        if method == "patch":
            changes[head] = Change(method, f"patched from “{name}”", output=head_output)
        else:
            description = f"mean over {counted(len(head_output), 'token')}"
            changes[head] = Change(method, description, output=head_output.float().mean(0))
    return changes
