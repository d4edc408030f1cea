"""Words of tokens: of slow tokenizers, by every way in, and with characters split over tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizer, PreTrainedTokenizerFast

from attnwidget import Attention, Sentence, load_model
from attnwidget.capture.model import AttentionModel
from attnwidget.text.tokens import Tokens
from attnwidget.words import probe_relations
from fixtures import zoo
from fixtures.vocabularies import CORPUS, MAKERS, byte_level
from refusals import naming


class InPython(PreTrainedTokenizer):
    """A tokenizer in Python that cuts words into pieces of three letters."""

    def __init__(self, spelt: str, **options: Any) -> None:
        self.spelt = spelt
        names = ["<pad>", "<unk>", "<s>", "</s>"]
        self.entries = {name: number for number, name in enumerate(names)}
        for line in [*CORPUS, "captain told his men"]:
            for token in self._tokenize(line):
                self.entries.setdefault(token, len(self.entries))
        super().__init__(
            pad_token="<pad>", unk_token="<unk>", bos_token="<s>", eos_token="</s>", **options
        )

    @property
    def vocab_size(self) -> int:
        return len(self.entries)

    def get_vocab(self) -> dict[str, int]:
        return dict(self.entries)

    def _tokenize(self, text: str, **_: Any) -> list[str]:
        if self.spelt == "letters":
            return list(text)
        tokens = []
        for word in text.split():
            pieces = [word[i : i + 3] for i in range(0, len(word), 3)]
            if self.spelt == "{}</w>":
                pieces[-1] += "</w>"
            elif self.spelt == "{}@@":
                pieces[:-1] = [f"{piece}@@" for piece in pieces[:-1]]
            elif self.spelt == "##{}":
                pieces[1:] = [f"##{piece}" for piece in pieces[1:]]
            elif self.spelt == "\u2581{}":
                pieces[0] = f"\u2581{pieces[0]}"
            tokens += pieces
        return tokens

    def _convert_token_to_id(self, token: str) -> int:
        return self.entries.get(token, 1)

    def _convert_id_to_token(self, index: int) -> str:
        return {number: token for token, number in self.entries.items()}.get(index, "<unk>")

    def build_inputs_with_special_tokens(
        self, token_ids_0: list[int], token_ids_1: list[int] | None = None
    ) -> list[int]:
        return [2, *token_ids_0, 3, *([*token_ids_1, 3] if token_ids_1 else [])]


#: The marks of words: of PhoBERT, XLM, BERT and Marian, and the letters of CANINE.
SPELT = ["{}@@", "{}</w>", "##{}", "\u2581{}", "letters"]


def reader(tokenizer: Any) -> AttentionModel:
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer), n_embd=8, n_layer=2, n_head=2, n_positions=256
    )
    return load_model(transformers.GPT2LMHeadModel(config).eval(), tokenizer)


def axis_of(attention: Attention) -> Tokens:
    return attention.stacks["self"].query


def words_of(attention: Attention) -> list[str]:
    axis = axis_of(attention)
    words = zip(axis.to_words().text, axis.word_groups(), strict=True)
    return [text for text, group in words if axis.words[group[0]] is not None]


@pytest.mark.parametrize("spelt", SPELT)
def test_a_slow_tokenizer_has_the_words_of_a_text(spelt: str) -> None:
    model = reader(InPython(spelt))
    words = ["captain", "told", "his", "men"]
    assert words_of(model.attend(" ".join(words))) == words
    assert words_of(model.attend(words)) == words
    ids = list(axis_of(model.attend(" ".join(words))).ids)
    assert words_of(model.attend(ids)) == words
    tokens = axis_of(model.attend(words)).text
    assert not any("\u2581" in token or "</w>" in token for token in tokens)


@pytest.mark.parametrize("spelt", SPELT)
def test_a_pair_of_a_slow_tokenizer_has_two_sentences(spelt: str) -> None:
    tokens = axis_of(reader(InPython(spelt)).attend(["captain", "told"], ["his", "men"]))
    parts = dict(zip(tokens.words, tokens.segments, strict=True))
    parts.pop(None, None)
    assert list(parts.values()) == [0, 0, 1, 1]


@pytest.mark.parametrize("spelt", SPELT)
def test_relations_are_probed_with_a_slow_tokenizer(spelt: str) -> None:
    sentence = Sentence.from_lists(["captain", "told"], [2, 0], ["nsubj", "root"])
    result = probe_relations(reader(InPython(spelt)), [sentence] * 3, progress=False)
    assert result.n_sentences == 3


def test_a_truncated_list_of_words_keeps_the_words_that_are_left() -> None:
    tokenizer = InPython("{}@@")
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer), n_embd=8, n_layer=2, n_head=2, n_positions=6
    )
    model = load_model(transformers.GPT2LMHeadModel(config), tokenizer)
    attention = model.attend(["captain", "told", "his"], truncate=True)
    assert words_of(attention) == ["captain", "tol"]


def test_words_that_a_slow_tokenizer_does_not_tell_are_refused() -> None:
    class Reversing(InPython):
        def _tokenize(self, text: str, **options: Any) -> list[str]:
            return super()._tokenize(text, **options)[::-1]

    model = reader(Reversing("plain"))
    sentence = Sentence.from_lists(["captain", "told"], [2, 0], ["nsubj", "root"])
    with pytest.raises(ValueError, match=naming("Reversing", "places of tokens")):
        probe_relations(model, [sentence] * 3, progress=False)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(
    "text", ["The cat didn't\nplay, it (sat).", "القط جلس 🙂 again", "猫 坐。"]
)
def test_words_do_not_depend_on_the_way_in(maker: str, text: str) -> None:
    tokenizer = MAKERS[maker]()
    model = reader(tokenizer)
    axis = axis_of(model.attend(text))
    ids = list(axis.ids)
    ways = {
        "ids": model.attend(ids),
        "dict": model.attend({"input_ids": torch.tensor([ids])}),
        "replay": model.replay(ids[:-1], ids[-1:]),
    }
    for way, attention in ways.items():
        assert axis_of(attention).word_groups() == axis.word_groups(), way
        assert axis_of(attention).to_words().text == axis.to_words().text, way
    generated = axis_of(model.generate(text, max_new_tokens=1))
    prompt = [[i for i in group if i < len(ids)] for group in generated.word_groups()]
    assert [group for group in prompt if group] == axis.word_groups()


@pytest.mark.parametrize("maker", ["byte level", "byte level, prefixed", "roberta"])
def test_byte_level_words_are_those_of_the_pre_tokenizer(maker: str) -> None:
    tokenizer = MAKERS[maker]()
    text = "The cat didn't play, it's 12.5 (really)!\n\nNow"
    expected: dict[int, list[int]] = {}
    for place, word in enumerate(tokenizer(text).word_ids()):
        if word is not None:
            expected.setdefault(word, []).append(place)
    axis = axis_of(reader(tokenizer).attend(text))
    groups = [group for group in axis.word_groups() if axis.words[group[0]] is not None]
    assert groups == list(expected.values())


@pytest.mark.parametrize("text", ["जलेबी खाओ", "Ёлка 🎄 горит", "naïve café", "ฝนตก"])
@pytest.mark.parametrize("maker", ["byte level", "spaces marked"])
def test_characters_split_over_tokens_are_whole_in_words(maker: str, text: str) -> None:
    axis = axis_of(reader(MAKERS[maker]()).attend(text))
    assert any("…2/" in token for token in axis.text)
    assert not any("<0x" in token for token in axis.text)
    words = zip(axis.to_words().text, axis.word_groups(), strict=True)
    spelt = [text for text, group in words if axis.words[group[0]] is not None]
    assert spelt == text.split()


def test_half_a_character_at_the_end_is_shown_as_its_bytes() -> None:
    tokenizer = byte_level()
    model = reader(tokenizer)
    ids = list(axis_of(model.attend("so 🎄")).ids)
    assert words_of(model.attend(ids[:-1]))[-1].startswith("<0xF0><0x9F>")


def test_marks_of_other_vocabularies_stay_in_byte_level_words() -> None:
    assert words_of(reader(byte_level()).attend("in C## or a@@ b")) == [
        *["in", "C", "##", "or", "a", "@@", "b"]
    ]


def test_a_combining_mark_begins_no_word() -> None:
    for text in ("नमस्ते दुनिया", "كَتَبَ الوَلَدُ", "cafe\u0301 noir"):
        assert words_of(reader(byte_level()).attend(text)) == text.split()


def without_marks() -> Any:
    """The tokenizer of the quick tour of `tokenizers`: BPE whose entries have no marks."""
    backend = Tokenizer(models.BPE(unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.train_from_iterator(
        CORPUS[:2], trainers.BpeTrainer(vocab_size=40, special_tokens=["[UNK]"])
    )
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]")


@pytest.mark.parametrize("make", [without_marks, lambda: InPython("plain")])
def test_a_note_says_that_ids_do_not_tell_words(make: Any) -> None:
    model = reader(make())
    attention = model.attend("played the mat")
    assert words_of(attention) == ["played", "the", "mat"]
    assert attention.note == ""
    of_ids = model.attend(list(axis_of(attention).ids))
    assert "each token is a word, because the vocabulary shows no words" in of_ids.note
    assert len(of_ids.words.tokens) == len(of_ids.tokens)


@pytest.mark.skipif(zoo.TRANSFORMERS_4, reason="Transformers 4 makes no tokenizer without files")
def test_tokenizers_of_documents_name_what_to_pass() -> None:
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz"]
    entries = {token: number for number, token in enumerate(vocabulary)}
    tokenizer = transformers.LayoutLMv2Tokenizer(vocab=entries)
    config = transformers.BertConfig(
        vocab_size=60, hidden_size=8, num_hidden_layers=1, num_attention_heads=2
    )
    model = load_model(transformers.BertModel(config), tokenizer)
    with pytest.raises(ValueError, match=naming("str", "dict of inputs")):
        model.attend("The cat")


def test_words_of_strings_are_told_by_every_mark() -> None:
    weights = np.full((1, 1, 3, 3), 1 / 3, np.float32)
    for tokens in (["cap@@", "tain", "told"], ["cap", "tain</w>", "told</w>"]):
        attention = Attention.from_weights(weights, tokens)
        assert axis_of(attention).to_words().text == ("captain", "told")
