"""The tokens that a reader sees: every kind of vocabulary, any script, words, special tokens."""

from __future__ import annotations

from typing import Any

import pytest
import transformers
from hypothesis import given
from hypothesis import strategies as st

from attnwidget import Attention, load_model
from attnwidget.inputs.text_encoder import Encoder
from attnwidget.inputs.token_axes import plain_axis, token_axis
from attnwidget.inputs.vocabulary_spelling import Spelling, readable
from fixtures.vocabularies import CORPUS, MAKERS, byte_level

TEXTS = [*CORPUS[:5], "naïve café 🙃 नमस्ते दुनिया", "a\nb\tc  d"]


@pytest.fixture(scope="module")
def tokenizers() -> dict[str, Any]:
    return {name: make() for name, make in MAKERS.items()}


def encode(tokenizer: Any, *texts: Any) -> Any:
    return Encoder(tokenizer, _Reader())(*texts)


class _Reader:
    """A model as far as an encoder looks at it: without limits."""

    class config:  # noqa: N801
        @staticmethod
        def get_text_config() -> object:
            return object()

    def named_modules(self) -> list[Any]:
        return []

    def get_input_embeddings(self) -> None:
        return None


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_every_script_is_shown(tokenizers: dict[str, Any], maker: str, text: str) -> None:
    tokenizer = tokenizers[maker]
    tokens = encode(tokenizer, text).tokens
    assert tokens.raw == tuple(tokenizer.convert_ids_to_tokens(list(tokens.ids)))
    for shown in tokens.text:
        assert any(character.isprintable() and not character.isspace() for character in shown)
        assert not set(shown) & set("\u0120\u010a\u2581"), shown
    groups = tokens.word_groups()
    assert sorted(i for group in groups for i in group) == list(range(len(tokens)))
    if text == CORPUS[0] and maker != "spaces marked":
        words = [
            word
            for word, kind in zip(tokens.to_words().text, tokens.to_words().special, strict=True)
            if kind in ("", "first")
        ]
        assert "".join(words).replace("\u2423", "") == text.replace(" ", "")


def test_kinds_are_told(tokenizers: dict[str, Any]) -> None:
    kinds = {
        name: Spelling.from_tokenizer(tokenizer).kind for name, tokenizer in tokenizers.items()
    }
    assert kinds == {
        "wordpiece": "plain",
        "byte level": "bytes",
        "byte level, prefixed": "bytes",
        "roberta": "bytes",
        "sentencepiece": "metaspace",
        "spaces marked": "metaspace",
    }


def test_special_tokens(tokenizers: dict[str, Any]) -> None:
    def special(name: str, *texts: str) -> list[str]:
        return list(encode(tokenizers[name], *texts).tokens.special)

    first, *inner, last = special("wordpiece", "the cat")
    assert (first, set(inner), last) == ("cls", {""}, "sep")
    assert special("roberta", "the")[0] == "cls"
    assert special("roberta", "the")[-1] == "sep"
    assert special("sentencepiece", "the")[0] == "first"
    assert special("sentencepiece", "the")[-1] == "sep"
    assert special("byte level", "the cat")[0] == "first"
    assert set(special("byte level", "the cat")[1:]) == {""}
    assert special("spaces marked", "the")[0] == "first"
    masked = encode(tokenizers["wordpiece"], "the [MASK] cat [UNK]").tokens
    assert "other" in masked.special
    unknown = masked.raw.index("[UNK]")
    assert masked.special[unknown] == ""
    assert masked.words[unknown] is not None


@pytest.mark.parametrize("maker", MAKERS)
def test_sentences_of_a_pair(tokenizers: dict[str, Any], maker: str) -> None:
    tokens = encode(tokenizers[maker], "the cat", "the mat").tokens
    assert tokens.segments == tuple(sorted(tokens.segments))
    assert set(tokens.segments) == {0, 1}
    ends = [i for i, kind in enumerate(tokens.special) if kind == "sep"]
    if maker == "wordpiece":
        assert [tokens.segments[i] for i in ends] == [0, 1]
    by_segment: dict[int, set[int]] = {0: set(), 1: set()}
    for word, segment in zip(tokens.words, tokens.segments, strict=True):
        if word is not None:
            by_segment[segment].add(word)
    assert not by_segment[0] & by_segment[1]


