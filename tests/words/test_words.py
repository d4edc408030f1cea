"""Words and their tokens: every kind of vocabulary, and words that change their length."""

from __future__ import annotations

from typing import Any

import pytest
import transformers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from attnwidget import AttentionModel, Document, Sentence, load_model
from attnwidget.results import LinkedSentence
from attnwidget.text.running_text import RunningText
from attnwidget.text.token_words import shared_token, token_words, words_without_tokens
from attnwidget.words import predict_governors, probe_relations
from attnwidget.words.annotated_links import noun_pronoun_links, subject_verb_links
from attnwidget.words.word_segments import WordSegmenter
from fixtures.vocabularies import CORPUS, MAKERS, byte_level, gemma_like
from refusals import naming


@pytest.fixture(scope="module")
def tokenizers() -> dict[str, Any]:
    return {name: make() for name, make in MAKERS.items()} | {"normalizing": normalizing()}


def normalizing() -> Any:
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


@pytest.mark.parametrize("name", [*MAKERS, "normalizing"])
def test_each_token_is_part_of_its_word(tokenizers: dict[str, Any], name: str) -> None:
    """A word's tokens are those that its own characters give, whatever stands around it."""
    tokenizer = tokenizers[name]
    segment = WordSegmenter(reader(tokenizer))(RunningText(tuple(WORDS)))
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


@pytest.mark.parametrize("name", [*MAKERS, "normalizing"])
def test_both_ways_of_reading_words_agree(tokenizers: dict[str, Any], name: str) -> None:
    model = reader(tokenizers[name])
    tokens = model.attend(WORDS).stacks["self"].query
    attended = [w for w in tokens.words if w is not None]
    assert list(dict.fromkeys(attended)) == list(range(len(WORDS)))
    assert tuple(attended) == WordSegmenter(model)(RunningText(tuple(WORDS))).words


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
    texts = [
        RunningText(("a", "cat"), label="sentence 'one'"),
        RunningText(("soft", "\u00ad", "hyphen"), label="sentence 'two'"),
    ]
    with pytest.raises(
        ValueError, match=naming("'two'", "word 2", "'\\xad'", "skip_unaligned=True", "tokens")
    ):
        segmenter.segments(texts, skip_unaligned=False)
    segments, n_skipped = segmenter.segments(texts, skip_unaligned=True)
    assert [one.index for one in segments] == [0] and n_skipped == 1


WRITTEN = Sentence(
    ("It", "does", "n't", "purr", "(", "yet", ")", "."),
    (4, 4, 4, 0, 6, 4, 6, 4),
    ("nsubj", "aux", "advmod", "root", "punct", "advmod", "punct", "punct"),
    space_after=(True, False, True, True, False, False, False, True),
)
TEXT = "It doesn't purr (yet)."


