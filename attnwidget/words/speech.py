"""Words of a transcript in the sound: their times, and the heads that look at them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.model_reading import refuse_no_attention
from attnwidget.capture.result import Result
from attnwidget.capture.tapping.head import Head
from attnwidget.corpus.results import HeadMetrics, HeadResult
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.kernels.time_warping import first_keys
from attnwidget.text.counted import counted
from attnwidget.text.places import Span

if TYPE_CHECKING:
    import altair as alt

#: Width of the median filter along the time, in tokens of the sound, in the recipe of Whisper.
SMOOTHED = 7
_CROSS = "cross"
# Tokens of control, such as <|notimestamps|>, which not every tokenizer lists as special.
_CONTROL = re.compile(r"<\|.*\|>")


@in_plain_torch
def word_times(
    attention: Attention, heads: Iterable[Head | Sequence[int]] | None = None
) -> WordTimes:
    """Find when each word of a transcript is spoken, from cross-attention.

    The recipe is that of Whisper's word timestamps (Radford et al. 2022, released code): weights of
    each head are standardised over the words and smoothed over the time, the mean over the heads is
    a map of tokens and times, and dynamic time warping finds the way through it. Only the part of
    the sound that is no padding is used. A token is written by the row before it.

    Args:
        attention: An attention of a speech model over a sound, `model.attend(audio=...)`.
        heads: The cross-attention heads (layer, head); None takes the alignment heads of the
            model's generation configuration, or all heads without such a list.

    Raises:
        ValueError: The attention has no cross-attention to a sound, the transcript has no words, or
            a head does not exist.

    Example:
        >>> import numpy as np
        >>> from attnwidget import Attention
        >>> from attnwidget.results import Sound, Span
        >>> from attnwidget.words import word_times
        >>> attention = Attention.from_weights(
        ...     np.array([[[[0.8, 0.1, 0.1], [0.1, 0.1, 0.8], [0.1, 0.1, 0.8]]]]),
        ...     ["<s>", "two", "words"], key_tokens=["0", "1", "2"], stack="cross",
        ...     places=[Span(0, i, i + 1) for i in range(3)],
        ...     sounds=[Sound(np.zeros(30, dtype=np.float32), 10)])
        >>> word_times(attention).starts.tolist()
        [0.0, 2.0]
    """
    spoken = _Transcript(attention)
    chosen, how = _chosen(attention, heads)
    standard = np.stack([spoken.standardised(*head) for head in chosen])
    first = first_keys(standard.mean(axis=0)[None])[0]
    starts = spoken.edges[:-1][first]
    ends = np.append(starts[1:], spoken.edges[-1])
    groups = spoken.words
    return WordTimes(
        words=tuple(spoken.text(group) for group in groups),
        starts=np.array([starts[group[0]] for group in groups]),
        ends=np.array([ends[group[-1]] for group in groups]),
        heads=tuple((layer, head) for layer, head in chosen),
        seconds=attention.sounds[0].seconds,
        note=how,
        model_name=attention.model_name,
    )


@in_plain_torch
def spoken_word_weights(
    attention: Attention, spoken: Iterable[tuple[str, float, float]]
) -> SpokenWordWeights:
    """Measure the weight of every cross-attention head on the word that its row writes.

    Args:
        attention: An attention of a speech model over a sound, `model.attend(audio=...)`.
        spoken: The words that are spoken, with start and end in seconds. Words of the transcript
            that differ are left out.

    Raises:
        ValueError: As `word_times`; or no word of the transcript is among the spoken words, or a
            word ends before it starts.

    Example:
        >>> import numpy as np
        >>> from attnwidget import Attention
        >>> from attnwidget.results import Sound, Span
        >>> from attnwidget.words import spoken_word_weights
        >>> attention = Attention.from_weights(
        ...     np.array([[[[0.8, 0.1, 0.1], [0.1, 0.1, 0.8], [0.1, 0.1, 0.8]]]]),
        ...     ["<s>", "two", "words"], key_tokens=["0", "1", "2"], stack="cross",
        ...     places=[Span(0, i, i + 1) for i in range(3)],
        ...     sounds=[Sound(np.zeros(30, dtype=np.float32), 10)])
        >>> found = spoken_word_weights(attention, [("two", 0, 1), ("words", 2, 3)])
        >>> found.weights.round(2).tolist()
        [[0.8]]
    """
    transcript = _Transcript(attention)
    truth = [(str(word), float(start), float(end)) for word, start, end in spoken]
    for word, start, end in truth:
        if end <= start:
            raise ValueError(f"the word {word!r} ends at {end} s and starts at {start} s")
    groups = transcript.words
    heard = [_plain(transcript.text(group)) for group in groups]
    matcher = SequenceMatcher(a=heard, b=[_plain(word) for word, _, _ in truth], autojunk=False)
    matched = [
        (groups[block.a + i], truth[block.b + i])
        for block in matcher.get_matching_blocks()
        for i in range(block.size)
        if heard[block.a + i]
    ]
    if not matched:
        raise ValueError(
            f"no word of the transcript, such as {transcript.text(groups[0])!r}, is among the "
            f"{counted(len(truth), 'spoken word')}"
        )
    stack = attention.stacks[_CROSS]
    shape = (stack.n_layers, stack.n_heads)
    inside, padding, error = (np.zeros(shape) for _ in range(3))
    shares = np.stack([transcript.share(start, end) for _, (_, start, end) in matched])
    rows = [group[0] for group, _ in matched]
    for layer in range(shape[0]):
        for head in range(shape[1]):
            weights = transcript.weights(layer, head)
            inside[layer, head] = (weights[rows] * shares).sum(axis=1).mean()
            padding[layer, head] = transcript.padding(layer, head)
            first = first_keys(transcript.standardised(layer, head)[None])[0]
            starts = transcript.edges[:-1][first][rows]
            error[layer, head] = np.abs(starts - [start for _, (_, start, _) in matched]).mean()
    return SpokenWordWeights(
        weights=inside,
        start_errors=error,
        padding=padding,
        n_words=len(matched),
        n_left_out=len(groups) - len(matched),
        model_name=attention.model_name,
    )


class _Transcript:
    """The words of a transcript and the rows that wrote them.

    Attributes:
        rows: The row that wrote each token of the transcript.
        words: For each word, its tokens, counted within the transcript.
        edges: Starts of the tokens of the sound in seconds, and the end of the last.
    """

    def __init__(self, attention: Attention) -> None:
        refuse_no_attention(attention)
        stack = attention.stacks.get(_CROSS)
        spans = () if stack is None else stack.key.places
        placed = [i for i, place in enumerate(spans) if isinstance(place, Span)]
        if stack is None or not placed:
            raise ValueError(
                f"{attention.model_name} shows no cross-attention to a sound with known times: "
                "read a sound with a speech model, model.attend(audio=(samples, rate))"
            )
        self._attention = attention
        self._tokens = stack.query
        self._keys = placed
        self._hidden = [i for i, kind in enumerate(stack.key.special) if kind == "padding"]
        starts = [place.start for place in spans if isinstance(place, Span)]
        ends = [place.end for place in spans if isinstance(place, Span)]
        self.edges: Float64Array = np.array([*starts, ends[-1]], dtype=np.float64)
        written = [
            i
            for i, (kind, word) in enumerate(
                zip(stack.query.special, stack.query.words, strict=True)
            )
            if i and not kind and word is not None and not _CONTROL.fullmatch(stack.query.raw[i])
        ]
        if not written:
            raise ValueError(
                "the transcript has no words: pass it as target=..., or let the model write it"
            )
        self._written = written
        self.rows = [i - 1 for i in written]
        self.words: list[list[int]] = []
        for place, token in enumerate(written):
            word = stack.query.words[token]
            before = written[place - 1] if place else None
            if before is not None and stack.query.words[before] == word:
                self.words[-1].append(place)
            else:
                self.words.append([place])

    def text(self, group: Sequence[int]) -> str:
        """Return a word of the transcript."""
        added = self._tokens.added
        return "".join(added[self._written[i]] for i in group).strip()

    def weights(self, layer: int, head: int) -> Float64Array:
        """Return the weights of the rows that wrote the transcript on the sound, [T, K]."""
        return self._map(layer, head)[self.rows][:, self._keys]

    def padding(self, layer: int, head: int) -> float:
        """Return the mean weight of these rows on padding."""
        return float(self._map(layer, head)[self.rows][:, self._hidden].sum(axis=1).mean())

    def standardised(self, layer: int, head: int) -> Float64Array:
        """Return the weights, standardised over the rows and smoothed over the time, [T, K]."""
        from scipy.ndimage import median_filter

        weights = self.weights(layer, head)
        spread = weights.std(axis=0, keepdims=True)
        standard = (weights - weights.mean(axis=0, keepdims=True)) / np.maximum(spread, 1e-9)
        smoothed: Float64Array = median_filter(standard, size=(1, SMOOTHED), mode="reflect")
        return smoothed

    def share(self, start: float, end: float) -> Float64Array:
        """Return the share of each token of the sound that lies between two times, [K]."""
        left = np.clip(self.edges[:-1], start, end)
        right = np.clip(self.edges[1:], start, end)
        share: Float64Array = (right - left) / np.diff(self.edges)
        return share

    def _map(self, layer: int, head: int) -> Float64Array:
        return self._attention.weights(layer, head, stack=_CROSS).astype(np.float64)


def _chosen(
    attention: Attention, heads: Iterable[Head | Sequence[int]] | None
) -> tuple[list[tuple[int, int]], str]:
    """Return the heads, and how they were chosen, for a note."""
    stack = attention.stacks[_CROSS]
    if heads is not None:
        pairs = [(h.layer, h.head) if isinstance(h, Head) else tuple(h)[:2] for h in heads]
        if not pairs:
            raise ValueError("heads is empty: name at least one cross-attention head")
        found = [attention.head((*pair, _CROSS)) for pair in pairs]
        return [(head.layer, head.head) for head in found], ""
    config = None
    if attention.reading is not None:
        config = getattr(attention.reading.model.hf_model, "generation_config", None)
    named = getattr(config, "alignment_heads", None)
    if named:
        return [(int(layer), int(head)) for layer, head in named], "alignment heads of the model"
    every = [(layer, head) for layer in range(stack.n_layers) for head in range(stack.n_heads)]
    return every, "mean of all cross-attention heads, since the model names no alignment heads"


def _plain(word: str) -> str:
    return "".join(character for character in word.casefold() if character.isalnum())


@dataclass(frozen=True, eq=False, repr=False)
class WordTimes(Result):
    """The times of the words of a transcript. See `word_times`.

    Attributes:
        words: The W words.
        starts: Start of each word in seconds, float64 [W].
        ends: End of each word in seconds, float64 [W].
        heads: The cross-attention heads (layer, head) that were used.
        seconds: Length of the sound.

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
        """Draw the words over the time.

        Args:
            width: Pixels of the whole figure.
        """
        from attnwidget.charts.spoken_words import spoken_words

        named = ", ".join(f"L{layer} H{head}" for layer, head in self.heads[:8])
        more = ", …" if len(self.heads) > 8 else ""
        title = f"Times of words\n{self.model_name}; {named}{more}"
        return spoken_words(self.to_frame(), title=title, seconds=self.seconds, width=width)

    def __repr__(self) -> str:
        return f"WordTimes({self.model_name}, {counted(len(self.words), 'word')})"


