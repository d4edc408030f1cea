"""Words of a transcript in the sound: planted heads, and the way through a map."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from attnwidget import Attention, load_model
from attnwidget.kernels.time_warping import first_keys
from attnwidget.results import Sound, Span
from attnwidget.text.tokens import Tokens
from attnwidget.words import spoken_word_weights, word_times
from fixtures.speech_models import whisper_model
from refusals import naming

RATE = 100
STEP = 0.1
#: A sound of 3 s in 30 tokens, and 10 tokens of padding.
N_SOUND, N_KEYS = 30, 40
WORDS = ["<s>", "one", "two", "##s", "three", "</s>"]
#: Start and end of the tokens of the transcript, in tokens of the sound.
TRUE = [(3, 8), (8, 12), (12, 15), (20, 28)]


def planted(rows):
    """Return an attention whose only head has the given weights of rows on keys."""
    weights = np.full((1, 2, len(WORDS), N_KEYS), 1 / N_KEYS)
    weights[0, 1] = rows
    places = [Span(0, i * STEP, (i + 1) * STEP) for i in range(N_SOUND)]
    padding = [None] * (N_KEYS - N_SOUND)
    names = [str(i) for i in range(N_KEYS)]
    key = Tokens(
        text=tuple(names),
        raw=tuple(names),
        ids=(),
        special=("",) * N_SOUND + ("padding",) * (N_KEYS - N_SOUND),
        segments=(0,) * N_KEYS,
        words=tuple(range(N_SOUND)) + (None,) * (N_KEYS - N_SOUND),
    )
    return Attention.from_weights(
        weights,
        Tokens.plain(WORDS),
        key_tokens=key,
        stack="cross",
        places=[*places, *padding],
        audio=[Sound(np.zeros(int(N_SOUND * STEP * RATE), dtype=np.float32), RATE)],
    )


@pytest.fixture(scope="module")
def aligned():
    rows = np.full((len(WORDS), N_KEYS), 0.1 / N_KEYS)
    # The row before a token writes it; 0.2 of its weight lies on padding.
    for row, (start, end) in enumerate(TRUE):
        rows[row, start:end] += 0.7 / (end - start)
        rows[row, N_SOUND:] += 0.2 / (N_KEYS - N_SOUND)
    rows /= rows.sum(axis=1, keepdims=True)
    return planted(rows)


def test_words_have_the_times_of_a_planted_head(aligned):
    times = word_times(aligned, heads=[(0, 1)])
    assert times.words == ("one", "twos", "three")
    assert np.abs(times.starts[1:] - [0.8, 2.0]).max() <= 0.5
    assert np.abs(times.starts[1] - 0.8) <= 0.2
    assert (np.diff(times.starts) > 0).all()
    assert times.ends[-1] == pytest.approx(3.0)
    assert times.to_frame().columns.tolist() == ["word", "start", "end"]
    assert times.heads == ((0, 1),)
    assert "mean of all" in word_times(aligned).note


def test_a_planted_head_looks_at_the_word_that_it_writes(aligned):
    spoken = [("One", 0.3, 0.8), ("four", 0.9, 1.0), ("twos", 0.8, 1.5), ("three", 2.0, 2.8)]
    found = spoken_word_weights(aligned, spoken)
    assert (found.n_words, found.n_left_out) == (3, 0)
    uniform, head = found.weights[0]
    lengths = [5, 7, 8]
    assert uniform == pytest.approx(np.mean(lengths) / N_KEYS)
    in_word = [0.7 * share + 0.1 * n / N_KEYS for share, n in zip([1, 1, 1], lengths, strict=True)]
    assert head == pytest.approx(np.mean(in_word), abs=0.02)
    assert found.padding[0, 0] == pytest.approx((N_KEYS - N_SOUND) / N_KEYS)
    assert found.padding[0, 1] == pytest.approx(0.2 + 0.1 * 10 / N_KEYS, abs=0.01)
    assert found.start_errors[0, 1] < found.start_errors[0, 0]
    assert list(found.heads()) == [
        "weight in the word",
        "error of word starts (s)",
        "weight on padding",
    ]


def test_results_are_drawn(aligned):
    assert word_times(aligned).chart().to_dict()["title"]["text"]
    spoken = [("one", 0.3, 0.8)]
    assert spoken_word_weights(aligned, spoken).chart().to_dict()["layer"]


def test_control_tokens_are_no_words():
    rows = np.full((len(WORDS), N_KEYS), 1 / N_KEYS)
    attention = planted(rows)
    assert word_times(attention).words[0] == "one"
    renamed = Attention.from_weights(
        np.full((1, 1, 3, 2), 0.5),
        Tokens.plain(["<s>", "<|notimestamps|>", "one"]),
        key_tokens=["0", "1"],
        stack="cross",
        places=[Span(0, 0, 1), Span(0, 1, 2)],
        audio=[Sound(np.zeros(20, dtype=np.float32), 10)],
    )
    assert word_times(renamed).words == ("one",)


@pytest.mark.parametrize(
    ("spoken", "parts"),
    [
        ([("none", 0, 1)], ("'one'", "1 spoken")),
        ([("one", 1, 1)], ("'one'", "1.0 s", "ends", "starts")),
    ],
)
def test_spoken_words_that_do_not_fit_are_refused(aligned, spoken, parts: tuple[str, ...]):
    with pytest.raises(ValueError, match=naming(*parts)):
        spoken_word_weights(aligned, spoken)


def test_what_has_no_sound_is_refused(aligned):
    text = load_model().attend("The cat sat.")
    with pytest.raises(ValueError, match=naming("cross-attention", "audio")):
        word_times(text)
    with pytest.raises(ValueError, match=naming("heads", "one")):
        word_times(aligned, heads=[])
    with pytest.raises(ValueError, match=naming("head 7", "'cross'")):
        word_times(aligned, heads=[(0, 7)])


def slow_first_keys(values):
    """Return the first key of each query, by a recursion over single cells."""
    n_query, n_key = values.shape
    best = {}

    def cost(query, key):
        if query < 0 or key < 0:
            return (0.0, None) if query == key == -1 else (np.inf, None)
        if (query, key) not in best:
            before = [(query - 1, key - 1), (query - 1, key), (query, key - 1)]
            costs = [cost(*cell)[0] for cell in before]
            step = int(np.argmin(costs))
            best[query, key] = (costs[step] - values[query, key], before[step])
        return best[query, key]

    cell = (n_query - 1, n_key - 1)
    first = [0] * n_query
    while cell is not None and min(cell) >= 0:
        first[cell[0]] = cell[1]
        cell = cost(*cell)[1]
    return first


@given(st.integers(1, 6), st.integers(1, 7), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_the_best_way_is_that_of_a_slow_search(n_query, n_key, seed):
    values = np.random.default_rng(seed).standard_normal((3, n_query, n_key))
    expected = [slow_first_keys(each) for each in values]
    assert first_keys(values).tolist() == expected


def test_maps_without_cells_have_no_way():
    with pytest.raises(ValueError, match=naming("[1, 0, 3]")):
        first_keys(np.zeros((1, 0, 3)))


class StrippedWhisper(transformers.WhisperForConditionalGeneration):
    """A model whose generation leaves out the first token that its decoder has read."""

    def generate(self, **options):
        for process in options["logits_processor"]:
            process(torch.tensor([[3, 7]]), torch.zeros(1, 200))
            process(torch.tensor([[3, 7, 11]]), torch.zeros(1, 200))
        return torch.tensor([[7, 11, 12]])


def test_a_transcript_begins_with_all_tokens_that_the_decoder_read():
    model = whisper_model(2, StrippedWhisper)
    attention = model.attend(audio=(np.zeros(8000), 16000))
    assert attention.stacks["decoder"].query.ids == (3, 7, 11, 12)