@pytest.mark.parametrize("maker", MAKERS)
def test_given_words_stay_words(tokenizers: dict[str, Any], maker: str) -> None:
    words = ["The", "cat,", "didn't", "🙂", "القط", "sat"]
    tokens = encode(tokenizers[maker], words).tokens
    assert [w for w in dict.fromkeys(tokens.words) if w is not None] == list(range(6))
    together = encode(tokenizers[maker], words, ["the", "mat"]).tokens
    assert len({w for w in together.words if w is not None}) == 8


def test_words_of_a_text(tokenizers: dict[str, Any]) -> None:
    for name in ("byte level", "sentencepiece", "spaces marked"):
        tokens = encode(tokenizers[name], "the cat played").tokens
        words = {w for w in tokens.words if w is not None}
        assert len(words) == 3, name
    ids = encode(tokenizers["byte level"], "the cat played").ids
    tokens = token_axis(tokenizers["byte level"], ids)
    assert tokens.to_words().text == ("the", "cat", "played")


def test_parts_of_characters_are_shown_as_bytes(tokenizers: dict[str, Any]) -> None:
    tokenizer = tokenizers["byte level"]
    first = tokenizer.convert_tokens_to_ids("\u00f0")  # the first byte of most emoji
    assert token_axis(tokenizer, [first]).text == ("<0xF0>",)


@pytest.mark.parametrize(
    ("raw", "kind", "shown"),
    [
        ("\u0120the", "bytes", "the"),
        ("\u0120", "bytes", "\u2423"),
        ("\u0120\u0120", "bytes", "\u2423\u2423"),
        ("\u010a", "bytes", "\u21b5"),
        ("\u00c3\u00a9", "bytes", "é"),
        ("<|endoftext|>", "bytes", "<|endoftext|>"),
        ("\u2581the", "metaspace", "the"),
        ("\u2581", "metaspace", "\u2423"),
        ("\u200d", "plain", "<U+200D>"),
        ("<0x0A>", "metaspace", "\u21b5"),
        ("<0xF0>", "metaspace", "<0xF0>"),
        ("##ing", "plain", "##ing"),
        ("cat</w>", "plain", "cat"),
        ("猫", "plain", "猫"),
    ],
)
def test_spelling(raw: str, kind: Any, shown: str) -> None:
    assert readable(raw, kind) == shown


@pytest.mark.slow
@given(st.text(min_size=1), st.sampled_from(["bytes", "metaspace", "plain"]))
def test_any_token_can_be_shown(raw: str, kind: Any) -> None:
    assert readable(raw, kind)


def test_strings_are_read_by_their_marks() -> None:
    assert Spelling.guessed(["\u2581a", "b"]).kind == "metaspace"
    assert Spelling.guessed(["a", "\u0120b"]).kind == "bytes"
    assert Spelling.guessed(["[CLS]", "a", "##b"]).kind == "plain"
    axis = plain_axis(["<s>", "The", "\u0120caf\u00c3\u00a9", "s", "</s>"])
    assert axis.text == ("<s>", "The", "café", "s", "</s>")
    assert axis.to_words().text == ("<s>", "The", "cafés", "</s>")
    assert axis.special == ("cls", "", "", "", "sep")


def test_a_whole_model_in_bytes() -> None:
    tokenizer = byte_level()
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer), n_embd=16, n_layer=2, n_head=2, n_positions=64
    )
    attention = load_model(transformers.GPT2LMHeadModel(config), tokenizer).attend("The cat 🙂")
    assert isinstance(attention, Attention)
    assert attention.special[0] == "first"