@dataclass(frozen=True, eq=False, repr=False)
class SpokenWordWeights(HeadResult):
    """The weight of each cross-attention head on the word that its row writes.

    See `spoken_word_weights`. L and H are the numbers of layers and heads of cross-attention.

    Attributes:
        weights: Mean over the words of the weight between the start and the end of the word, from
            the row that writes its first token, float64 [L, H].
        start_errors: Mean distance between the start of a word and the start that `word_times`
            finds with this head alone, in seconds, [L, H].
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

    weights: Float64Array
    start_errors: Float64Array
    padding: Float64Array
    n_words: int
    n_left_out: int

    def heads(self) -> HeadMetrics:
        """Return the three numbers of each head: float64 [L, H] by title."""
        return {
            "weight in the word": self.weights,
            "error of word starts (s)": self.start_errors,
            "weight on padding": self.padding,
        }

    def chart(self, *, width: int = 640) -> alt.LayerChart:
        """Draw the weight in the word of every head.

        Args:
            width: Pixels of the whole figure.
        """
        from attnwidget.charts.head_heatmap import head_heatmap

        left_out = f", {self.n_left_out} left out" if self.n_left_out else ""
        return head_heatmap(
            self.weights,
            title=f"Weight in the word that is written\n{self.model_name}; "
            f"{counted(self.n_words, 'word')}{left_out}",
            value_title="weight",
            width=width,
        )
