"""Governors that heads predict for the words of one sentence."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.capture.tapping.head import HeadName, head_of_result
from attnwidget.corpus.accumulator import Accumulator, Batch, LayerBatch
from attnwidget.corpus.argument_checks import SENTENCES, all_of
from attnwidget.corpus.model_reader import ModelReader
from attnwidget.kernels.governors import predicted_governors
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.kernels.word_maps import WordMaps
from attnwidget.text.treebank import Sentence
from attnwidget.words.word_segments import WordSegmenter, word_owners

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

WordUnit = Literal["words", "first", "tokens"]
Possessive = Literal["clark"] | None
# The relation "poss" of Stanford Dependencies, its successor in Universal Dependencies, and the
# clitics after such a word in the code of Clark et al.
_POSSESSIVES = ("poss", "nmod:poss")
_CLITICS = ("'s", "s'")


@dataclass(frozen=True, eq=False)
class GovernorPredictions:
    """Governor predictions of every head for one sentence of m words.

    Attributes:
        sentence: Sentence with its tree.
        maps: Attention between words, float32 [L, H, m, m], where rows attend. Special tokens are
            excluded, so rows sum to less than 1.
        possessive: Rule for possessors: with "clark", a possessor before "'s" takes the governor
            predicted for "'s" (as in `probe_relations`), unless its own prediction is the last
            word.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.demo import demo_treebank
        >>> from attnwidget.words import predict_governors
        >>> predicted = predict_governors(load_model(), demo_treebank()[39])
        >>> predicted.governors.shape, predicted.map(0, 0).shape
        ((6, 12, 2, 15), (15, 15))
    """

    sentence: Sentence
    maps: NDArray[np.float32]
    possessive: Possessive = None

    @cached_property
    def governors(self) -> NDArray[np.int64]:
        """Predicted governor of each word, from 1, int64 [L, H, 2, m]; never the root."""
        predictions = predicted_governors(torch.from_numpy(self.maps.copy())).numpy() + 1
        resolved: NDArray[np.int64] = predictions.copy()
        for word in possessors(self.sentence) if self.possessive == "clark" else ():
            prediction = predictions[..., word]
            at_clitic = predictions[..., word + 1]
            resolved[..., word] = np.where(prediction < len(self.sentence), at_clitic, prediction)
        return resolved

    @cached_property
    def weights(self) -> NDArray[np.float32]:
        """Weight of each prediction, float32 [L, H, 2, m].

        This is the weight from the word to its governor, or from the governor to the word.
        """
        index = self.governors - 1
        rows = np.take_along_axis(self.maps, index[:, :, 0, :, None], -1)[..., 0]
        columns = np.take_along_axis(self.maps, index[:, :, 1, None], -2)[..., 0, :]
        weights: NDArray[np.float32] = np.stack([rows, columns], axis=2)
        return weights

    def map(self, layer: int | HeadName, head: int | None = None) -> NDArray[np.float32]:
        """Return one head's attention between words, float32 [m, m], where rows attend.

        Args:
            layer: Number of the layer, or the head itself: "L1 H3", (1, 3) or a `Head`.
            head: Number of the head within the layer; not needed if `layer` is a head.

        Raises:
            ValueError: If there is no such head.
        """
        layer, head, _ = head_of_result(layer, head, self.maps.shape)
        weights: NDArray[np.float32] = self.maps[layer, head]
        return weights

    def __repr__(self) -> str:
        n_layers, n_heads, m, _ = self.maps.shape
        return f"GovernorPredictions({n_layers}×{n_heads} heads, {m} words: {self.sentence.text!r})"


def possessors(sentence: Sentence) -> list[int]:
    """Return the words, from 0, that `probe_relations` evaluates by the clitic after them.

    Example:
        >>> from attnwidget.words.governors import possessors
        >>> from attnwidget.text.treebank import Sentence
        >>> relations = ["nmod:poss", "case", "root"]
        >>> possessors(Sentence.from_lists(["Ann", "'s", "hat"], [3, 1, 0], relations))
        [0]
    """
    pairs = zip(sentence.relations, sentence.words[1:], strict=False)
    return [
        i
        for i, (relation, after) in enumerate(pairs)
        if relation in _POSSESSIVES and after in _CLITICS
    ]


@in_plain_torch
def predict_governors(
    model: AttentionModel,
    sentence: Sentence,
    *,
    unit: WordUnit = "words",
    possessive: Possessive = None,
) -> GovernorPredictions:
    """Return the predictions of every head for one sentence (Clark et al. 2019, section 4.2).

    Args:
        model: Model from `load_model`; for an encoder-decoder, only the encoder is used.
        sentence: Sentence of a treebank, or from `Sentence.from_lists`.
        unit: Pooling of tokens to words, as in `probe_relations`.
        possessive: Rule for possessors before "'s", as in `probe_relations`: "clark" gives a
            possessor the predicted governor of the "'s"; None treats possessors like all words.

    Raises:
        ValueError: If the sentence is too long for the model, a word has no tokens, or a token
            has characters of several words.
        RuntimeError: If the model was closed.

    Example:
        >>> from attnwidget import Sentence, load_model
        >>> from attnwidget.words import predict_governors
        >>> cats = Sentence.from_lists(["Cats", "eat", "fish"], [2, 0, 2], ["nsubj", "root", "obj"])
        >>> predicted = predict_governors(load_model(), cats)
        >>> predicted.governors.shape, predicted.map(0, 0).shape
        ((6, 12, 2, 3), (3, 3))
    """
    all_of(Sentence, [sentence], SENTENCES)
    segment = WordSegmenter(model)(sentence.running)
    word_maps = _WordMaps(unit)
    reader = ModelReader(model, [word_maps], None)
    reader.start(segment)
    reader.add([segment])
    maps = word_maps.layers.spread(torch.stack(word_maps.maps).numpy())
    return GovernorPredictions(sentence, maps, possessive)


def word_pooling(batch: Batch, unit: WordUnit, *, special: bool = False) -> WordMaps:
    """Return the pooling from maps between tokens to maps between words of a batch.

    With `special`, the special tokens before and after a text are its first and last word, as in
    `word_owners`.
    """
    owners = word_owners(batch, special=special)
    return WordMaps(owners, sums=unit != "tokens", means=unit == "words")


class _WordMaps(Accumulator[Any]):
    """Accumulator that stores the word maps of one sentence."""

    name = "word maps"

    def __init__(self, unit: WordUnit) -> None:
        self._unit = unit
        self.maps: list[Tensor] = []

    def update(self, layer: LayerBatch) -> None:
        pooling = word_pooling(layer.batch, self._unit)
        self.maps.append(pooling(layer.weights)[0].cpu())

    def compute(self) -> Any:
        raise NotImplementedError("word maps are no result of their own")
