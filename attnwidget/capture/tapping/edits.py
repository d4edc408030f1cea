"""Edits: the replacements of head outputs, by head."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np
import torch
from torch import Tensor, nn

from attnwidget.capture.tapping.head import Head
from attnwidget.capture.tapping.stack_names import is_cross
from attnwidget.capture.tapping.text_positions import TextPositions
from attnwidget.kernels.ablation import (
    first_key_weights,
    uniform_weights,
    weights_without_edges,
)
from attnwidget.text.counted import counted
from attnwidget.text.index_among import index_among

# Methods that name single tokens of an input.
_OF_TOKENS = ("edges", "first", "patch")
# Maximum number of heads with the same edit that a caption lists.
_LISTED = 12


@dataclass(frozen=True, eq=False)
class Change:
    """The replacement of one head's output, before the output projection.

    Attributes:
        method: One of METHODS, or "edges".
        said: Method in captions: "uniform", "mean over 24 tokens".
        edges: Single weights that are removed, as (query, key) positions in the text.
        output: Replacement of every query's output, [Dv] ("mean"), or [Q, Dv] ("patch").
        queries: Queries whose output "patch" replaces; () for all.
    """

    method: str
    said: str
    edges: tuple[tuple[int, int], ...] = ()
    output: Tensor | None = None
    queries: tuple[int, ...] = ()

    def after(self, earlier: Change | None) -> Change:
        """Return this change inside a block with an `earlier` change: only edges add up."""
        if earlier is None or not (self.edges and earlier.edges):
            return self
        return edge_change(tuple(dict.fromkeys((*earlier.edges, *self.edges))))


def edge_change(edges: tuple[tuple[int, int], ...]) -> Change:
    """Return a change that removes single weights, as if their scores were minus infinity."""
    edge_names = ", ".join(f"{query}→{key}" for query, key in edges[:_LISTED])
    more = f" and {len(edges) - _LISTED} more" if len(edges) > _LISTED else ""
    return Change("edges", f"edges {edge_names}{more}", edges=edges)


@dataclass(frozen=True, eq=False)
class LayerChanges:
    """Changes of one layer, by head index.

    Attributes:
        heads: Change of each head.
        n_inputs: Number of inputs in the pass. A layer in blocks has a larger batch: windows, tiles
            or pictures of these inputs. None if unknown.
        is_cross: Whether keys and queries belong to different sequences.
        positions: Text positions of the tokens in the pass.
    """

    heads: Mapping[int, Change]
    n_inputs: int | None = None
    is_cross: bool = False
    positions: TextPositions = field(default_factory=TextPositions)

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
            ValueError: A head or edge does not exist, or a layer in blocks does not allow a change.
        """
        if self.n_inputs is not None and len(weights) > self.n_inputs:
            self._refuse_in_blocks()
        rows = list(weights.unbind(1))
        for head, change in self.heads.items():
            index_among("head", head, len(rows), "this layer")
            head_visible = (
                visible if visible is None or visible.ndim < 4 else _of_head(visible, head)
            )
            if change.method == "uniform":
                rows[head] = uniform_weights(rows[head], head_visible)
            elif change.method == "zero":
                rows[head] = torch.zeros_like(rows[head])
            elif change.method == "first":
                rows[head] = first_key_weights(rows[head], head_visible)
            elif change.method == "edges":
                edges = self.positions.in_pass(
                    change.edges, *rows[head].shape[-2:], is_cross=self.is_cross
                )
                rows[head] = weights_without_edges(
                    rows[head], edges, None if sink is None else sink[:, head]
                )
        return torch.stack(rows, 1)

    def _refuse_in_blocks(self) -> None:
        """Refuse changes of single tokens, because blocks count tokens in another order."""
        for change in self.heads.values():
            if change.method in _OF_TOKENS:
                raise ValueError(
                    f"{change.method!r} names tokens, and this layer attends within windows, "
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
    """Replacements of head outputs in one model; empty in an intact model.

    Attributes:
        changes: Changes by head, in the order in which they were made.
        heads_of: Number of heads per layer, for each stack.
        stacks: Stack of each attention module.
    """

    changes: Mapping[Head, Change] = field(default_factory=dict)
    heads_of: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    stacks: Mapping[nn.Module, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.changes)

    def then(self, inner: Edits) -> Edits:
        """Return these edits combined with those of an inner block, which take precedence."""
        changes = dict(self.changes)
        for head, change in inner.changes.items():
            changes[head] = change.after(changes.pop(head, None))
        return Edits(changes, inner.heads_of, inner.stacks)

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
            digest.update(repr((*head, change.method, sorted(change.edges))).encode())
            digest.update(repr(change.queries).encode() if change.queries else b"")
            if change.output is not None:
                values = change.output.detach().float().cpu().numpy()
                digest.update(np.ascontiguousarray(values).tobytes())
        return digest.hexdigest()

    def __str__(self) -> str:
        """Return the edits as a caption, "without L5 H8 (uniform)"; "" without edits."""
        groups: dict[str, list[Head]] = {}
        for head, change in self.changes.items():
            groups.setdefault(change.said, []).append(head)
        descriptions = [f"{self._named(heads)} ({method})" for method, heads in groups.items()]
        return f"without {', '.join(descriptions)}" if descriptions else ""

    def _named(self, heads: list[Head]) -> str:
        """Return head names, with the layer name in place of a complete layer."""
        names: dict[str, None] = {}
        for head in heads:
            layer_heads = [member for member in heads if member[::2] == head[::2]]
            if len(layer_heads) > 1 and len(layer_heads) == self.heads_of[head.stack][head.layer]:
                side = "" if head.stack == "self" else f"{head.stack} "
                names[f"{side}layer {head.layer}"] = None
            else:
                names[str(head)] = None
        listed_names = list(names)
        more = f" and {len(listed_names) - _LISTED} more" if len(listed_names) > _LISTED else ""
        return ", ".join(listed_names[:_LISTED]) + more


def _of_head(visible: Tensor, head: int) -> Tensor:
    return visible[:, head if visible.shape[1] > 1 else 0]
