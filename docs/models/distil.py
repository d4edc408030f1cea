"""A student learns where its teacher looks: attention maps and hidden states as targets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import BertForMaskedLM, BertModel

from batches import TrainingBatch
from vocabulary import read_vocabulary

Targets = tuple[list[Tensor], tuple[Tensor, ...]]
"""Maps [batch, heads, n, n] by layer; hidden states [batch, n, size], the embeddings' first."""


class _GuidedAttention(torch.autograd.Function):
    """softmax(Q Kᵀ) V and the divergence KL(target ‖ weights) of its maps from given ones.

    Autograd would compute the divergence in ten passes over maps that are larger than everything
    else in a small model. Its gradient with respect to the scores is just (weights - target), which
    the backward pass adds to what comes through the output.
    """

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, target: Tensor
    ) -> tuple[Tensor, Tensor]:
        """(context [batch, heads, n, d], divergence in nats a query); `query` is scaled."""
        scores = query @ key.transpose(-1, -2)  # [batch, heads, n, n]
        weights = scores.softmax(-1)
        ctx.save_for_backward(query, key, value, weights, target)
        # The gradient does not need the value: that of a few sequences is enough to report.
        some = slice(0, max(1, 128 // scores.shape[-1]))
        p = target[some].float()
        logits = scores[some].float()
        divergence = (p * ((p + 1e-9).log() - logits.log_softmax(-1))).sum(-1).mean()
        return weights @ value, divergence

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        output, divergence = gradients
        query, key, value, weights, target = ctx.saved_tensors
        n_rows = weights.numel() / weights.shape[-1]
        scores = torch.ops.aten._softmax_backward_data(
            output @ value.transpose(-1, -2), weights, -1, weights.dtype
        )
        scores.add_(weights - target, alpha=float(divergence) / n_rows)
        return (
            scores @ key,
            scores.transpose(-1, -2) @ query,
            weights.transpose(-1, -2) @ output,
            None,
        )


class TracedSelfAttention(nn.Module):
    """Takes the place of a BERT layer's self-attention, with its parameters under their names.

    Keeps its maps [batch, heads, n, n] in `weights` while `keep` is set; given such maps as
    `target`, leaves their divergence (a scalar, in nats a query) in `divergence`. There is no
    dropout, and sequences must not be padded: masks are ignored.
    """

    def __init__(self, attention: Any, heads: int) -> None:
        super().__init__()
        self.query = attention.query
        self.key = attention.key
        self.value = attention.value
        self.heads = heads
        self.keep = False
        self.weights: Tensor | None = None
        self.target: Tensor | None = None
        self.divergence: Tensor | None = None

    def forward(self, hidden: Tensor, *_: Any, **__: Any) -> tuple[Tensor, None]:
        batch, n, _size = hidden.shape
        query, key, value = (
            linear(hidden).view(batch, n, self.heads, -1).transpose(1, 2)
            for linear in (self.query, self.key, self.value)
        )
        query = query * query.shape[-1] ** -0.5
        if self.target is not None:
            context, self.divergence = _GuidedAttention.apply(query, key, value, self.target)
        elif self.keep:
            self.weights = (query @ key.transpose(-1, -2)).softmax(-1)
            context = self.weights @ value
        else:
            context = functional.scaled_dot_product_attention(query, key, value, scale=1.0)
        return context.transpose(1, 2).reshape(batch, n, -1), None


def trace(bert: BertModel) -> list[TracedSelfAttention]:
    """Replace the self-attention of every layer; returns the new modules, by layer."""
    traced = []
    for layer in bert.encoder.layer:
        attention: Any = layer.attention
        attention.self = TracedSelfAttention(attention.self, bert.config.num_attention_heads)
        traced.append(attention.self)
    return traced


class Teacher(nn.Module):
    """A frozen BERT that reads a student's wordpieces and gives its maps and hidden states.

    `wordpieces` are the student's, by id; of the teacher's embeddings only theirs are kept.

    Raises:
        ValueError: the teacher's vocabulary lacks some of them.
    """

    def __init__(self, folder: str | Path, wordpieces: list[str], dtype: torch.dtype) -> None:
        super().__init__()
        places_of_pieces = {piece: i for i, piece in enumerate(read_vocabulary(folder))}
        missing = [piece for piece in wordpieces if piece not in places_of_pieces]
        if missing:
            raise ValueError(
                f"{len(missing)} wordpieces are not in the teacher's vocabulary: {missing[:5]}"
            )
        self.bert = BertModel.from_pretrained(folder, add_pooling_layer=False, dtype=dtype)
        self.bert.eval().requires_grad_(False)
        embeddings = self.bert.embeddings.word_embeddings.weight
        rows = torch.tensor(
            [places_of_pieces[piece] for piece in wordpieces], dtype=torch.long, device="cpu"
        )
        self.bert.embeddings.word_embeddings = nn.Embedding.from_pretrained(embeddings[rows])
        self.layers = trace(self.bert)
        for layer in self.layers:
            layer.keep = True

    @torch.no_grad()
    def forward(self, ids: Tensor, segments: Tensor) -> Targets:
        """The targets for `ids` and `segments`, both [batch, n]."""
        output = self.bert(ids, token_type_ids=segments, output_hidden_states=True)
        maps = [layer.weights for layer in self.layers if layer.weights is not None]
        for layer in self.layers:
            layer.weights = None
        return maps, output.hidden_states


@dataclass(frozen=True)
class Losses:
    """Scalars of one batch.

    `masked_lm`: nats per predicted wordpiece, None if no wordpiece is to be predicted;
    `divergence`: of the maps, nats a query, the mean over heads and layers; `hidden`: squared error
    a unit, the mean over layers. The last two are 0 without a teacher.
    """

    masked_lm: Tensor | None
    divergence: Tensor
    hidden: Tensor


class Student(nn.Module):
    """A BERT in training, with a linear map from each of its hidden states to the teacher's.

    Raises:
        ValueError: the teacher has another number of layers or heads.
    """

    def __init__(self, model: BertForMaskedLM, teacher: Teacher | None) -> None:
        super().__init__()
        self.model = model
        self.layers = trace(model.bert)
        for module in model.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0  # a small model on more text than it can learn by heart
        self.projections = nn.ModuleList()
        if teacher is None:
            return
        mine = model.config
        its = teacher.bert.config
        for name in ("num_hidden_layers", "num_attention_heads"):
            student = getattr(mine, name)
            other = getattr(its, name)
            if student != other:
                raise ValueError(f"{name} is {student} in the student and {other} in the teacher")
        self.projections.extend(
            nn.Linear(
                mine.hidden_size, its.hidden_size, bias=False, dtype=torch.float32, device="cpu"
            )
            for _ in range(mine.num_hidden_layers + 1)
        )

    def forward(self, batch: TrainingBatch, targets: Targets | None) -> Losses:
        """The losses of a batch; `targets` are the teacher's for its text before masking."""
        for i, layer in enumerate(self.layers):
            layer.target = targets[0][i] if targets else None
        output = self.model.bert(
            batch.ids, token_type_ids=batch.segments, output_hidden_states=targets is not None
        )
        last = output.last_hidden_state
        selected = batch.labels != -100
        masked_lm = None
        if selected.any():
            logits = self.model.cls(last[selected])
            masked_lm = functional.cross_entropy(logits.float(), batch.labels[selected])
        divergence = hidden = last.new_zeros((), dtype=torch.float32)
        if targets:
            divergences = [
                layer.divergence for layer in self.layers if layer.divergence is not None
            ]
            divergence = torch.stack(divergences).mean()
            states = zip(self.projections, output.hidden_states, targets[1], strict=True)
            errors = [
                functional.mse_loss(project(mine).float(), its.float())
                for project, mine, its in states
            ]
            hidden = torch.stack(errors).mean()
        for layer in self.layers:
            layer.target = layer.divergence = None
        return Losses(masked_lm, divergence, hidden)
