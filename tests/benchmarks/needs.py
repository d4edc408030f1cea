"""Cost of the two strips of the explorer beside one pass: needed words, and all heads."""

from __future__ import annotations

import torch

from attnwidget import AttentionModel, PredictionView, load_model
from attnwidget.interventions.head_effects import effects_on_answers
from attnwidget.widgets.prediction_view.word_needs import WantedNeeds, word_needs
from benchmarks.rows import Row, in_turns, rows_of

#: Bundled models, and the number of rounds for each number of tokens. The causal model reads up to
#: 128 tokens.
MODELS = {
    "masked": (None, {16: 5, 64: 3, 256: 1}),
    "causal": ("attnwidget/induction", {16: 5, 64: 3, 128: 3}),
}
PASS = "one pass"
WORDS = "The captain told his men that he would not leave the ship ."


def rows(*, tiny: bool = False) -> list[Row]:
    """Return the rows of `make bench`; with `tiny`, of one round over the shortest text."""
    found: list[Row] = []
    for kind, (name, all_rounds) in MODELS.items():
        model = load_model(name, device="cpu")
        for size, rounds in ({16: 1} if tiny else all_rounds).items():
            found += strips(model, kind, size, rounds)
    return found


def strips(model: AttentionModel, kind: str, size: int, rounds: int) -> list[Row]:
    """Return the rows of both strips for a text of one size.

    Args:
        model: Language model.
        kind: "masked" or "causal"; a masked model predicts a token in the middle of the text.
        size: Number of tokens.
        rounds: Number of rounds.
    """
    ids = list(model.tokenizer(" ".join([WORDS] * (size // 8)))["input_ids"])
    attention = model.attend([*ids[: size - 1], ids[-1]])
    reading = attention.reading
    assert reading is not None and len(attention.tokens) == size
    position = size // 2 if kind == "masked" else size
    view = PredictionView(attention, position=position, unit="tokens")
    answered, method = view._answered, view._method_used()
    view.close()
    assert answered is not None
    wanted = WantedNeeds(attention, answered, (), method, "tokens")
    answers = (answered.answer, *answered.likely_answers())

    def one_pass() -> None:
        with torch.no_grad():
            model.hf_model(**reading.inputs)

    runs = {
        PASS: one_pass,
        "strip of needed words": lambda: word_needs(wanted, lambda: False),
        f"strip of {model.n_layers * model.n_heads} heads": lambda: effects_on_answers(
            reading, answers, position, (), method, stack="self"
        ),
    }
    return rows_of(in_turns(runs, rounds), PASS, what=f"{kind} model, {size} tokens")
