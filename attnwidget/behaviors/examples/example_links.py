"""Example links of every head, collected in one pass over a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.behaviors.examples.example_results import OF_RULE, HeadExamples
from attnwidget.behaviors.examples.kept_places import named, no_places
from attnwidget.behaviors.examples.place_priorities import NEVER, place_priorities
from attnwidget.behaviors.examples.place_sample import PlaceSample
from attnwidget.behaviors.examples.rule_outcomes import rule_outcomes
from attnwidget.behaviors.link_rule import LinkRule, visible_keys
from attnwidget.corpus.accumulator import LayerBatch, Subject
from attnwidget.corpus.head_projections import HeadProjections
from attnwidget.kernels.strongest_links import strongest_links
from attnwidget.text.whole_number import whole_number

#: Sample size per example. A tenth of the sample then has 10 k links.
SAMPLED = 100


class ExampleLinks(PlaceSample[HeadExamples]):
    """Strongest links of every head, and a random sample of all links; see `head_examples`.

    Args:
        k: Number of examples of each kind.
        seed: Seed of the random examples.
        rules: Rules whose right, wrong and missed links are collected.
        rule_of: Index of the rule of each head, int64 [L, H] over all layers of the model; -1 = no
            rule. None = the first rule for all heads.

    Raises:
        ValueError: If `k` is below 1.
    """

    name = "examples"
    lists = ("strongest", "heaviest", *OF_RULE)
    summed = ("missed predicted", "missed queries", "segments")
    of_sample = ("sample weight", "sample strength")

    def __init__(
        self,
        k: int = 20,
        *,
        seed: int = 0,
        rules: Sequence[LinkRule] = (),
        rule_of: NDArray[np.int64] | None = None,
    ) -> None:
        k = whole_number("n_examples", k, 1, "example")
        seed = whole_number("seed", seed, 0)
        self.n_listed = k
        self.n_sampled = SAMPLED * k
        self._seed = seed
        self._rules = tuple(rules)
        self._rule_of = rule_of

    @property
    def options(self) -> dict[str, Any]:
        rules = [rule.name for rule in self._rules]
        rule_of = None if self._rule_of is None else self._rule_of.tolist()
        return {"k": self.n_listed, "seed": self._seed, "rules": rules, "rule of": rule_of}

    def start(self, subject: Subject) -> None:
        super().start(subject)
        model = subject.model
        self._projections = None if model is None else HeadProjections(model, self.stack)
        self._no_strength = "" if self._projections is None else self._projections.refused

    def nothing(self) -> dict[str, NDArray[Any]]:
        heads = self.n_layers, self.n_heads
        state: dict[str, NDArray[Any]] = {}
        for name in self.lists:
            rank = NEVER if name in OF_RULE else np.float32(np.inf)
            state |= named(name, no_places((*heads, self.n_listed), rank=rank))
        sample_values = np.zeros((*heads, self.n_sampled), np.float32)
        return state | {
            **{name: sample_values.copy() for name in self.of_sample},
            "missed predicted": np.zeros(heads, np.int64),
            "missed queries": np.zeros(heads, np.int64),
            "segments": np.zeros((), np.int64),
        }

    def add_layer(self, layer: LayerBatch) -> None:
        weights = layer.weights
        real = layer.batch.real
        strengths = self._strengths(layer)
        lists = [
            strongest_links(values, real, self._order, self.n_listed)
            for values in (strengths, weights)
        ]
        numbers: list[Tensor] = []
        for links in lists:
            index = (links.items, self._heads, links.queries, links.keys)
            numbers += [links.values, weights[index], strengths[index]]
        sample_index = (
            self._sampled[:, 0],
            slice(None),
            self._sampled[:, 1],
            self._sampled[:, 2],
        )
        numbers += [weights[sample_index].T, strengths[sample_index].T]
        places = [torch.stack([links.items, links.queries, links.keys], -1) for links in lists]
        columns = _copied(numbers)
        link_positions = _copied(places)
        for number, name in enumerate(("strongest", "heaviest")):
            link_columns = columns[3 * number : 3 * number + 3]
            self._keep(name, layer.layer, link_positions[number], *link_columns)
        for name, values in zip(self.of_sample, columns[6:], strict=True):
            self.found[name][layer.layer, :, : len(self._sampled)] = values
        for number in range(len(self._rules)):
            if heads := self._heads_with(number, layer.layer):
                self._keep_of_rule(layer, strengths, number, heads)

    def _strengths(self, layer: LayerBatch) -> Tensor:
        """Return the norms of the transformed vectors, or weights if the model has no f(x)."""
        if self._projections is not None:
            if self._projections.refused:
                return layer.weights
            return layer.weights * self._projections.norms(layer)[:, :, None]
        if layer.norms is not None and not self._no_strength:
            try:
                return layer.norms()
            except ValueError as error:
                self._no_strength = str(error)
        return layer.weights

    def _heads_with(self, rule: int, layer: int) -> list[int]:
        """Return the heads of a layer to which a rule belongs."""
        if self._rule_of is None:
            return list(range(self.n_heads)) if rule == 0 else []
        return np.flatnonzero(self._rule_of[self.layers.numbers[layer]] == rule).tolist()

    def begin_batch(self, layer: LayerBatch) -> None:
        """Draw the sample of a batch and compute the links that the rules predict."""
        batch = layer.batch
        device = layer.weights.device
        self._order = torch.from_numpy(np.argsort(self.indices)).to(device)
        self._heads = torch.arange(self.n_heads, dtype=torch.long, device=device)[:, None]
        n = batch.real.shape[1]
        priorities = place_priorities(self.indices, n, n, self._seed)
        real = batch.real.cpu().numpy()
        visible = real[:, :, None] & real[:, None]
        visible = np.tril(visible) if self.is_causal else visible
        priorities = np.where(visible, priorities, NEVER).ravel()
        size = min(self.n_sampled, int(visible.sum()))
        selected = np.argpartition(priorities, size - 1)[:size]
        selected = selected[np.argsort(priorities[selected])]
        sampled = np.stack(np.unravel_index(selected, visible.shape), -1)
        self._sampled = torch.from_numpy(sampled).to(device)
        self.keep_sample(sampled, priorities[selected])
        self._links = [rule.visible_links(batch, causal=self.is_causal) for rule in self._rules]
        self._resting = batch.classes["[CLS]"] | batch.classes["[SEP]"]
        self._seen_keys = visible_keys(batch, causal=self.is_causal)
        self.found["segments"] += len(batch.segments)

    def _keep(
        self,
        name: str,
        layer: int,
        places: NDArray[Any],
        values: NDArray[Any],
        weights: NDArray[Any],
        strengths: NDArray[Any],
    ) -> None:
        is_link = values > 0
        size = is_link.shape[1]
        columns = {
            "rank": np.where(is_link, -values, np.inf),
            "place": np.where(is_link[..., None], self.in_corpus(places), -1),
            "weight": np.where(is_link, weights, 0),
            "strength": np.where(is_link, strengths, 0),
        }
        for column, numbers in columns.items():
            self.found[f"{name} {column}"][layer, :, :size] = numbers

    def _keep_of_rule(
        self, layer: LayerBatch, strengths: Tensor, rule: int, heads: Sequence[int]
    ) -> None:
        """Store random right, wrong and missed queries of a rule.

        The kinds are explained in `HeadExamples.links`.
        """
        links = self._links[rule]
        outcomes = rule_outcomes(layer.weights[:, heads], links, self._resting, self._seen_keys)
        for name, is_kind, keys in (
            ("right", outcomes.right, outcomes.top_keys),
            ("wrong", outcomes.wrong, outcomes.top_keys),
            ("missed", outcomes.missed, outcomes.predicted_keys),
        ):
            self._keep_drawn(name, layer, strengths, heads, is_kind, keys)
        self.found["missed predicted"][layer.layer, heads] = int(links.any(-1).sum())
        self.found["missed queries"][layer.layer, heads] = outcomes.missed.sum((0, 2)).cpu().numpy()

    def _keep_drawn(
        self,
        name: str,
        layer: LayerBatch,
        strengths: Tensor,
        heads: Sequence[int],
        chosen: Tensor,
        keys: Tensor,
    ) -> None:
        """Store k of the selected queries [B, heads, n], drawn at random, with one key each."""
        n = chosen.shape[-1]
        priorities = place_priorities(self.indices, n, 1, self._seed + 1)[..., 0]
        ranks = np.where(chosen.cpu().numpy(), priorities[:, None], NEVER)  # [B, heads, n]
        by_head = ranks.transpose(1, 0, 2).reshape(len(heads), -1)
        size = min(self.n_listed, by_head.shape[1])
        first = np.argsort(by_head, -1, kind="stable")[:, :size]
        items, queries = np.divmod(first, n)
        key_positions = keys.cpu().numpy()[items, np.arange(len(heads))[:, None], queries]
        head_column = np.array(heads)[:, None]
        index = tuple(
            torch.from_numpy(index) for index in (items, head_column, queries, key_positions)
        )
        rank = np.take_along_axis(by_head, first, -1)
        is_query = rank < NEVER
        corpus_positions = self.in_corpus(np.stack([items, queries, key_positions], -1))
        columns = {
            "rank": rank,
            "place": np.where(is_query[..., None], corpus_positions, -1),
            "weight": np.where(is_query, layer.weights[index].cpu().numpy(), 0),
            "strength": np.where(is_query, strengths[index].cpu().numpy(), 0),
        }
        for column, values in columns.items():
            self.found[f"{name} {column}"][layer.layer, heads, :size] = values

    def compute(self) -> HeadExamples:
        spread = self.layers.spread
        arrays = {
            name: spread(values, fill=-1 if name.endswith("place") else 0)
            for name, values in self.sums.items()
            if values.ndim > 1 and name != "sample place"
        }
        arrays |= {name: self.sums[name] for name in ("sample rank", "sample place")}
        return HeadExamples(
            arrays=arrays,
            texts=self.texts(),
            n_examples=self.n_listed,
            seed=self._seed,
            rules=tuple(rule.name for rule in self._rules),
            no_strength=self._no_strength,
            n_segments=int(self.sums["segments"]),
            model_name=self.model_name,
        )


def _copied(tensors: Sequence[Tensor]) -> list[NDArray[Any]]:
    """Return tensors of the same type as arrays, with a single copy from the GPU."""
    if tensors[0].device.type == "cpu":
        return [tensor.numpy() for tensor in tensors]
    flat = torch.cat([tensor.reshape(-1) for tensor in tensors]).cpu()
    parts = flat.split([tensor.numel() for tensor in tensors])
    return [part.reshape(tensor.shape).numpy() for part, tensor in zip(parts, tensors, strict=True)]
