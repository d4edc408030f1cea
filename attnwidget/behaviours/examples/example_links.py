"""Example links of every head, collected in one pass over a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.behaviours.examples.example_results import HeadExamples
from attnwidget.behaviours.examples.kept_places import (
    best_places,
    best_sample,
    named,
    no_places,
    of_list,
)
from attnwidget.behaviours.examples.kept_texts import (
    merged_texts,
    no_texts,
    parted,
    text_axes,
    texts_of,
)
from attnwidget.behaviours.examples.place_priorities import NEVER, place_priorities
from attnwidget.behaviours.link_rule import LinkRule, visible_keys
from attnwidget.corpus.accumulator import Accumulator, Batch, LayerBatch, State, Subject
from attnwidget.corpus.head_projections import HeadProjections
from attnwidget.corpus.segment_indices import segment_indices
from attnwidget.kernels.causal import is_causal
from attnwidget.kernels.strongest_links import StrongestLinks, strongest_links

#: Lists of places with a list for every head; "sample" has the same places for all heads.
OF_HEADS = ("strongest", "heaviest", "missed")
#: Numbers of every head at the places of the sample.
SAMPLE_NUMBERS = ("sample weight", "sample strength")
#: Number of links in the random sample for each example: its tenths have 10 k links.
SAMPLED = 100


class ExampleLinks(Accumulator[HeadExamples]):
    """The strongest links of every head, and a random sample of all links; see `head_examples`.

    Args:
        k: Number of examples of each kind.
        seed: Seed of the random examples.
        rules: Rules whose missed links are collected.
        rule_of: Index of the rule of each head, int64 [L, H] over all layers of the model; -1 = no
            rule. None = the first rule for all heads.

    Raises:
        ValueError: `k` is below 1.
    """

    name: ClassVar[str] = "examples"

    def __init__(
        self,
        k: int = 20,
        *,
        seed: int = 0,
        rules: Sequence[LinkRule] = (),
        rule_of: NDArray[np.int64] | None = None,
    ) -> None:
        if k < 1:
            raise ValueError(f"k is at least 1 example, got {k}")
        self._k = k
        self._seed = seed
        self._rules = tuple(rules)
        self._rule_of = rule_of

    @property
    def options(self) -> dict[str, Any]:
        rules = [rule.name for rule in self._rules]
        rule_of = None if self._rule_of is None else self._rule_of.tolist()
        return {"k": self._k, "seed": self._seed, "rules": rules, "rule of": rule_of}

    def start(self, subject: Subject) -> None:
        super().start(subject)
        model = subject.needed_model("examples")
        self._tokenizer = model.tokenizer
        self._projections = HeadProjections(model, self.stack)
        self._nothing = self._no_examples()
        self.sums = {name: values.copy() for name, values in self._nothing.items()}

    def _no_examples(self) -> dict[str, NDArray[Any]]:
        heads = self.n_layers, self.n_heads
        n_sampled = SAMPLED * self._k
        state: dict[str, NDArray[Any]] = {}
        for name in OF_HEADS:
            rank = NEVER if name == "missed" else np.float32(np.inf)
            state |= named(name, no_places((*heads, self._k), rank=rank))
        state |= {
            "sample rank": np.full(n_sampled, NEVER),
            "sample place": np.full((n_sampled, 3), -1, np.int64),
            "sample weight": np.zeros((*heads, n_sampled), np.float32),
            "sample strength": np.zeros((*heads, n_sampled), np.float32),
            "missed predicted": np.zeros(heads, np.int64),
            "missed queries": np.zeros(heads, np.int64),
            "segments": np.zeros((), np.int64),
        }
        return state | no_texts()

    def update(self, layer: LayerBatch) -> None:
        if layer.layer == 0:
            self._begin(layer)
        weights = layer.weights
        real = layer.batch.real
        strengths = weights
        if not self._projections.refused:
            strengths = weights * self._projections.norms(layer)[:, :, None]
        for name, values in (("strongest", strengths), ("heaviest", weights)):
            found = strongest_links(values, real, self._order, self._k)
            self._keep(name, layer.layer, found, weights, strengths)
        places = torch.from_numpy(self._sampled).to(weights.device)
        at = (places[:, 0], slice(None), places[:, 1], places[:, 2])
        size = len(places)
        self._found["sample weight"][layer.layer, :, :size] = weights[at].T.cpu().numpy()
        self._found["sample strength"][layer.layer, :, :size] = strengths[at].T.cpu().numpy()
        for number in range(len(self._rules)):
            if heads := self._heads_with(number, layer.layer):
                self._keep_missed(layer, strengths, number, heads)

    def _heads_with(self, rule: int, layer: int) -> list[int]:
        """Return the heads of a layer that have a rule."""
        if self._rule_of is None:
            return list(range(self.n_heads)) if rule == 0 else []
        return np.flatnonzero(self._rule_of[self.layers.numbers[layer]] == rule).tolist()

    def _begin(self, layer: LayerBatch) -> None:
        """Draw the sample of a batch, and find the links that the rule predicts."""
        batch = layer.batch
        self._indices = segment_indices(batch.segments)
        order = np.argsort(self._indices)
        self._order = torch.from_numpy(order).to(layer.weights.device)
        self._found = {name: values.copy() for name, values in self._nothing.items()}
        causal = is_causal(layer.weights, batch.real)
        n = batch.real.shape[1]
        priorities = place_priorities(self._indices, n, n, self._seed)
        real = batch.real.cpu().numpy()
        visible = real[:, :, None] & real[:, None]
        visible = np.tril(visible) if causal else visible
        priorities = np.where(visible, priorities, NEVER).ravel()
        size = min(SAMPLED * self._k, int(visible.sum()))
        chosen = np.argpartition(priorities, size - 1)[:size]
        chosen = chosen[np.argsort(priorities[chosen])]
        self._sampled = np.stack(np.unravel_index(chosen, visible.shape), -1)
        self._found["sample rank"][:size] = priorities[chosen]
        self._found["sample place"][:size] = self._in_corpus(self._sampled)
        self._links = [rule.visible_links(batch, causal=causal) for rule in self._rules]
        self._seen_keys = visible_keys(batch, causal=causal)

    def _in_corpus(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return places with the number of the segment in the corpus, from items of the batch."""
        numbered = places.copy()
        numbered[..., 0] = self._indices[places[..., 0]]
        return numbered

    def _keep(
        self, name: str, layer: int, found: StrongestLinks, weights: Tensor, strengths: Tensor
    ) -> None:
        heads = torch.arange(self.n_heads, dtype=torch.long, device=weights.device)[:, None]
        at = (found.items, heads, found.queries, found.keys)
        places = torch.stack([found.items, found.queries, found.keys], -1).cpu().numpy()
        is_link = (found.values > 0).cpu().numpy()
        size = is_link.shape[1]
        rank = np.where(is_link, -found.values.cpu().numpy(), np.inf)
        columns = {
            "rank": rank,
            "place": np.where(is_link[..., None], self._in_corpus(places), -1),
            "weight": np.where(is_link, weights[at].cpu().numpy(), 0),
            "strength": np.where(is_link, strengths[at].cpu().numpy(), 0),
        }
        for column, values in columns.items():
            self._found[f"{name} {column}"][layer, :, :size] = values

    def _keep_missed(
        self, layer: LayerBatch, strengths: Tensor, rule: int, heads: Sequence[int]
    ) -> None:
        """Keep queries whose predicted keys together get less weight than by even attention."""
        links = self._links[rule].float()
        n_keys = links.sum(-1)  # [B, n]
        mass = torch.einsum("bhij,bij->bhi", layer.weights[:, heads], links)
        missed = (mass < (n_keys / self._seen_keys)[:, None]) & (n_keys > 0)[:, None]
        n = links.shape[-1]
        priorities = place_priorities(self._indices, n, 1, self._seed + 1)[..., 0]
        ranks = np.where(missed.cpu().numpy(), priorities[:, None], NEVER)  # [B, heads, n]
        by_head = ranks.transpose(1, 0, 2).reshape(len(heads), -1)
        size = min(self._k, by_head.shape[1])
        chosen = np.argsort(by_head, -1, kind="stable")[:, :size]
        items, queries = np.divmod(chosen, n)
        keys = links.argmax(-1).cpu().numpy()[items, queries]  # the first predicted key
        of_heads = np.array(heads)[:, None]
        at = tuple(torch.from_numpy(index) for index in (items, of_heads, queries, keys))
        rank = np.take_along_axis(by_head, chosen, -1)
        is_missed = rank < NEVER
        places = self._in_corpus(np.stack([items, queries, keys], -1))
        columns = {
            "rank": rank,
            "place": np.where(is_missed[..., None], places, -1),
            "weight": np.where(is_missed, layer.weights[at].cpu().numpy(), 0),
            "strength": np.where(is_missed, strengths[at].cpu().numpy(), 0),
        }
        for column, values in columns.items():
            self._found[f"missed {column}"][layer.layer, heads, :size] = values
        self._found["missed predicted"][layer.layer, heads] = int((n_keys > 0).sum())
        self._found["missed queries"][layer.layer, heads] = missed.sum((0, 2)).cpu().numpy()

    def end_batch(self, batch: Batch) -> None:
        self._found["segments"] += len(batch.segments)
        self._found |= texts_of(batch, self._indices)
        self.restore(self.merged(self.state(), self._found))

    def merged(self, first: State, second: State) -> dict[str, NDArray[Any]]:
        state: dict[str, NDArray[Any]] = {}
        for name in OF_HEADS:
            best = best_places(of_list(name, first), of_list(name, second), self._k)
            state |= named(name, best)
        state |= best_sample(first, second, SAMPLED * self._k, SAMPLE_NUMBERS)
        for name in ("missed predicted", "missed queries", "segments"):
            state[name] = np.asarray(first[name] + second[name])
        lists = [state[f"{name} place"][..., 0].ravel() for name in (*OF_HEADS, "sample")]
        return state | merged_texts(first, second, np.unique(np.concatenate(lists)))

    def restore(self, state: State) -> None:
        # The number of kept texts differs between states, and all further arrays have the same
        # shape.
        texts, others = parted(state)
        self.sums = parted(self.sums)[1]
        super().restore(others)
        self.sums |= texts

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
            texts=text_axes(self.sums, self._tokenizer),
            k=self._k,
            seed=self._seed,
            rules=tuple(rule.name for rule in self._rules),
            no_strength=self._projections.refused,
            n_segments=int(self.sums["segments"]),
            model_name=self.model_name,
        )
