"""Wordpieces for a new model, and the model itself before its first step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from tokenizers import BertWordPieceTokenizer, Tokenizer
from tokenizers.decoders import WordPiece as WordPieceDecoder
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing
from torch import Tensor
from transformers import (
    BertConfig,
    BertForMaskedLM,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
CAUSAL_SPECIAL = ("[PAD]", "[UNK]", "[BOS]")
"""Special tokens of a causal model: padding, unknown characters, the beginning of a text."""
CHUNK = 5000


def read_vocabulary(folder: str | Path) -> list[str]:
    """The wordpieces of a model folder's vocab.txt, in the order of their ids."""
    return (Path(folder) / "vocab.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")


def frequent_wordpieces(paragraphs: list[str], wordpieces: list[str], size: int) -> list[str]:
    """The `size` of `wordpieces` that are most frequent in a text, SPECIAL first.

    Single ASCII characters are kept however rare, so that any English word can be spelt.
    """
    tokenizer = BertWordPieceTokenizer({piece: i for i, piece in enumerate(wordpieces)})
    counts: Counter[int] = Counter()
    for at in range(0, len(paragraphs), CHUNK):
        for encoding in tokenizer.encode_batch(
            paragraphs[at : at + CHUNK], add_special_tokens=False
        ):
            counts.update(encoding.ids)
    kept = set(SPECIAL)
    kept |= {p for p in wordpieces if p.isascii() and len(p.removeprefix("##")) == 1}
    for i, _ in counts.most_common():
        if len(kept) >= size:
            break
        kept.add(wordpieces[i])
    return [*SPECIAL, *(piece for piece in wordpieces if piece in kept and piece not in SPECIAL)]


def learnt_wordpieces(paragraphs: Iterable[str], size: int) -> list[str]:
    """A new uncased vocabulary of at most `size` wordpieces, SPECIAL first."""
    tokenizer = BertWordPieceTokenizer()
    tokenizer.train_from_iterator(
        paragraphs, vocab_size=size, special_tokens=list(SPECIAL), show_progress=False
    )
    pieces: dict[str, int] = tokenizer.get_vocab()
    return sorted(pieces, key=pieces.__getitem__)


def make_tokenizer(wordpieces: list[str], longest: int = 512) -> Any:
    """A BERT tokenizer, uncased, of these wordpieces."""
    vocabulary = {piece: i for i, piece in enumerate(wordpieces)}
    return PreTrainedTokenizerFast(
        tokenizer_object=BertWordPieceTokenizer(vocabulary)._tokenizer,
        model_max_length=longest,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


def causal_tokenizer(wordpieces: list[str], longest: int) -> Any:
    """Return an uncased tokenizer that puts [BOS] before a text, for a causal model.

    Its vocabulary is `wordpieces` with CAUSAL_SPECIAL in place of SPECIAL.
    """
    pieces = [*CAUSAL_SPECIAL, *(piece for piece in wordpieces if piece not in SPECIAL)]
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    pad, unknown, start = CAUSAL_SPECIAL
    backend = Tokenizer(WordPiece(vocabulary, unk_token=unknown))
    backend.normalizer = BertNormalizer()
    backend.pre_tokenizer = BertPreTokenizer()
    backend.decoder = WordPieceDecoder()
    backend.post_processor = TemplateProcessing(
        single=f"{start} $A",
        pair=f"{start} $A $B:1",
        special_tokens=[(start, vocabulary[start])],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=longest,
        model_input_names=["input_ids", "attention_mask"],
        pad_token=pad,
        unk_token=unknown,
        bos_token=start,
    )


def new_causal_model(n_wordpieces: int, *, positions: int) -> LlamaForCausalLM:
    """Return a Llama of two layers with random weights: 4 heads of size 16 on 2 key heads.

    Induction needs a head that attends to the previous token, which a small model takes long to
    learn. So the heads of layer 0 begin with a preference for the previous token: the bias of the
    keys is random, and the bias of the queries is the same vector, turned back by one position. The
    product of both biases is then largest at a distance of one token.
    """
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=n_wordpieces,
            hidden_size=64,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=16,
            attention_bias=True,
            max_position_embeddings=positions,
            # Texts are short: half of the wavelengths are below 20 tokens.
            rope_theta=50.0,
            # From the usual 0.02, so small a model hardly starts to learn.
            initializer_range=0.05,
            tie_word_embeddings=True,
            pad_token_id=0,
            bos_token_id=2,
            eos_token_id=None,
        )
    )
    attention = model.model.layers[0].self_attn
    angles: Tensor = model.model.rotary_emb.inv_freq
    with torch.no_grad():
        real, imaginary = 2 * torch.randn(2, 2, len(angles), dtype=torch.float32, device="cpu")
        turned = torch.cat(
            [
                real * angles.cos() + imaginary * angles.sin(),
                imaginary * angles.cos() - real * angles.sin(),
            ],
            dim=1,
        )
        attention.k_proj.bias.copy_(torch.cat([real, imaginary], dim=1).flatten())
        attention.q_proj.bias.copy_(turned.repeat_interleave(2, dim=0).flatten())
    return model


def new_model(n_wordpieces: int, *, layers: int, heads: int, size: int) -> BertForMaskedLM:
    """A BERT with random weights for 512 positions; `size` is that of its hidden states.

    Raises:
        ValueError: `size` is no multiple of `heads`.
    """
    if size % heads:
        raise ValueError(f"a hidden size of {size} cannot be split between {heads} heads")
    return BertForMaskedLM(
        BertConfig(
            vocab_size=n_wordpieces,
            hidden_size=size,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            intermediate_size=4 * size,
            max_position_embeddings=512,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )


@torch.no_grad()
def take_embeddings(model: BertForMaskedLM, teacher: Any) -> None:
    """Start from the teacher's word and position embeddings, along their first principal axes.

    Both models have the same wordpieces by id.
    """
    for name in ("word_embeddings", "position_embeddings"):
        embedding: Tensor = getattr(model.bert.embeddings, name).weight
        its: Tensor = getattr(teacher.embeddings, name).weight.float()
        centered = its - its.mean(0)
        size = min(embedding.shape[1], its.shape[1])
        axes = torch.linalg.svd(centered, full_matrices=False).Vh[:size]
        rows = min(len(embedding), len(its))
        start = centered[:rows] @ axes.T
        embedding[:rows, :size] = start / start.std() * 0.05
