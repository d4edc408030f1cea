"""Weights of all heads between the word pairs of a corpus that match a query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import chain, product
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from attnwidget.behaviors.examples.place_priorities import NEVER, place_priorities
from attnwidget.behaviors.examples.place_sample import PlaceSample
from attnwidget.behaviors.link_rule import visible_keys
from attnwidget.behaviors.places.found_links import FoundLinks
from attnwidget.behaviors.places.word_query import WordQuery
from attnwidget.capture.cut_inputs import says_cuts
from attnwidget.corpus.accumulator import Batch, LayerBatch
from attnwidget.corpus.argument_checks import SENTENCES, all_of, refuse_no_model
from attnwidget.corpus.resume_file import digest_of
from attnwidget.corpus.segment_indices import with_index
from attnwidget.corpus.segmenting import rows_as_segments
from attnwidget.inputs.input_list import each_input
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.metrics.measure_heads import measure
from attnwidget.text.loaded import left_out_of
from attnwidget.text.segments import Segment
from attnwidget.text.treebank import Sentence
from attnwidget.text.whole_number import whole_number
from attnwidget.words.relation_results import DIRECTIONS
from attnwidget.words.word_segments import WordAxes, WordSegmenter

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


@in_plain_torch
@says_cuts
def find_links(
    model: AttentionModel,
    texts: Iterable[Any],
    *,
    query: str | None = None,
    key: str | None = None,
    relation: str | None = None,
    direction: str = DIRECTIONS[0],
    regex: str | None = None,
    n_links: int = 20,
    seed: int = 0,
    skip_unaligned: bool = False,
    batch_size: int = 8,
    progress: bool = True,
) -> FoundLinks:
    """Measure the mean weight of every head between word pairs of a corpus that match a query.

    The first word of a pair attends to the second word. Weights are summed over the tokens of the
    attended word and averaged over the tokens of the attending word. All pairs count equally.

    Args:
        model: Model from `load_model`.
        texts: Sentences of a treebank (`load_treebank`), or texts or segments as in `measure`. Tags
            and relations need sentences, and roles need chats. In texts and segments, special
            tokens are words too.
        query: Condition on the attending word: "word=he|she", "tag=PRON", "xpos=PRP",
            "relation=nsubj", or in a chat "role=assistant", with "|" between alternatives.
        key: Condition on the attended word, in the same form.
        relation: Relation between the two words in the treebank, such as "nsubj"; "nsubj (all)"
            includes the subtypes.
        direction: Direction of the relation: "dependent to governor" or "governor to dependent".
        regex: Regular expression with the groups "query" and "key", searched in the words joined by
            spaces.
        n_links: Largest number of pairs in the result, drawn at random.
        seed: Seed of this draw.
        skip_unaligned: Whether to skip sentences that have a word without tokens or a token of
            several words, or are too long for the model; the result counts them.
        batch_size: Number of texts in a forward pass.
        progress: Whether to show a progress bar.

    Raises:
        ValueError: If the conditions do not name both words or need a treebank, or if `n_links` is
            below 1; or as in `measure`.
        TypeError: If `texts` are neither sentences nor segments; or as in `measure`.
        RuntimeError, OSError, WorkersError, KeyboardInterrupt: As in `measure`.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.behaviors import find_links
        >>> from attnwidget.demo import demo_treebank
        >>> found = find_links(load_model(), demo_treebank()[:20], query="tag=PRON",
        ...     relation="nsubj", progress=False)
        >>> found.n_places, found.weights.shape
        (12, (6, 12))
    """
    refuse_no_model(model)
    n_links = whole_number("n_links", n_links, 1, "place")
    seed = whole_number("seed", seed, 0)
    word_query = WordQuery(query, key, relation, direction, regex)
    items, are_sentences = _first_kind(each_input(texts))
    segments: Iterable[Segment]
    sentences: list[Sentence] | None = None
    n_skipped = 0
    if are_sentences:
        sentences = all_of(Sentence, items, SENTENCES)
        word_query.refuse_unknown_relation(sentences)
        segments, n_skipped = WordSegmenter(model).segments(
            [sentence.running for sentence in sentences], skip_unaligned
        )
        n_skipped += len(left_out_of(texts))
    else:
        if word_query.needs_treebank:
            raise ValueError(
                "tags and relations are known in a treebank: pass sentences (load_treebank)"
            )
        rows = with_index(rows_as_segments(items, model))
        segments = list(rows) if isinstance(texts, Sized) else rows
    metric = PlaceWeights(word_query, sentences, k=n_links, seed=seed, n_skipped=n_skipped)
    measurements = measure(
        model,
        segments,
        [metric],
        batch_size=batch_size,
        progress=progress,
    )
    return cast("FoundLinks", measurements[metric.name])


def _first_kind(items: Iterable[Any]) -> tuple[Iterator[Any], bool]:
    """Return all items, and whether the first item is a sentence of a treebank."""
    remaining = iter(items)
    first = next(remaining, None)
    if first is None:
        raise ValueError("there are no texts: pass sentences of a treebank, texts or segments")
    return chain([first], remaining), isinstance(first, Sentence)


class PlaceWeights(PlaceSample[FoundLinks]):
    """Sums of head weights between the word pairs that match a query; see `find_links`.

    Args:
        query: Query for word pairs.
        sentences: Sentences of a treebank; segment i of the study is a `WordSegment` of sentence i.
            None = segments with an index.
        k: Number of pairs to keep.
        seed: Seed of the sampled pairs.
        n_skipped: Number of skipped sentences, for the result.
    """

    name = "found links"
    summed = ("weights", "even", "places", "segments")
    of_sample = ("sample weights",)

    def __init__(
        self,
        query: WordQuery,
        sentences: Sequence[Sentence] | None,
        *,
        k: int,
        seed: int = 0,
        n_skipped: int = 0,
    ) -> None:
        self._query = query
        self._sentences = sentences
        self.n_sampled = k
        self._seed = seed
        self._n_skipped = n_skipped
        if sentences is not None:
            self.by_segment = ("_sentences",)  # type: ignore[misc]

    @property
    def options(self) -> dict[str, Any]:
        sentences_digest = None
        if self._sentences is not None:
            sentences_digest = digest_of(
                (sentence.words, sentence.governors, sentence.relations)
                for sentence in self._sentences
            )
        return {
            "query": str(self._query),
            "k": self.n_sampled,
            "seed": self._seed,
            "sentences": sentences_digest,
        }

    def nothing(self) -> dict[str, NDArray[Any]]:
        heads = self.n_layers, self.n_heads
        return {
            "weights": np.zeros(heads),
            "even": np.zeros(()),
            "places": np.zeros((), np.int64),
            "segments": np.zeros((), np.int64),
            "sample weights": np.zeros((*heads, self.n_sampled), np.float32),
        }

    def add_layer(self, layer: LayerBatch) -> None:
        item, query, key = self._pairs.unbind(-1)
        pair_weights = layer.weights[item, :, query, key] * self._shares[:, None]  # [P, H]
        weights = pair_weights.new_zeros(self._n_places, pair_weights.shape[1])
        weights.index_add_(0, self._place_of, pair_weights)
        place_weights = weights.cpu().numpy()
        self.found["weights"][layer.layer] = place_weights.sum(0, dtype=np.float64)
        size = len(self._chosen)
        self.found["sample weights"][layer.layer, :, :size] = place_weights[self._chosen].T

    def begin_batch(self, layer: LayerBatch) -> None:
        """Find the word pairs of a batch, and the token pairs of each word pair."""
        batch = layer.batch
        seen_keys = visible_keys(batch, causal=self.is_causal)
        word_pairs: list[tuple[int, int, int]] = []
        pairs: list[tuple[int, int, int]] = []
        shares: list[float] = []
        place_of: list[int] = []
        for item, query_tokens, key_tokens in self._places_of(batch):
            for i, j in product(query_tokens, key_tokens):
                pairs.append((item, i, j))
                shares.append(1 / len(query_tokens))
                place_of.append(len(word_pairs))
            word_pairs.append((item, query_tokens[0], key_tokens[0]))
            even = sum(
                1 / float(seen_keys[item, i])
                for i, j in product(query_tokens, key_tokens)
                if j <= i or not self.is_causal
            )
            self.found["even"] += even / len(query_tokens)
        device = layer.weights.device
        self._pairs = torch.tensor(pairs, dtype=torch.int64, device=device).reshape(-1, 3)
        self._shares = torch.tensor(shares, dtype=torch.float32, device=device)
        self._place_of = torch.tensor(place_of, dtype=torch.int64, device=device)
        self._n_places = len(word_pairs)
        batch_places = np.array(word_pairs, np.int64).reshape(-1, 3)
        n = batch.real.shape[1]
        ranks = place_priorities(self.indices, n, n, self._seed)[tuple(batch_places.T)]
        self._chosen = np.argsort(ranks, kind="stable")[: self.n_sampled]
        self.keep_sample(batch_places[self._chosen], ranks[self._chosen])
        self.found["places"] += len(word_pairs)
        self.found["segments"] += len(batch.segments)

    def _places_of(self, batch: Batch) -> Iterator[tuple[int, list[int], list[int]]]:
        """Yield the batch item and the tokens of the two words of each word pair."""
        if self._sentences is not None:
            axes = WordAxes(batch)
            for item, segment in enumerate(axes.segments):
                sentence = self._sentences[segment.index]
                for query, key in self._query.pairs(sentence.words, sentence):
                    yield item, axes.tokens(item, query), axes.tokens(item, key)
            return
        for item, tokens in enumerate(batch.tokens):
            groups = tokens.word_groups()
            words = tokens.to_words()
            for query, key in self._query.pairs(words.text, roles=words.roles):
                yield item, groups[query], groups[key]

    def compute(self) -> FoundLinks:
        n_places = int(self.sums["places"])
        is_sampled = self.sums["sample rank"] < NEVER
        count = n_places or np.nan
        return FoundLinks(
            query=str(self._query),
            weights=self.layers.spread(self.sums["weights"] / count),
            even=float(self.sums["even"] / count),
            n_places=n_places,
            places=self.sums["sample place"][is_sampled],
            place_weights=self.layers.spread(self.sums["sample weights"][..., is_sampled]),
            texts=self.texts(),
            n_segments=int(self.sums["segments"]),
            n_skipped=self._n_skipped,
            model_name=self.model_name,
        )
