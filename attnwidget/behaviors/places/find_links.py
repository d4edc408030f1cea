"""Weights of all heads at the places of a corpus that fit a query about words."""

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
from attnwidget.corpus.argument_checks import SENTENCES, all_of, each_input, refuse_no_model
from attnwidget.corpus.resume_file import digest_of
from attnwidget.corpus.segment_indices import with_index
from attnwidget.corpus.segmenting import rows_as_segments
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
    """Measure the mean weight of every head at the places of a corpus that fit a query.

    A place is a pair of words: the first word attends to the second word. Weights are summed over
    the tokens of the attended word and averaged over the tokens of the attending word. All places
    count equally.

    Args:
        model: A model from `load_model`.
        texts: Sentences of a treebank (`load_treebank`), or texts or segments as in `measure`. Tags
            and relations need sentences, and roles need chats. In texts and segments, special
            tokens are words too.
        query: Condition on the attending word: "word=he|she", "tag=PRON", "xpos=PRP",
            "relation=nsubj", or in a chat "role=assistant", with "|" between alternatives.
        key: Condition on the attended word, in the same form.
        relation: Relation between the two words in the treebank, such as "nsubj"; "nsubj (all)" has
            the subtypes too.
        direction: "dependent to governor" or "governor to dependent", for `relation`.
        regex: Regular expression with the groups "query" and "key", searched in the words joined by
            spaces.
        n_links: Largest number of places in the result, drawn at random.
        seed: Seed of this draw.
        skip_unaligned: Whether to leave out sentences that have a word without tokens or a token of
            several words, or are too long for the model; the result counts them.
        batch_size: Number of texts in one pass of the model.
        progress: Whether to show a progress bar.

    Raises:
        ValueError: Conditions that do not name both words, or need a treebank; `n_links` below 1;
            or as `measure`.
        TypeError: `texts` are neither sentences nor segments; or as `measure`.
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
    asked = WordQuery(query, key, relation, direction, regex)
    items, are_sentences = _first_kind(each_input(texts))
    segments: Iterable[Segment]
    sentences: list[Sentence] | None = None
    n_skipped = 0
    if are_sentences:
        sentences = all_of(Sentence, items, SENTENCES)
        asked.refuse_unknown_relation(sentences)
        segments, n_skipped = WordSegmenter(model).segments(
            [sentence.running for sentence in sentences], skip_unaligned
        )
        n_skipped += len(left_out_of(texts))
    else:
        if asked.needs_treebank:
            raise ValueError(
                "tags and relations are known in a treebank: pass sentences (load_treebank)"
            )
        rows = with_index(rows_as_segments(items, model))
        segments = list(rows) if isinstance(texts, Sized) else rows
    metric = PlaceWeights(asked, sentences, k=n_links, seed=seed, n_skipped=n_skipped)
    measured = measure(
        model,
        segments,
        [metric],
        batch_size=batch_size,
        progress=progress,
    )
    return cast("FoundLinks", measured[metric.name])


def _first_kind(items: Iterable[Any]) -> tuple[Iterator[Any], bool]:
    """Return all items, and whether the first item is a sentence of a treebank."""
    remaining = iter(items)
    first = next(remaining, None)
    if first is None:
        raise ValueError("there are no texts: pass sentences of a treebank, texts or segments")
    return chain([first], remaining), isinstance(first, Sentence)


class PlaceWeights(PlaceSample[FoundLinks]):
    """Sums of the weights of all heads at the places of a query; see `find_links`.

    Args:
        query: The query.
        sentences: The sentences of a treebank; segment i of the study is a `WordSegment` of
            sentence i. None = segments with an index.
        k: Number of places that are kept.
        seed: Seed of the kept places.
        n_skipped: Number of sentences that were left out, for the result.
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
        said = None
        if self._sentences is not None:
            said = digest_of(
                (sentence.words, sentence.governors, sentence.relations)
                for sentence in self._sentences
            )
        return {
            "query": str(self._query),
            "k": self.n_sampled,
            "seed": self._seed,
            "sentences": said,
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
        of_pairs = layer.weights[item, :, query, key] * self._shares[:, None]  # [P, H]
        weights = of_pairs.new_zeros(self._n_places, of_pairs.shape[1])
        weights.index_add_(0, self._place_of, of_pairs)
        found = weights.cpu().numpy()
        self.found["weights"][layer.layer] = found.sum(0, dtype=np.float64)
        size = len(self._chosen)
        self.found["sample weights"][layer.layer, :, :size] = found[self._chosen].T

    def begin_batch(self, layer: LayerBatch) -> None:
        """Find the places of a batch, and the pairs of tokens of each place."""
        batch = layer.batch
        seen_keys = visible_keys(batch, causal=self.is_causal)
        places: list[tuple[int, int, int]] = []
        pairs: list[tuple[int, int, int]] = []
        shares: list[float] = []
        place_of: list[int] = []
        for item, of_query, of_key in self._places_of(batch):
            for i, j in product(of_query, of_key):
                pairs.append((item, i, j))
                shares.append(1 / len(of_query))
                place_of.append(len(places))
            places.append((item, of_query[0], of_key[0]))
            even = sum(
                1 / float(seen_keys[item, i])
                for i, j in product(of_query, of_key)
                if j <= i or not self.is_causal
            )
            self.found["even"] += even / len(of_query)
        device = layer.weights.device
        self._pairs = torch.tensor(pairs, dtype=torch.int64, device=device).reshape(-1, 3)
        self._shares = torch.tensor(shares, dtype=torch.float32, device=device)
        self._place_of = torch.tensor(place_of, dtype=torch.int64, device=device)
        self._n_places = len(places)
        of_batch = np.array(places, np.int64).reshape(-1, 3)
        n = batch.real.shape[1]
        ranks = place_priorities(self.indices, n, n, self._seed)[tuple(of_batch.T)]
        self._chosen = np.argsort(ranks, kind="stable")[: self.n_sampled]
        self.keep_sample(of_batch[self._chosen], ranks[self._chosen])
        self.found["places"] += len(places)
        self.found["segments"] += len(batch.segments)

    def _places_of(self, batch: Batch) -> Iterator[tuple[int, list[int], list[int]]]:
        """Yield the item of the batch, and the tokens of the two words of each place."""
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
        kept = self.sums["sample rank"] < NEVER
        count = n_places or np.nan
        return FoundLinks(
            query=str(self._query),
            weights=self.layers.spread(self.sums["weights"] / count),
            even=float(self.sums["even"] / count),
            n_places=n_places,
            places=self.sums["sample place"][kept],
            place_weights=self.layers.spread(self.sums["sample weights"][..., kept]),
            texts=self.texts(),
            n_segments=int(self.sums["segments"]),
            n_skipped=self._n_skipped,
            model_name=self.model_name,
        )