def whole_words() -> Any:
    """A vocabulary whose tokens end at spaces alone, as some tokens of large vocabularies do."""
    spellings = {"It", "doesn't", "does", "n't", "purr", "(yet).", "(", "yet", ")", "."}
    entries = ["<unk>", *(f"\u2581{word}" for word in sorted(spellings))]
    backend = Tokenizer(models.WordLevel({e: i for i, e in enumerate(entries)}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>")


def contractions() -> Any:
    """Byte-level BPE that cuts contractions as GPT-2 does: "doesn", "'t"."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.train_from_iterator(
        ["It doesn't purr (yet)."] * 8,
        trainers.BpeTrainer(
            vocab_size=300,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend)


def read_text(model: AttentionModel, text: RunningText) -> str:
    tokens = list(WordSegmenter(model)(text).first)
    decoded = model.tokenizer.decode(model.tokenizer.convert_tokens_to_ids(tokens))
    return str(decoded).strip()


@pytest.mark.parametrize("make", [byte_level, gemma_like, MAKERS["roberta"]])
def test_a_sentence_is_read_as_written_if_the_vocabulary_marks_spaces(make: Any) -> None:
    model = reader(make())
    words = ("the", "cat", ",", "(", "did", ")", "it", "?")
    spaces = (True, False, True, False, False, True, False, True)
    written = RunningText(words, spaces)
    assert read_text(model, written) == "the cat, (did) it?"
    assert read_text(model, written.with_spaces) == "the cat , ( did ) it ?"
    segment = WordSegmenter(model)(written)
    by_word: dict[int, list[str]] = {}
    for token, word in zip(segment.first, segment.words, strict=True):
        by_word.setdefault(word, []).append(token)
    ids = model.tokenizer.convert_tokens_to_ids
    spelt = [model.tokenizer.decode(ids(tokens)).strip() for tokens in by_word.values()]
    assert tuple(spelt) == words


def test_a_vocabulary_that_does_not_show_spaces_reads_them_between_all_words() -> None:
    segmenter = WordSegmenter(load_model(device="cpu"))
    written = segmenter(WRITTEN.running)
    assert written == segmenter(WRITTEN.with_spaces().running)
    assert written.first[written.words.index(1)] == "does"


@pytest.mark.parametrize(
    ("make", "token", "words"),
    [(whole_words, "doesn't", "'does' and \"n't\""), (contractions, "doesn", "'does' and \"n't\"")],
)
def test_a_token_of_several_words_is_named_or_its_sentence_left_out(
    make: Any, token: str, words: str
) -> None:
    model = reader(make())
    assert WRITTEN.text == TEXT
    cats = Sentence.from_lists(["It", "purr"], [2, 0], ["nsubj", "root"])
    next_steps = ("skip_unaligned=True", "with_spaces")
    with pytest.raises(ValueError, match=naming(repr(token), words, *next_steps)):
        probe_relations(model, [WRITTEN, cats], progress=False)
    with pytest.raises(ValueError, match=naming(repr(token), words)):
        predict_governors(model, WRITTEN)
    found = probe_relations(model, [WRITTEN, cats], skip_unaligned=True, progress=False)
    assert (found.n_sentences, found.n_skipped) == (1, 1)
    spaced = probe_relations(model, [WRITTEN.with_spaces(), cats], progress=False)
    assert (spaced.n_sentences, spaced.n_skipped) == (2, 0)


def test_tokens_find_words_without_spaces_between_them() -> None:
    words = ["(", "yet", ")", ".", "Go"]
    spaces = [False, False, False, True, True]
    offsets = [(0, 1), (1, 3), (3, 4), (4, 5), (5, 6), (6, 9)]  # "(yet). Go"
    assert token_words(words, offsets, spaces) == [0, 1, 1, 2, 3, 4]
    assert shared_token(words, offsets, spaces) is None
    assert shared_token(words, [(0, 1), (1, 4), (4, 6), (6, 9)], spaces) == (2, 2, 3)
    assert shared_token(words, [(0, 6), (6, 7), (7, 9)], spaces) == (0, 0, 3)
    # The spaces around a word are not characters of other words.
    assert shared_token(["ab", "c"], [(0, 3), (3, 4)]) is None
    assert shared_token(["ab", "c"], [(0, 2), (2, 3), (3, 4)]) is None
    assert shared_token(["ab", "c"], [(0, 4)]) == (0, 0, 1)


def test_links_keep_the_spaces_of_their_sentences() -> None:
    verb = Sentence(
        ("He", "'s", "gone"),
        (3, 3, 0),
        ("nsubj", "aux", "root"),
        ("PRON", "AUX", "VERB"),
        space_after=(False, True, True),
    )
    document = Document.from_spans(
        ("Ann", "'s", "cat", "saw", "her"),
        [(0, 0, "a"), (4, 4, "a")],
        space_after=(False, *[True] * 4),
    )
    assert subject_verb_links([verb])[0].running.text == "He's gone"
    (linked,) = noun_pronoun_links([document])
    assert linked.running.text == "Ann's cat saw her" and linked.links
    assert document.with_spaces().running.text == "Ann 's cat saw her"
    with pytest.raises(ValueError, match=naming("sentence: 2 words", "space_after", "1")):
        LinkedSentence(("a", "b"), (), space_after=(True,))
    with pytest.raises(ValueError, match=naming("document: 2 words", "space_after", "1")):
        Document.from_spans(("a", "b"), [], space_after=(True,))


def test_what_is_too_long_is_named(tokenizers: dict[str, Any]) -> None:
    segmenter = WordSegmenter(reader(tokenizers["wordpiece"], positions=16))
    with pytest.raises(ValueError, match=naming("'s1'", "10,000 words", "skip_unaligned=True")):
        segmenter(RunningText(("a",) * 10_000, label="sentence 's1'"))


def test_a_tokenizer_must_know_its_words() -> None:
    model = reader(MAKERS["wordpiece"]())
    model.tokenizer = None
    with pytest.raises(ValueError, match=naming("load_model", "tokenizer")):
        WordSegmenter(model)
