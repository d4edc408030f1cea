"""Words and their tokens: every kind of vocabulary, and words that change their length."""

from __future__ import annotations

from typing import Any

import pytest
import transformers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from attnwidget import AttentionModel, load_model
from attnwidget.studies.words.word_segments import WordSegmenter
from attnwidget.text.token_words import token_words, words_without_tokens
from fixtures.vocabularies import CORPUS, MAKERS


@pytest.fixture(scope="module")
def tokenizers() -> dict[str, Any]:
    return {name: make() for name, make in MAKERS.items()} | {"normalising": normalising()}


def normalising() -> Any:
    """Wordpieces of a text decomposed, in lower case and without accents: lengths change."""
    backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.Sequence(
        [normalizers.NFKD(), normalizers.Lowercase(), normalizers.StripAccents()]
    )
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    backend.train_from_iterator(
        [*CORPUS, "1 2 4 ⁄ f i n e"],
        trainers.WordPieceTrainer(vocab_size=90, special_tokens=names, show_progress=False),
    )
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    )


def reader(tokenizer: Any, positions: int = 64) -> AttentionModel:
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=8,
        num_attention_heads=2,
        num_hidden_layers=1,
        intermediate_size=8,
        max_position_embeddings=positions,
    )
    return load_model(transformers.BertModel(config), tokenizer)


WORDS = ["The", "½", "ﬁne", "naïve", "didn't", "🙂", "İ", "cat,", "played", "a", "."]


@pytest.mark.parametrize("name", [*MAKERS, "normalising"])
def test_each_token_is_part_of_its_word(tokenizers: dict[str, Any], name: str) -> None:
    """A word's tokens are those that its own characters give, whatever stands around it."""
    tokenizer = tokenizers[name]
    segment = WordSegmenter(reader(tokenizer))(WORDS)
    assert list(segment.words) == sorted(segment.words)
    assert set(segment.words) == set(range(len(WORDS)))
    characters = tokenizer(" ".join(WORDS), add_special_tokens=False, return_offsets_mapping=True)[
        "offset_mapping"
    ]
    starts = [sum(len(w) + 1 for w in WORDS[:k]) for k in range(len(WORDS))]
    for word, (start, end) in zip(segment.words, characters, strict=True):
        # The space before a word may be part of its first token, or one of its own.
        assert starts[word] - 1 <= start
        assert end <= starts[word] + len(WORDS[word])


@pytest.mark.parametrize("name", [*MAKERS, "normalising"])
def test_both_ways_of_reading_words_agree(tokenizers: dict[str, Any], name: str) -> None:
    model = reader(tokenizers[name])
    words = [w for w in WORDS if w != "İ"]
    tokens = model.attend(words).stacks["self"].query
    attended = [w for w in tokens.words if w is not None]
    assert list(dict.fromkeys(attended)) == list(range(len(words)))
    assert tuple(attended) == WordSegmenter(model)(words).words


def test_a_lone_space_belongs_to_the_word_after_it() -> None:
    assert token_words(["ab", "c"], [(0, 2), (2, 3), (3, 4)]) == [0, 1, 1]
    assert token_words(["ab", "c"], [(0, 1), (1, 2), (3, 3), (3, 4)]) == [0, 0, 1, 1]
    assert token_words(["20 000", "c"], [(0, 2), (2, 6), (6, 8)]) == [0, 0, 1]


@pytest.mark.slow
@given(st.lists(st.text("ab ", min_size=1, max_size=3), min_size=1, max_size=5))
def test_characters_find_their_words(words: list[str]) -> None:
    owners = [k for k, word in enumerate(words) for _ in word]
    starts = [sum(len(w) + 1 for w in words[:k]) for k in range(len(words))]
    offsets = [
        (start + c, start + c + 1)
        for start, word in zip(starts, words, strict=True)
        for c in range(len(word))
    ]
    assert token_words(words, offsets) == owners
    assert words_without_tokens(owners, len(words)) == []
    assert words_without_tokens(owners[1:], len(words)) == ([0] if len(words[0]) == 1 else [])


def test_words_without_tokens_are_named_or_left_out() -> None:
    segmenter = WordSegmenter(load_model())
    texts = [(("a", "cat"), "sentence 'one'"), (("soft", "\u00ad", "hyphen"), "sentence 'two'")]
    with pytest.raises(ValueError, match=r"sentence 'two': word 2 '\\xad' has no tokens"):
        segmenter.segments(texts, skip_unaligned=False)
    segments, n_skipped = segmenter.segments(texts, skip_unaligned=True)
    assert [one.index for one in segments] == [0] and n_skipped == 1


def test_what_is_too_long_is_named(tokenizers: dict[str, Any]) -> None:
    segmenter = WordSegmenter(reader(tokenizers["wordpiece"], positions=16))
    with pytest.raises(ValueError, match="sentence 's1' is too long: 10,000 words"):
        segmenter(["a"] * 10_000, label="sentence 's1'")


def test_a_tokenizer_must_know_its_words() -> None:
    model = reader(MAKERS["wordpiece"]())
    model.tokenizer = None
    with pytest.raises(ValueError, match="has no tokenizer, which tells the word of each token"):
        WordSegmenter(model)
