"""Alignment of transcript words with the sound: word times, and the heads that attend to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from attnwidget.capture.cut_inputs import says_cuts
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.model_reading import refuse_no_attention
from attnwidget.capture.result import Result
from attnwidget.capture.tapping.head import Head, HeadName, head_parts, listed_heads
from attnwidget.corpus.results import HeadHeatMap, HeadResult, per_head
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.kernels.time_warping import first_keys
from attnwidget.text.counted import counted
from attnwidget.text.places import Span
from attnwidget.words.transcript import CROSS, Transcript

if TYPE_CHECKING:
    import altair as alt


@in_plain_torch
@says_cuts
def word_times(
    attention: Attention, heads: HeadName | Iterable[HeadName] | None = None
) -> WordTimes:
    """Estimate the time at which each word of a transcript is spoken, from cross-attention.

    The method is that of Whisper's word timestamps (Radford et al. 2022, released code): weights of
    each head are standardized over the words and smoothed over time, the mean over the heads is
    a map of tokens and times, and dynamic time warping finds the path through it. Padding after the
    sound is not used. The row before a token writes the token.

    Args:
        attention: Attention of a speech model over a sound, `model.attend(audio=...)`.
        heads: Head or list of heads of the cross-attention, each as (1, 3), "L1 H3" or a
            `Head`; None = the alignment heads of the model's generation configuration, or all
            heads without such a list.

    Raises:
        ValueError: If the attention has no cross-attention to a sound, the transcript has no words,
            or a head does not exist.

    Example:
        >>> import numpy as np
        >>> from attnwidget import Attention
        >>> from attnwidget.results import Sound, Span
        >>> from attnwidget.words import word_times
        >>> attention = Attention.from_weights(
        ...     np.array([[[[0.8, 0.1, 0.1], [0.1, 0.1, 0.8], [0.1, 0.1, 0.8]]]]),
        ...     ["<s>", "two", "words"], key_tokens=["0", "1", "2"], stack="cross",
        ...     places=[Span(0, i, i + 1) for i in range(3)],
        ...     audio=[Sound(np.zeros(30, dtype=np.float32), 10)])
        >>> word_times(attention).starts.tolist()
        [0.0, 2.0]
    """
    refuse_no_attention(attention)
    transcript = Transcript(attention)
    pairs, note = _chosen(attention, heads)
    maps = np.stack([transcript.standardized(*head) for head in pairs])
    path = first_keys(maps.mean(axis=0)[None])[0]
    starts = transcript.edges[:-1][path]
    ends = np.append(starts[1:], transcript.edges[-1])
    groups = transcript.words
    return WordTimes(
        words=tuple(transcript.text(group) for group in groups),
        starts=np.array([starts[group[0]] for group in groups]),
        ends=np.array([ends[group[-1]] for group in groups]),
        heads=tuple((layer, head) for layer, head in pairs),
        seconds=attention.audio[0].seconds,
        note=note,
        model_name=attention.model_name,
    )


@in_plain_torch
@says_cuts
def spoken_word_weights(
    attention: Attention, spoken: Iterable[tuple[str, float, float]]
) -> SpokenWordWeights:
    """Measure the weight of every cross-attention head on the word that its row writes.

    Args:
        attention: Attention of a speech model over a sound, `model.attend(audio=...)`.
        spoken: Spoken words, with start and end in seconds. Different words of the transcript
            are left out.

    Raises:
        ValueError: If no word of the transcript is among the spoken words, or a word ends before it
            starts; or as in `word_times`.

    Example:
        >>> import numpy as np
        >>> from attnwidget import Attention
        >>> from attnwidget.results import Sound, Span
        >>> from attnwidget.words import spoken_word_weights
        >>> attention = Attention.from_weights(
        ...     np.array([[[[0.8, 0.1, 0.1], [0.1, 0.1, 0.8], [0.1, 0.1, 0.8]]]]),
        ...     ["<s>", "two", "words"], key_tokens=["0", "1", "2"], stack="cross",
        ...     places=[Span(0, i, i + 1) for i in range(3)],
        ...     audio=[Sound(np.zeros(30, dtype=np.float32), 10)])
        >>> found = spoken_word_weights(attention, [("two", 0, 1), ("words", 2, 3)])
        >>> found.weights.round(2).tolist()
        [[0.8]]
    """
    refuse_no_attention(attention)
    transcript = Transcript(attention)
    truth = [(str(word), float(start), float(end)) for word, start, end in spoken]
    for word, start, end in truth:
        if end <= start:
            raise ValueError(f"the word {word!r} ends at {end} s and starts at {start} s")
    groups = transcript.words
    words = [_plain(transcript.text(group)) for group in groups]
    matcher = SequenceMatcher(a=words, b=[_plain(word) for word, _, _ in truth], autojunk=False)
    word_pairs = [
        (groups[block.a + i], truth[block.b + i])
        for block in matcher.get_matching_blocks()
        for i in range(block.size)
        if words[block.a + i]
    ]
    if not word_pairs:
        raise ValueError(
            f"no word of the transcript, such as {transcript.text(groups[0])!r}, is among the "
            f"{counted(len(truth), 'spoken word')}"
        )
    stack = attention.stacks[CROSS]
    shape = (stack.n_layers, stack.n_heads)
    word_weights, padding, error = (np.zeros(shape) for _ in range(3))
    shares = np.stack([transcript.share(start, end) for _, (_, start, end) in word_pairs])
    rows = [group[0] for group, _ in word_pairs]
    for layer in range(shape[0]):
        for head in range(shape[1]):
            weights = transcript.weights(layer, head)
            word_weights[layer, head] = (weights[rows] * shares).sum(axis=1).mean()
            padding[layer, head] = transcript.padding(layer, head)
            path = first_keys(transcript.standardized(layer, head)[None])[0]
            starts = transcript.edges[:-1][path][rows]
            error[layer, head] = np.abs(starts - [start for _, (_, start, _) in word_pairs]).mean()
    return SpokenWordWeights(
        weights=word_weights,
        start_errors=error,
        padding=padding,
        n_words=len(word_pairs),
        n_left_out=len(groups) - len(word_pairs),
        model_name=attention.model_name,
    )


def aligning_head(attention: Attention) -> Head | None:
    """Return the cross-attention head that best follows the words of a sound.

    This is the head with the largest weight along its own `word_times` path. Only the alignment
    heads of the model's generation configuration are compared, or all heads without such a list.

    Args:
        attention: Any attention.

    Returns:
        Head; None without cross-attention to a sound, or if the transcript has no words.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.words.speech import aligning_head
        >>> aligning_head(load_model().attend("The cat sat.")) is None
        True
    """
    stack = attention.stacks.get(CROSS)
    if stack is None or not any(isinstance(region, Span) for region in stack.key.places):
        return None
    try:
        transcript = Transcript(attention)
    except ValueError:
        return None
    pairs, _ = _chosen(attention, None)
    paths = first_keys(np.stack([transcript.standardized(*pair) for pair in pairs]))
    scores = []
    for pair, path in zip(pairs, paths, strict=True):
        weights = transcript.weights(*pair)
        ends = np.maximum(np.append(path[1:], weights.shape[1]), path + 1)
        rows = zip(weights, path, ends, strict=True)
        scores.append(np.mean([row[start:end].sum() for row, start, end in rows]))
    return Head(*pairs[int(np.argmax(scores))], CROSS)


def _chosen(
    attention: Attention, heads: HeadName | Iterable[HeadName] | None
) -> tuple[list[tuple[int, int]], str]:
    """Return the heads, and a note with the reason for the selection."""
    stack = attention.stacks[CROSS]
    if heads is not None:
        pairs = [head_parts(name, None)[:2] for name in listed_heads(heads)]
        if not pairs:
            raise ValueError("heads is empty: name at least one cross-attention head")
        selected_heads = [attention.head((*pair, CROSS)) for pair in pairs]
        return [(head.layer, head.head) for head in selected_heads], ""
    config = None
    if attention.reading is not None:
        config = getattr(attention.reading.model.hf_model, "generation_config", None)
    alignment_heads = getattr(config, "alignment_heads", None)
    if alignment_heads:
        return [
            (int(layer), int(head)) for layer, head in alignment_heads
        ], "alignment heads of the model"
    all_heads = [(layer, head) for layer in range(stack.n_layers) for head in range(stack.n_heads)]
    return all_heads, "mean of all cross-attention heads, since the model names no alignment heads"


def _plain(word: str) -> str:
    return "".join(character for character in word.casefold() if character.isalnum())


@dataclass(frozen=True, eq=False, repr=False)
class WordTimes(Result):
    """Times of the words of a transcript. See `word_times`.

    Attributes:
        words: Words of the transcript (W).
        starts: Start of each word in seconds, float64 [W].
        ends: End of each word in seconds, float64 [W].
        heads: Cross-attention heads (layer, head) that were used.
        seconds: Length of the sound in seconds.

    Example:
        >>> import numpy as np
        >>> from attnwidget.results import WordTimes
        >>> found = WordTimes(words=("two", "words"), starts=np.array([0.0, 0.5]),
        ...     ends=np.array([0.5, 1.0]), heads=((0, 1),), seconds=1.0)
        >>> found.to_frame()["end"].tolist()
        [0.5, 1.0]
    """

    words: tuple[str, ...]
    starts: Float64Array
    ends: Float64Array
    heads: tuple[tuple[int, int], ...]
    seconds: float

    def to_frame(self) -> pd.DataFrame:
        """Return one row per word: word, start and end in seconds."""
        return pd.DataFrame({"word": list(self.words), "start": self.starts, "end": self.ends})

    def chart(self, *, width: int = 640) -> alt.LayerChart:
        """Draw the words over time.

        Args:
            width: Width of the whole figure in pixels.
        """
        from attnwidget.charts.spoken_words import spoken_words

        head_names = ", ".join(f"L{layer} H{head}" for layer, head in self.heads[:8])
        more = ", …" if len(self.heads) > 8 else ""
        title = f"Times of words\n{self.model_name}; {head_names}{more}"
        return spoken_words(self.to_frame(), title=title, seconds=self.seconds, width=width)

    def __repr__(self) -> str:
        return f"WordTimes({self.model_name}, {counted(len(self.words), 'word')})"


@dataclass(frozen=True, eq=False, repr=False)
class SpokenWordWeights(HeadResult):
    """Weight of each cross-attention head on the word that its row writes.

    See `spoken_word_weights`. L and H are the numbers of layers and heads of cross-attention.

    Attributes:
        weights: Mean over the words of the weight between the start and the end of the word, from
            the row that writes its first token, float64 [L, H].
        start_errors: Mean distance between the start of a word and its start in `word_times` with
            only this head, in seconds, [L, H].
        padding: Mean weight on the padding after the sound, [L, H].
        n_words: Number of words.
        n_left_out: Number of words of the transcript that are not among the spoken words.

    Example:
        >>> import numpy as np
        >>> from attnwidget.results import SpokenWordWeights
        >>> found = SpokenWordWeights(weights=np.array([[0.8, 0.1]]), n_words=9, n_left_out=0,
        ...     start_errors=np.array([[0.1, 0.9]]), padding=np.zeros((1, 2)))
        >>> list(found.heads())
        ['weight in the word', 'error of word starts (s)', 'weight on padding']
    """

    weights: Float64Array = field(metadata=per_head("weight in the word"))
    start_errors: Float64Array = field(metadata=per_head("error of word starts (s)"))
    padding: Float64Array = field(metadata=per_head("weight on padding"))
    n_words: int
    n_left_out: int

    figure = HeadHeatMap(
        "weights",
        "Weight in the word that is written",
        "weight",
        "{self.model_name}; {self._inputs}",
    )

    @property
    def _inputs(self) -> str:
        left_out = f", {self.n_left_out} left out" if self.n_left_out else ""
        return f"{counted(self.n_words, 'word')}{left_out}"
