"""Edits: replaced head outputs and scaled links, by head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from math import prod

import numpy as np
import torch
from torch import Tensor, nn

from attnwidget.capture.tapping.edit_methods import RULED
from attnwidget.capture.tapping.head import Head
from attnwidget.capture.tapping.link_factors import LinkFactors, LinkTexts
from attnwidget.capture.tapping.pass_texts import Spell
from attnwidget.capture.tapping.stack_names import is_cross
from attnwidget.capture.tapping.text_positions import TextPositions
from attnwidget.kernels.ablation import first_key_weights, uniform_weights
from attnwidget.kernels.scaled_links import scaled_links
from attnwidget.text.counted import counted
from attnwidget.text.index_among import index_among

# Methods that name single tokens of an input.
_OF_TOKENS = ("first", "patch", RULED)
# Method of heads that keep their outputs, apart from scaled links.
KEPT = "links"
# Maximum number of heads with the same edit that a caption lists.
_LISTED = 12


@dataclass(frozen=True, eq=False)
class Change:
    """The change of one head: another output before the output projection, or scaled links.

    Attributes:
        method: One of METHODS, "links" if only links are scaled, or "rule" for the weights of a
            rule.
        said: Method in captions: "uniform", "mean over 24 tokens".
        output: Replacement of every query's output, [Dv] ("mean"), or [Q, Dv] ("patch"). With
            "rule", the output of the queries whose `weights` are all 0.
        queries: Queries whose output "patch" replaces; () for all.
        links: Links whose weights are multiplied, after any replacement of the weights.
        weights: Weights of "rule" for the inputs of one batch, [B, Q, K], or for one text that all
            inputs share apart from masked tokens, [1, Q, K].
    """

    method: str
    said: str
    output: Tensor | None = None
    queries: tuple[int, ...] = ()
    links: tuple[LinkFactors, ...] = ()
    weights: Tensor | None = None

    def after(self, earlier: Change | None) -> Change:
        """Return this change inside a block with an `earlier` change of the same head.

        The inner block decides how the output is replaced, and links add up. A head that is off
        stays off if an inner block only scales links.
        """
        if earlier is None:
            return self
        links = tuple(dict.fromkeys((*earlier.links, *self.links)))
        return replace(earlier if self.method == KEPT else self, links=links)


def link_change(links: LinkFactors) -> Change:
    """Return a change that only multiplies the weights of links."""
    return Change(KEPT, "", links=(links,))


@dataclass(frozen=True, eq=False)
class LayerChanges:
    """Changes of one layer, by head index.

    Attributes:
        heads: Change of each head.
        n_inputs: Number of inputs in the pass. A layer in blocks has a larger batch: windows, tiles
            or pictures of these inputs. None if unknown.
        is_cross: Whether keys and queries belong to different sequences.
        positions: Text positions of the tokens in the pass.
        texts: Texts of the pass, in which links look up their words.
    """

    heads: Mapping[int, Change]
    n_inputs: int | None = None
    is_cross: bool = False
    positions: TextPositions = field(default_factory=TextPositions)
    texts: LinkTexts = field(default_factory=LinkTexts)

    def in_pass(
        self, n_inputs: int | None, positions: TextPositions, texts: LinkTexts
    ) -> LayerChanges:
        """Return the changes for one pass, with the attributes of these names."""
        return replace(self, n_inputs=n_inputs, positions=positions, texts=texts)

    @property
    def replaces_outputs(self) -> bool:
        """Whether a replacement cannot be expressed by attention weights."""
        return any(change.output is not None for change in self.heads.values())

    def weights(
        self, weights: Tensor, visible: Tensor | None, sink: Tensor | None = None
    ) -> Tensor:
        """Return edited weights [B, H, Q, K].

        Args:
            weights: Weights of the model.
            visible: Keys that each query may see, broadcastable to `weights`; None for all.
            sink: Weight of the attention sink, [B, H, Q, 1]; None if the model has no sink.

        Raises:
            ValueError: A head or link does not exist, or a layer in blocks does not allow a change.
        """
        if self.n_inputs is not None and len(weights) > self.n_inputs:
            self._refuse_in_blocks()
        n_heads = weights.shape[1]
        rows: dict[int, Tensor] = {}
        for head, change in self.heads.items():
            index_among("head", head, n_heads, "this layer")
            head_visible = (
                visible if visible is None or visible.ndim < 4 else _of_head(visible, head)
            )
            if change.method == "uniform":
                rows[head] = uniform_weights(weights[:, head], head_visible)
            elif change.method == "zero":
                rows[head] = torch.zeros_like(weights[:, head])
            elif change.method == "first":
                rows[head] = first_key_weights(weights[:, head], head_visible)
            elif change.weights is not None:
                rows[head] = self._ruled(weights[:, head], change.weights)
        if rows:
            weights = torch.stack(
                [rows.get(head, weights[:, head]) for head in range(n_heads)], dim=1
            )
        heads_by_links: dict[tuple[LinkFactors, ...], list[int]] = {}
        for head, change in self.heads.items():
            if change.links:
                heads_by_links.setdefault(change.links, []).append(head)
        for links, heads in heads_by_links.items():
            weights = self._with_scaled_links(weights, links, sorted(heads), sink)
        return weights

    def _ruled(self, rows: Tensor, replacement: Tensor) -> Tensor:
        """Return the weights of a rule for a head with the weights `rows`, [B, Q, K]."""
        is_one_text = len(replacement) == 1 and rows.shape[1:] == replacement.shape[1:]
        if rows.shape != replacement.shape and not is_one_text:
            raise ValueError(
                f"the weights of a rule are those of one batch of the shape "
                f"{tuple(replacement.shape)}, but this pass has maps of the shape "
                f"{tuple(rows.shape)}: read the same batch"
            )
        return replacement.to(rows).expand(rows.shape)

    def _with_scaled_links(
        self,
        weights: Tensor,
        links: tuple[LinkFactors, ...],
        heads: list[int],
        sink: Tensor | None,
    ) -> Tensor:
        """Return weights [B, H, Q, K] with the same links scaled in some heads."""
        is_whole = len(heads) == weights.shape[1]
        indices = torch.tensor(heads, dtype=torch.long, device=weights.device)
        part = weights if is_whole else weights.index_select(1, indices)
        if sink is not None and not is_whole:
            sink = sink.index_select(1, indices)
        n_inputs, _, n_query, n_key = weights.shape
        for keeps_sum in (False, True):
            factors = [
                member.factors(
                    (n_inputs, n_query, n_key),
                    self.positions,
                    self.texts,
                    weights,
                    is_cross=self.is_cross,
                )
                for member in links
                if member.keeps_sum == keeps_sum
            ]
            if not factors:
                continue
            product = prod(factors[1:], start=factors[0])
            former = part
            part = scaled_links(part, product[:, None], sink, keeps_sum=keeps_sum)
            if sink is not None:
                sink = sink + (former - part).sum(-1, keepdim=True).to(sink.dtype)
        return part if is_whole else weights.index_copy(1, indices, part)

    def _refuse_in_blocks(self) -> None:
        """Refuse changes of single tokens, because blocks count tokens in another order."""
        for change in self.heads.values():
            if change.method in _OF_TOKENS or change.links:
                what = f"{change.method!r} names" if change.method in _OF_TOKENS else "links name"
                raise ValueError(
                    f"{what} tokens, and this layer attends within windows, "
                    "tiles or streams, which have an order of their own: use 'uniform', 'zero' or "
                    "'mean'"
                )

    def outputs(self, outputs: Tensor) -> Tensor:
        """Return the edited head outputs [B, H, Q, Dv].

        Raises:
            ValueError: The replacements were made for another input.
        """
        if not self.replaces_outputs:
            return outputs
        rows = list(outputs.unbind(1))
        for head, change in self.heads.items():
            if change.output is None:
                continue
            replacement = change.output.to(outputs)
            if change.method == "patch":
                rows[head] = self._patched(rows[head], replacement, change.queries)
            elif change.weights is not None:
                has_links = change.weights.to(outputs).any(-1, keepdim=True)  # [B, Q, 1]
                rows[head] = torch.where(has_links, rows[head], replacement)
            else:
                rows[head] = replacement.expand(rows[head].shape)
        return torch.stack(rows, 1)

    def _patched(self, rows: Tensor, replacement: Tensor, queries: tuple[int, ...]) -> Tensor:
        """Return head outputs [B, Q, Dv], replaced for the tokens in `replacement` [n, Dv]."""
        first = self.positions.first_query()
        batch, n_query = rows.shape[:2]
        n_tokens = first + n_query
        count = len(replacement)
        fits = n_tokens >= count if self.positions.grows else n_tokens == count
        if batch != 1 or not fits:
            raise ValueError(
                f"patch inserts the outputs of one input of {count} tokens, "
                f"but the batch has {counted(batch, 'input')} of {n_tokens}: "
                f"read single inputs of {count} tokens"
            )
        patched_queries = [query for query in queries or range(count) if first <= query < n_tokens]
        positions = torch.tensor(patched_queries, dtype=torch.long, device=rows.device)
        return rows.index_copy(1, positions - first, replacement[None, positions])


@dataclass(frozen=True, eq=False)
class Edits:
    """Changes of heads in one model; empty in an intact model.

    Attributes:
        changes: Changes by head, in the order in which they were made.
        heads_of: Number of heads per layer, for each stack.
        stacks: Stack of each attention module.
        spell: Function that returns the token axis of ids, for links between words; None if no
            link names a word.
    """

    changes: Mapping[Head, Change] = field(default_factory=dict)
    heads_of: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    stacks: Mapping[nn.Module, str] = field(default_factory=dict)
    spell: Spell | None = None

    def __bool__(self) -> bool:
        return bool(self.changes)

    def then(self, inner: Edits) -> Edits:
        """Return these edits combined with those of an inner block, which take precedence."""
        changes = dict(self.changes)
        for head, change in inner.changes.items():
            changes[head] = change.after(changes.pop(head, None))
        return Edits(changes, inner.heads_of, inner.stacks, inner.spell or self.spell)

    def of_layer(self, module: nn.Module, layer: int) -> LayerChanges | None:
        """Return the changes in an attention module, used as the layer of this index, or None."""
        stack = self.stacks.get(module)
        changes = {
            head.head: change
            for head, change in self.changes.items()
            if (head.layer, head.stack) == (layer, stack)
        }
        return LayerChanges(changes, is_cross=is_cross(stack or "")) if changes else None

    @property
    def digest(self) -> str:
        """A string that identifies these edits; "" without edits."""
        if not self.changes:
            return ""
        digest = blake2b(digest_size=16)
        for head, change in sorted(self.changes.items()):
            digest.update(repr((*head, change.method)).encode())
            digest.update("".join(links.key for links in change.links).encode())
            digest.update(repr(change.queries).encode() if change.queries else b"")
            for tensor in (change.output, change.weights):
                if tensor is not None:
                    values = tensor.detach().float().cpu().numpy()
                    digest.update(np.ascontiguousarray(values).tobytes())
        return digest.hexdigest()

    @property
    def scales_links(self) -> bool:
        """Whether a change multiplies the weights of links."""
        return any(change.links for change in self.changes.values())

    def __str__(self) -> str:
        """Return the edits as a caption, "without L5 H8 (uniform), 7→2 cut in L1 H3".

        "" without edits.
        """
        off: dict[str, list[Head]] = {}
        scaled: dict[LinkFactors, list[Head]] = {}
        for head, change in self.changes.items():
            if change.method != KEPT:
                off.setdefault(change.said, []).append(head)
            for links in change.links:
                scaled.setdefault(links, []).append(head)
        descriptions = [f"{self.named(heads)} ({method})" for method, heads in off.items()]
        without = [f"without {', '.join(descriptions)}"] if descriptions else []
        return ", ".join(
            without + [f"{links} in {self.named(heads)}" for links, heads in scaled.items()]
        )

    def named(self, heads: Sequence[Head]) -> str:
        """Return head names, with the layer name in place of a complete layer."""
        stacks = {head.stack for head in heads}
        for stack in stacks:
            if len(stacks) == 1 and len(heads) == sum(self.heads_of[stack]) > 1:
                return "all heads" if len(self.heads_of) == 1 else f"all heads of {stack!r}"
        names: dict[str, None] = {}
        layer_heads: dict[tuple[int, str], int] = {}
        for head in heads:
            layer_heads[head.layer, head.stack] = layer_heads.get((head.layer, head.stack), 0) + 1
        for head in heads:
            count = layer_heads[head.layer, head.stack]
            if count > 1 and count == self.heads_of[head.stack][head.layer]:
                side = "" if head.stack == "self" else f"{head.stack} "
                names[f"{side}layer {head.layer}"] = None
            else:
                names[str(head)] = None
        listed_names = list(names)
        layers = sorted({head.layer for head in heads})
        is_window = layers == list(range(layers[0], layers[-1] + 1))
        are_layers = all("layer" in name for name in names)
        if len(stacks) == 1 and len(names) == len(layers) > 2 and is_window and are_layers:
            side = listed_names[0].partition("layer")[0]
            return f"{side}layers {layers[0]} to {layers[-1]}"
        more = f" and {len(listed_names) - _LISTED} more" if len(listed_names) > _LISTED else ""
        return ", ".join(listed_names[:_LISTED]) + more


def _of_head(visible: Tensor, head: int) -> Tensor:
    return visible[:, head if visible.shape[1] > 1 else 0]
