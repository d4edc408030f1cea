"""Edits: what stands in the place of heads' outputs, by head."""

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
# Heads that a caption lists of those edited alike.
_LISTED = 12


@dataclass(frozen=True, eq=False)
class Change:
    """The replacement of one head's output, before the output projection.

    Attributes:
        method: one of METHODS, or "edges".
        said: the method as captions say it: "uniform", "mean over 24 tokens".
        edges: (query, key) of single weights that are taken out, positions in the text.
        output: [Dv] in the place of every query's output ("mean"), or [Q, Dv] ("patch").
        queries: The queries whose output "patch" replaces; () = all.
    """

    method: str
    said: str
    edges: tuple[tuple[int, int], ...] = ()
    output: Tensor | None = None
    queries: tuple[int, ...] = ()

    def after(self, earlier: Change | None) -> Change:
        """This change where a block around it has an `earlier` one: edges add up, others hold."""
        if earlier is None or not (self.edges and earlier.edges):
            return self
        return edge_change(tuple(dict.fromkeys((*earlier.edges, *self.edges))))


def edge_change(edges: tuple[tuple[int, int], ...]) -> Change:
    """Single weights taken out, as by a score of minus infinity."""
    listed = ", ".join(f"{query}→{key}" for query, key in edges[:_LISTED])
    more = f" and {len(edges) - _LISTED} more" if len(edges) > _LISTED else ""
    return Change("edges", f"edges {listed}{more}", edges=edges)


@dataclass(frozen=True, eq=False)
class LayerChanges:
    """The changes of one layer, by the index of the head.

    Attributes:
        heads: The change of each head.
        n_inputs: Number of inputs of the pass. The batch of a layer in blocks is larger: windows,
            tiles or pictures of these inputs. None = unknown.
        is_cross: Whether the keys belong to another sequence than the queries.
        positions: Positions in the text of the tokens of the pass.
    """

    heads: Mapping[int, Change]
    n_inputs: int | None = None
    is_cross: bool = False
    positions: TextPositions = field(default_factory=TextPositions)

    @property
    def replaces_outputs(self) -> bool:
        """Whether some head's replacement cannot come from attention weights."""
        return any(change.output is not None for change in self.heads.values())

    def weights(
        self, weights: Tensor, visible: Tensor | None, sink: Tensor | None = None
    ) -> Tensor:
        """Return edited weights [B, H, Q, K].

        Args:
            weights: The weights of the model.
            visible: Keys that each query may see, broadcastable to `weights`; None = all.
            sink: Weight of the attention sink [B, H, Q, 1]; None = the model has no sink.

        Raises:
            ValueError: no such head or edge, or a change that a layer in blocks does not allow.
        """
        if self.n_inputs is not None and len(weights) > self.n_inputs:
            self._refuse_in_blocks()
        rows = list(weights.unbind(1))
        for head, change in self.heads.items():
            index_among("head", head, len(rows), "this layer")
            seen = visible if visible is None or visible.ndim < 4 else _of_head(visible, head)
            if change.method == "uniform":
                rows[head] = uniform_weights(rows[head], seen)
            elif change.method == "zero":
                rows[head] = torch.zeros_like(rows[head])
            elif change.method == "first":
                rows[head] = first_key_weights(rows[head], seen)
            elif change.method == "edges":
                edges = self.positions.in_pass(
                    change.edges, *rows[head].shape[-2:], is_cross=self.is_cross
                )
                rows[head] = weights_without_edges(
                    rows[head], edges, None if sink is None else sink[:, head]
                )
        return torch.stack(rows, 1)

    def _refuse_in_blocks(self) -> None:
        """Refuse changes of single tokens: blocks count tokens in another order."""
        for change in self.heads.values():
            if change.method in _OF_TOKENS:
                raise ValueError(
                    f"{change.method!r} names tokens, and this layer attends within windows, "
                    "tiles or streams, which have an order of their own: use 'uniform', 'zero' or "
                    "'mean'"
                )

    def outputs(self, outputs: Tensor) -> Tensor:
        """Heads' outputs [B, H, Q, Dv] as edited.

        Raises:
            ValueError: if the replacements were made for another input.
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
        """Replace the head outputs [B, Q, Dv] of the tokens that `replacement` [n, Dv] covers."""
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
        chosen = [query for query in queries or range(count) if first <= query < n_tokens]
        places = torch.tensor(chosen, dtype=torch.long, device=rows.device)
        return rows.index_copy(1, places - first, replacement[None, places])


@dataclass(frozen=True, eq=False)
class Edits:
    """The replacements of head outputs in one model; empty in an intact model.

    Attributes:
        changes: by head, in the order in which they were asked for.
        heads_of: for each stack the number of heads of each of its layers.
        stacks: the stack of each attention module of the model.
    """

    changes: Mapping[Head, Change] = field(default_factory=dict)
    heads_of: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    stacks: Mapping[nn.Module, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.changes)

    def then(self, inner: Edits) -> Edits:
        """These edits with those of an inner block, which hold where both name a head."""
        changes = dict(self.changes)
        for head, change in inner.changes.items():
            changes[head] = change.after(changes.pop(head, None))
        return Edits(changes, inner.heads_of, inner.stacks)

    def of_layer(self, module: nn.Module, layer: int) -> LayerChanges | None:
        """The changes within an attention module as the layer of that index; None for none."""
        stack = self.stacks.get(module)
        changes = {
            head.head: change
            for head, change in self.changes.items()
            if (head.layer, head.stack) == (layer, stack)
        }
        return LayerChanges(changes, is_cross=is_cross(stack or "")) if changes else None

    @property
    def digest(self) -> str:
        """A text that distinguishes these edits from others; "" without edits."""
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
        """As captions say it: "without L5 H8 (uniform)"; "" where there are none."""
        groups: dict[str, list[Head]] = {}
        for head, change in self.changes.items():
            groups.setdefault(change.said, []).append(head)
        said = [f"{self._named(heads)} ({how})" for how, heads in groups.items()]
        return f"without {', '.join(said)}" if said else ""

    def _named(self, heads: list[Head]) -> str:
        """Heads by name, the whole of a layer as the layer."""
        names: dict[str, None] = {}
        for head in heads:
            layer = [other for other in heads if other[::2] == head[::2]]
            if len(layer) > 1 and len(layer) == self.heads_of[head.stack][head.layer]:
                side = "" if head.stack == "self" else f"{head.stack} "
                names[f"{side}layer {head.layer}"] = None
            else:
                names[str(head)] = None
        listed = list(names)
        more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
        return ", ".join(listed[:_LISTED]) + more


def _of_head(visible: Tensor, head: int) -> Tensor:
    return visible[:, head if visible.shape[1] > 1 else 0]
