"""Tokenizers of every kind, trained on a few lines: no download."""

from __future__ import annotations

from typing import Any

from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import PreTrainedTokenizerFast

from zoo import VOCABULARY

CORPUS = [
    "The cat sat on the mat, didn't it?",
    "playing players played the played play",
    "القط جلس على السجادة والقط نائم",
    "猫坐在垫子上。猫睡着了。",
    "smile 🙂 and 👩‍👩‍👧 again 🙂",
] * 8
_BERT_NAMES = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}


def word_tokenizer(size: int = VOCABULARY, template: bool = True) -> Any:
    """A tokenizer of whole words; ids 0 to 4 are special."""
    names = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]"]
    words = [*names, *(f"w{i}" for i in range(size - len(names)))]
    backend = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    if template:
        backend.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]",
            pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
        )
    return PreTrainedTokenizerFast(tokenizer_object=backend, **_BERT_NAMES)


def wordpiece() -> Any:
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    backend.train_from_iterator(
        CORPUS, trainers.WordPieceTrainer(vocab_size=90, special_tokens=names, show_progress=False)
    )
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        **_BERT_NAMES,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )


def byte_level(prefix: bool = False, roberta: bool = False) -> Any:
    names = ["<s>", "<pad>", "</s>"] if roberta else ["<|endoftext|>"]
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    backend.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    backend.train_from_iterator(
        CORPUS,
        trainers.BpeTrainer(
            vocab_size=330, special_tokens=names, initial_alphabet=alphabet, show_progress=False
        ),
    )
    if not roberta:
        return PreTrainedTokenizerFast(
            tokenizer_object=backend, bos_token=names[0], eos_token=names[0]
        )
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<s>",
        cls_token="<s>",
        eos_token="</s>",
        sep_token="</s>",
        pad_token="<pad>",
    )


def sentencepiece(split: bool = True) -> Any:
    """T5-like where words are split at spaces; Gemma-like where spaces are only marked."""
    names = ["<pad>", "</s>", "<unk>"]
    backend = Tokenizer(models.Unigram())
    trainer = trainers.UnigramTrainer(
        vocab_size=110, special_tokens=names, unk_token="<unk>", show_progress=False
    )
    if split:
        backend.pre_tokenizer = pre_tokenizers.Metaspace()
        backend.decoder = decoders.Metaspace()
        backend.train_from_iterator(CORPUS, trainer)
        backend.post_processor = processors.TemplateProcessing(
            single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
        )
        return PreTrainedTokenizerFast(
            tokenizer_object=backend, eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
        )
    backend = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    backend.normalizer = normalizers.Sequence(
        [normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]
    )
    backend.decoder = decoders.Sequence(
        [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    names = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    backend.train_from_iterator(
        CORPUS[:2] * 8,
        trainers.BpeTrainer(vocab_size=320, special_tokens=names[:3], show_progress=False),
    )
    pieces = list(backend.get_vocab())
    merges = [("p", "l"), ("\u2581", "t")]
    letters = sorted({letter for piece in pieces for letter in piece} | {"\u2581"})
    vocabulary = {p: i for i, p in enumerate([*names, *letters, *("".join(m) for m in merges)])}
    backend.model = models.BPE(
        vocab=vocabulary, merges=merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True
    )
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A $B:1", special_tokens=[("<s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


MAKERS = {
    "wordpiece": wordpiece,
    "byte level": byte_level,
    "byte level, prefixed": lambda: byte_level(prefix=True),
    "roberta": lambda: byte_level(roberta=True),
    "sentencepiece": sentencepiece,
    "spaces marked": lambda: sentencepiece(split=False),
}
