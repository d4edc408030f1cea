"""What an answer owes to each head: exactly, against a loop; as an estimate, as a derivative."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from attnwidget import Head, load_model
from attnwidget.capture.model import AttentionModel
from attnwidget.interventions.head_effects import effects_of, effects_on_answers
from capture.test_predict import words
from fixtures import zoo
from refusals import naming

METHODS = ["uniform", "zero", "first"]
TEXT = "The woman washed [MASK] hands."
MODELS = ["embedded", "attnwidget/genre", "gpt2", "llama"]
PROJECTIONS = {
    "gpt2": lambda model, layer: model.transformer.h[layer].attn.c_proj,
    "llama": lambda model, layer: model.model.layers[layer].self_attn.o_proj,
}


def asked(name: str, dtype: torch.dtype = torch.float32) -> tuple[AttentionModel, Any, int]:
    """A model, the reading of a text, and where it is asked."""
    if name in PROJECTIONS:
        model = load_model(zoo.build(name, dtype=dtype), words())
        reading = model.attend("w7 w8 w9 w1 w4").reading
    else:
        model = load_model(None if name == "embedded" else name, device="cpu")
        reading = model.attend(TEXT if name == "embedded" else "The food was great.").reading
    assert reading is not None
    return model, reading, reading.predict().positions[0]


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", MODELS)
def test_exact_effects_are_those_of_a_loop(name: str, method: Any) -> None:
    model, reading, position = asked(name)
    off = [Head(0, 2), Head(2, 1)]
    # The loop over a model of the package is of 72 passes.
    for heads in ([], off) if name in PROJECTIONS else (off,):
        before = reading.predict(heads, method)
        answer = int(before.log_probabilities[0].argmax())
        found = effects_of(reading, answer, position, heads, method, stack="self")
        wanted = np.zeros_like(found)
        for layer, head in np.ndindex(found.shape):
            after = reading.predict({*heads, Head(layer, head)}, method)
            wanted[layer, head] = after.probability(answer) - before.probability(answer)
        np.testing.assert_allclose(found, wanted, atol=1e-5)
        assert all(abs(found[head[:2]]) < 1e-6 for head in heads)
    assert not model.edits


def test_a_token_that_is_no_mask_is_masked() -> None:
    reading = load_model(device="cpu").attend("The woman washed her hands.").reading
    assert reading is not None
    before = reading.predict(positions=[4])
    answer = int(before.log_probabilities[0].argmax())
    found = effects_of(reading, answer, 4, stack="self")
    after = reading.predict([Head(3, 5)], positions=[4])
    change = after.probability(answer) - before.probability(answer)
    assert found is not None and found[3, 5] == pytest.approx(change, abs=1e-5)


@pytest.mark.parametrize(
    ("source", "text", "position"),
    [(None, "The mathematician left.", 2), ("attnwidget/genre", "The food was great.", -1)],
)
def test_effects_on_several_answers_are_those_on_each(
    source: str | None, text: str, position: int
) -> None:
    reading = load_model(source, device="cpu").attend(text).reading
    assert reading is not None
    at = None if position < 0 else [position]
    before = reading.predict(positions=at)
    answers = [int(i) for i in np.argsort(-before.log_probabilities[0])[:3]]
    heads = [Head(1, 2), Head(5, 8)]
    found = effects_on_answers(reading, answers, position, stack="self", only=heads)
    assert found is not None and found.shape == (3, 6, 12)
    for answer, effects in zip(answers, found, strict=True):
        for head in heads:
            after = reading.predict([head], positions=at)
            change = after.probability(answer) - before.probability(answer)
            assert effects[head[:2]] == pytest.approx(change, abs=1e-5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", PROJECTIONS)
def test_estimates_are_derivatives(name: str, method: Any) -> None:
    model, reading, position = asked(name, torch.float64)
    answer = 3
    found = effects_of(reading, answer, position, [], method, stack="self", exact=False)
    # Llama normalizes in float32: a smaller step would drown in its rounding.
    given = dict(reading.inputs)
    step = 0.03
    size = model.hf_model.config.hidden_size // model.n_heads
    for layer, head in [(0, 1), (1, 3), (2, 0)]:
        projection = PROJECTIONS[name](model.hf_model, layer)
        outputs: list[torch.Tensor] = []

        def keep(_: Any, args: Any, into: list[torch.Tensor] = outputs) -> None:
            into.append(args[0].clone())

        handle = projection.register_forward_pre_hook(keep)
        with torch.no_grad():
            model.hf_model(**given)
            with model.disabled((layer, head), method=method):
                model.hf_model(**given)
        handle.remove()
        own = slice(head * size, (head + 1) * size)
        way = torch.zeros_like(outputs[0])
        way[..., own] = (outputs[1] - outputs[0])[..., own]

        def probability(share: float, projection: Any = projection, way: Any = way) -> float:
            handle = projection.register_forward_pre_hook(
                lambda _, args: (args[0] + share * way, *args[1:])
            )
            with torch.no_grad():
                logits = model.hf_model(**given).logits[0, -1]
            handle.remove()
            return float(torch.softmax(logits, -1)[answer])

        derivative = (probability(step) - probability(-step)) / (2 * step)
        assert found[layer, head] == pytest.approx(derivative, rel=1e-2, abs=1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_estimates_rank_heads_as_passes_do(method: Any) -> None:
    _, reading, position = asked("embedded")
    answer = int(reading.predict().log_probabilities[0].argmax())
    both = [
        effects_of(reading, answer, position, [], method, stack="self", exact=exact)
        for exact in (False, True)
    ]
    assert spearmanr(*(one.ravel() for one in both)).statistic > 0.6
    assert np.corrcoef(*(one.ravel() for one in both))[0, 1] > 0.8


@pytest.mark.slow
def test_other_threads_use_the_model_between_passes_and_may_stop_them() -> None:
    model, reading, position = asked("embedded")
    passes: list[np.ndarray[Any, Any]] = []

    def other() -> None:
        with model.lock.in_turn():
            passes.append(reading.predict().log_probabilities)

    def stopped() -> bool:
        # Asked with the lock held: a thread that waits for it has it before the next pass.
        if not threads:
            threads.append(threading.Thread(target=other))
            threads[0].start()
        return bool(passes)

    threads: list[threading.Thread] = []
    assert effects_of(reading, 0, position, stack="self", stopped=stopped) is None
    threads[0].join()
    np.testing.assert_array_equal(passes[0], reading.predict().log_probabilities)


def test_refused() -> None:
    model, reading, _ = asked("gpt2")
    with pytest.raises(ValueError, match=naming("token 9", "5")):
        effects_of(reading, 3, 9, stack="self")
    with pytest.raises(ValueError, match=naming("'decoder'", "stack")):
        effects_of(reading, 3, 2, stack="decoder", exact=False)
    model.close()
    with pytest.raises(RuntimeError, match=naming("load_model", "closed")):
        effects_of(reading, 3, 2, stack="self")
