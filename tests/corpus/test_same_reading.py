"""A text has the same vocabulary ids however it comes to a model: alone, as words, in a study."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import transformers

from attnwidget import (
    AttentionModel,
    MinimalPair,
    ablate,
    compare,
    load_model,
    make_segments,
    measure,
    read_segments,
)
from attnwidget.behaviors import find_links
from attnwidget.interventions import measure_minimal_pairs
from attnwidget.probes.features import extract_features
from attnwidget.results import LinkedSentence
from attnwidget.text.coreference import Document
from attnwidget.text.treebank import Sentence
from attnwidget.text.word_links import Link
from attnwidget.words import (
    predict_governors,
    probe_coreference,
    probe_features,
    probe_links,
    probe_relations,
)
from fixtures.vocabularies import (
    MAKERS,
    byte_level,
    gemma_like,
    sentencepiece,
    without_template_of_pairs,
    wordpiece,
)
from refusals import naming

Ids = tuple[int, ...]
Read = set[Ids]

FAST: dict[str, Callable[[], Any]] = MAKERS | {
    "spaces marked, none at the beginning": gemma_like,
    "bytes, no template of pairs": lambda: without_template_of_pairs(byte_level(), "<|endoftext|>"),
    "wordpiece, no template of pairs": lambda: without_template_of_pairs(
        wordpiece(), "[CLS]", "[SEP]"
    ),
    "sentencepiece, no template of pairs": lambda: without_template_of_pairs(
        sentencepiece(), "</s>"
    ),
}
FAMILIES = FAST | {"bytes of Python": transformers.ByT5Tokenizer}

WORDS = ("A", "dog", "ran", ",", "then", "(", "oh", ")", "Ann", "slept", ".")
SPACES = (True, True, False, True, True, False, False, True, True, False, True)
GOVERNORS = (2, 3, 0, 3, 10, 7, 10, 7, 10, 3, 3)
RELATIONS = ("det", "nsubj", "root", *("punct", "advmod", "punct") * 2, "conj", "punct")
TAGS = ("DET", "NOUN", "VERB", "PUNCT", "ADV", "PUNCT", "INTJ", "PUNCT", "PROPN", "VERB", "PUNCT")
WRITTEN = Sentence(WORDS, GOVERNORS, RELATIONS, TAGS, space_after=SPACES)
#: Largest number of tokens that studies read to check a model.
N_CHECKED = 8
TEXT = "A dog ran, then (oh) Ann slept."


def causal(tokenizer: Any) -> AttentionModel:
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=128,
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=None,
    )
    return load_model(transformers.LlamaForCausalLM(config), tokenizer)


@contextmanager
def reading(model: AttentionModel) -> Iterator[Read]:
    """Collect the ids of all inputs that the model reads in the block, without padding.

    Studies also read the first tokens of an input to check the model, which are left out.
    """
    read: Read = set()

    def record(_: Any, __: Any, inputs: dict[str, Any]) -> None:
        mask = inputs["attention_mask"]
        for number, row in enumerate(inputs["input_ids"]):
            real = row[mask[number] != 0] if mask is not None and mask.ndim == 2 else row
            read.add(tuple(real.tolist()))

    hook = model.hf_model.base_model.register_forward_pre_hook(record, with_kwargs=True)
    try:
        yield read
    finally:
        hook.remove()
    read -= {ids for ids in read if len(ids) <= N_CHECKED}


def attended(model: AttentionModel, *texts: Any) -> Ids:
    return tuple(model.attend(*texts).stacks["self"].query.ids)


@pytest.fixture(scope="module", params=FAMILIES)
def model(request: pytest.FixtureRequest) -> AttentionModel:
    return causal(FAMILIES[request.param]())


@pytest.fixture(scope="module", params=FAST)
def fast(request: pytest.FixtureRequest) -> AttentionModel:
    return causal(FAST[request.param]())


def test_a_list_of_words_is_read_as_the_running_text(model: AttentionModel) -> None:
    words = ["Cats", "purr", "and", "the", "dog", "barks", "."]
    assert attended(model, words) == attended(model, " ".join(words))
    pair = words[:2], words[4:]
    assert attended(model, *pair) == attended(model, *map(" ".join, pair))
    with reading(model) as read:
        model.attend(words)
        model.generate(words, max_new_tokens=1)
        model.attend_batch([words])
    expected = attended(model, " ".join(words))
    assert {ids[: len(expected)] for ids in read} == {expected}


def test_a_prompt_of_words_is_replayed_as_the_running_text(model: AttentionModel) -> None:
    if model.texts.template(pair=False).after:
        # The prompt ends with a special token, so that no text goes on with it.
        for prompt in ("the cat", ["the", "cat"]):
            with pytest.raises(ValueError, match=naming("tokens of text", "ids")):
                model.replay(prompt, " sat")
        return
    whole = model.replay("the cat", " sat")
    listed = model.replay(["the", "cat"], " sat")
    assert listed.stacks["self"].query.ids == whole.stacks["self"].query.ids


def test_studies_of_texts_read_what_attend_reads(model: AttentionModel) -> None:
    other = TEXT.replace("slept", "woke")
    expected = {attended(model, TEXT), attended(model, other)}
    segments = make_segments([TEXT, other], model)
    with reading(model) as read:
        measure(model, segments, ["entropy"], progress=False)
        measure(model, [{"text": TEXT}, {"text": other}], ["entropy"], progress=False)
        ablate(model, segments, scoring="loss", progress=False)
        measure_minimal_pairs(model, [MinimalPair(TEXT, other)], progress=False)
        for reference in (TEXT, segments[0]):
            with model.disabled([(0, 0)], method="mean", reference=reference):
                pass
    assert read == expected


def test_studies_of_words_read_what_attend_reads(fast: AttentionModel, tmp_path: Path) -> None:
    expected = attended(fast, TEXT)
    document = Document.from_spans(WORDS, [(0, 1, "a"), (8, 8, "a")], space_after=SPACES)
    linked = LinkedSentence(WORDS, (Link((1,), (2,), "link"),), space_after=SPACES)
    sentences = [WRITTEN]
    assert WRITTEN.text == TEXT
    with reading(fast) as read:
        predict_governors(fast, WRITTEN)
        probe_relations(fast, sentences, progress=False)
        probe_features(fast, sentences, progress=False)
        probe_links(fast, [linked], progress=False)
        probe_coreference(fast, [document], progress=False)
        find_links(fast, sentences, query="tag=NOUN", relation="nsubj", progress=False)
        extract_features(fast, sentences, tmp_path, progress=False)
        compare(fast, fast, sentences, unit="words", progress=False)
    assert read == {expected}


def test_words_without_known_spaces_are_read_with_spaces(fast: AttentionModel) -> None:
    expected = attended(fast, list(WORDS))
    with reading(fast) as read:
        predict_governors(fast, WRITTEN.with_spaces())
        compare(fast, fast, [list(WORDS)], unit="words", progress=False)
    assert read == {expected}


def test_pairs_are_read_alike_and_begin_as_texts(model: AttentionModel) -> None:
    first, second = "A dog ran.", "Ann slept."
    expected = attended(model, first, second)
    with reading(model) as read:
        measure(model, make_segments([(first, second)], model), ["entropy"], progress=False)
    assert read == {expected}
    alone = attended(model, first)
    bare = model.tokenizer(first, add_special_tokens=False)["input_ids"]
    n_before = alone.index(bare[0])
    assert expected[: n_before + len(bare)] == alone[: n_before + len(bare)]


def test_a_corpus_is_read_as_its_lines(model: AttentionModel) -> None:
    lines = ["A dog ran.", "Ann slept.", "She woke."]
    if model.texts.template(pair=True).between:
        expected = {attended(model, "\n".join(lines[:n]), "\n".join(lines[n:])) for n in (1, 2)}
    else:
        expected = {attended(model, "\n".join(lines))}
    for seed in range(4):
        with reading(model) as read:
            segments = read_segments([lines], model, seed=seed, max_tokens=120)
            measure(model, segments, ["entropy"], progress=False)
        assert read <= expected


def test_texts_and_corpora_begin_alike_in_the_model_of_the_package() -> None:
    model = load_model("attnwidget/induction", device="cpu")
    lines = ["The captain spoke.", "His men listened."]
    beginning = attended(model, lines[0])[0]
    assert beginning == model.tokenizer.bos_token_id
    with reading(model) as read:
        measure(model, read_segments([lines], model), ["entropy"], progress=False)
    assert read == {attended(model, " ".join(lines))}


def test_a_cut_pair_keeps_its_special_tokens() -> None:
    tokenizer = without_template_of_pairs(wordpiece(), "[CLS]", "[SEP]")
    model = causal(tokenizer)
    cut = model.attend("the cat " * 100, "the mat " * 100, truncate=True).stacks["self"].query
    assert len(cut) == model.length_limit.tokens
    assert (cut.raw[0], cut.raw[-1]) == ("[CLS]", "[SEP]")
    assert set(cut.segments) == {0, 1}
