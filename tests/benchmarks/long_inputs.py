"""Cost of long inputs beside the model's own pass, and of one tile of a map."""

from __future__ import annotations

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from attnwidget import AttentionModel, Segment, load_model, measure
from attnwidget.corpus.accumulator import Accumulator
from attnwidget.kernels.streaming import stream_attention
from attnwidget.metrics import Classes, Confidence, Entropy, Position, Sinks
from benchmarks.rows import Row, Run, in_turns, rows_of
from fixtures.vocabularies import word_tokenizer

FUSED = "torch's fused attention"
PLAIN = "a plain pass"


def kernel(length: int, rounds: int) -> list[Row]:
    """Return the row of attention that is read in parts."""
    torch.manual_seed(0)
    query, key, value = (torch.randn(12, length, 64) for _ in range(3))
    places = torch.arange(length)

    def fused() -> None:
        torch.nn.functional.scaled_dot_product_attention(
            query[None], key[None], value[None], is_causal=True
        )

    def streamed() -> None:
        stream_attention(
            query,
            key,
            value,
            scaling=0.125,
            visible=lambda rows, keys: (places[None, keys] <= places[rows, None])[None],
        )

    seconds = in_turns({FUSED: fused, "long attention, 12 causal heads": streamed}, rounds)
    return rows_of(seconds, FUSED, what=f"{length:,} tokens")


def random_llama(layers: int, heads: int, key_heads: int, width: int) -> AttentionModel:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=512,
        hidden_size=width,
        intermediate_size=3 * width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=key_heads,
        max_position_embeddings=8192,
    )
    return load_model(LlamaForCausalLM(config), word_tokenizer(512), device="cpu")


def for_model(model: AttentionModel, length: int, rounds: int) -> list[Row]:
    """Return the rows of the reading of one long input."""
    ids = torch.randint(5, 500, (1, length)).tolist()[0]
    given = {"input_ids": torch.tensor([ids])}
    backbone = model.hf_model.base_model

    def plain() -> None:
        with torch.no_grad():
            backbone(**given)

    def whole() -> None:
        model.hf_model.set_attn_implementation("eager")
        with torch.no_grad():
            backbone(**given, output_attentions=True)
        model.hf_model.set_attn_implementation("sdpa")

    attention = model.attend(ids, long=True)
    window = (length // 2, length)
    runs: dict[str, Run] = {
        PLAIN: plain,
        "`attend` with `long=True`": lambda: model.attend(ids, long=True),
        "`output_attentions` of transformers": whole,
        "a tile of half of the tokens": lambda: attention.tile(
            0, 1, window, window, step=max(1, length // 512)
        ),
    }
    width = model.hf_model.config.hidden_size // model.n_heads
    what = f"{model.n_layers} x {model.n_heads} heads of width {width}, {length:,} tokens"
    limits = {"`attend` with `long=True`": 1.25}
    return rows_of(in_turns(runs, rounds), PLAIN, what=what, limits=limits)


def of_metrics(model: AttentionModel, length: int, rounds: int) -> list[Row]:
    """Return the rows of metrics of one long segment."""
    ids = torch.randint(5, 500, (length - 2,)).tolist()
    segment = Segment(tuple(model.tokenizer.convert_ids_to_tokens(ids)))

    def plain() -> None:
        with torch.no_grad():
            model.hf_model.base_model(input_ids=torch.tensor([ids]))

    def study(*metrics: Accumulator[object]) -> Run:
        return lambda: measure(model, [segment], metrics, progress=False)

    runs = {
        PLAIN: plain,
        "`measure`, five metrics": study(Position(), Classes(), Entropy(), Confidence(), Sinks()),
        '`measure`, "entropy"': study(Entropy()),
    }
    what = f"{model.n_layers} x {model.n_heads} heads, {length:,} tokens"
    return rows_of(in_turns(runs, rounds), PLAIN, what=what)


def rows(*, tiny: bool = False) -> list[Row]:
    """Return the rows of `make bench`; with `tiny`, of sizes that take an instant."""
    if tiny:
        model = random_llama(1, 2, 2, 16)
        return kernel(64, 1) + for_model(model, 64, 1) + of_metrics(model, 1100, 1)
    found = kernel(2048, 3)
    for length in (1024, 2048):
        found += for_model(random_llama(6, 12, 12, 384), length, 3)
        found += for_model(random_llama(6, 12, 4, 768), length, 3)
    return found + of_metrics(random_llama(2, 6, 6, 384), 2048, 3)
