"""Train the embedded model of translation into a made language: `attnwidget/translation`.

    python docs/models/train_translation.py --out FOLDER [--steps N]

FOLDER gets the configuration, the tokenizer, and the weights in float16. The script prints the
losses and the share of held-out sentences that are translated without an error. The same seed gives
the same weights on the same processor and version of torch.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from attnwidget.text.aligned_pairs import AlignedPair
from attnwidget.text.made_language import ARTICLE, COUNTERPARTS, MARKER, demo_alignments

SPECIAL = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
VOCABULARY = {
    word: number
    for number, word in enumerate(
        [*SPECIAL.values(), ARTICLE, MARKER, *COUNTERPARTS, *COUNTERPARTS.values()]
    )
}
PAD = VOCABULARY["<pad>"]
END = VOCABULARY["</s>"]
#: Seeds from here on are drawn for training, one for each step.
FIRST_SEED = 1_000_000
WARM_UP = 30
#: Number of last steps in which the learning rate falls to 0.
COOL_DOWN = 200


def new_model() -> Any:
    """Return a Marian model with random weights: 2 + 2 layers x 4 heads, 32 wide."""
    from transformers import MarianConfig, MarianMTModel

    return MarianMTModel(
        MarianConfig(
            vocab_size=len(VOCABULARY),
            decoder_vocab_size=len(VOCABULARY),
            d_model=32,
            encoder_layers=2,
            decoder_layers=2,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=64,
            decoder_ffn_dim=64,
            max_position_embeddings=32,
            pad_token_id=PAD,
            eos_token_id=END,
            decoder_start_token_id=PAD,
            forced_eos_token_id=None,
            dropout=0.0,
            # With the usual small weights, the model needs many more steps to begin to learn.
            init_std=0.16,
            share_encoder_decoder_embeddings=True,
        )
    )


def new_tokenizer() -> Any:
    """Return a tokenizer with one token per word."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordLevel(VOCABULARY, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", END)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=32, **SPECIAL)


def padded(sentences: Sequence[Sequence[str]], fill: int) -> Tensor:
    """Return the ids of sentences with an end token, [n, longest]."""
    ids = [[*(VOCABULARY[word] for word in words), END] for words in sentences]
    longest = max(map(len, ids))
    rows = [row + [fill] * (longest - len(row)) for row in ids]
    return torch.tensor(rows, dtype=torch.long, device="cpu")


@torch.no_grad()
def share_right(model: Any, pairs: Sequence[AlignedPair]) -> float:
    """Return the share of sentences whose greedy translation has no error."""
    right = 0
    for pair in pairs:
        source = padded([pair.source], PAD)
        ids = model.generate(input_ids=source, decoder_start_token_id=PAD, max_new_tokens=30)
        right += ids[0, 1:].tolist() == [*(VOCABULARY[word] for word in pair.target), END]
    return right / len(pairs)


def train(model: Any, *, steps: int, batch: int, learning_rate: float, every: int) -> None:
    """Train `model` in place; print the loss after each `every` steps."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.99))
    model.train()
    for step in range(steps):
        rate = min(1.0, (step + 1) / WARM_UP) * min(1.0, (steps - step) / COOL_DOWN)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate * rate
        pairs = demo_alignments(batch, seed=FIRST_SEED + step)
        source = padded([pair.source for pair in pairs], PAD)
        labels = padded([pair.target for pair in pairs], -100)
        mask = (source != PAD).long()
        loss = model(input_ids=source, attention_mask=mask, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if (step + 1) % every == 0:
            print(f"{step + 1}: loss {loss.item():.4f}", flush=True)
    model.eval()


def main(arguments: Sequence[str] | None = None) -> None:
    """Train the model and write the folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="the folder of the model")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--learning-rate", type=float, default=3e-3)
    parser.add_argument("--every", type=int, default=100, help="steps between printed losses")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    torch.manual_seed(options.seed)
    model = new_model()
    train(
        model,
        steps=options.steps,
        batch=options.batch,
        learning_rate=options.learning_rate,
        every=options.every,
    )
    print(f"held out: {share_right(model, demo_alignments(200)):.3f} without an error")
    options.out.mkdir(parents=True, exist_ok=True)
    model.half().save_pretrained(options.out)
    new_tokenizer().save_pretrained(options.out)


if __name__ == "__main__":
    main()
