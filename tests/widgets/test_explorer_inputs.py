"""The explorer shows every input that `attend` reads, and an attention."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from attnwidget import AttentionModel, Explorer, explore, load_model
from fixtures.chat_models import MESSAGES, chat_model
from refusals import naming

QUESTION = [{"role": "user", "content": "Why not?"}]
WHY_NOT = ["<s>", "Wh", "y", "not", "?"]


@pytest.fixture(scope="module")
def model() -> AttentionModel:
    return chat_model("chatml")


@pytest.fixture
def opened() -> Iterator[list[Explorer]]:
    explorers: list[Explorer] = []
    yield explorers
    for explorer in explorers:
        explorer.close()


def inputs(model: AttentionModel) -> dict[str, Any]:
    encoding = model.tokenizer("Why not?", return_tensors="pt")
    ids = encoding["input_ids"]
    return {
        "ids": ids[0].tolist(),
        "a tensor": ids,
        "an array": ids[0].numpy(),
        "a dict": encoding,
        "words": ["Why", "not?"],
    }


@pytest.mark.parametrize("form", ["ids", "a tensor", "an array", "a dict", "words"])
def test_the_explorer_shows_what_attend_reads(
    model: AttentionModel, opened: list[Explorer], form: str
) -> None:
    given = inputs(model)[form]
    explorer = explore(model, given)
    opened.append(explorer)
    assert explorer.attention.tokens == model.attend(given).tokens == WHY_NOT
    assert explorer.text.removeprefix("<s>") == "Why not?"
    # The shown text can be edited and read again, with one BOS.
    explorer.text = explorer.text + " Nobody"
    assert explorer.attention.tokens[:5] == WHY_NOT
    assert len(explorer.attention.tokens) > 5 and explorer.attention.tokens.count("<s>") == 1


def test_a_chat_is_shown_with_the_tokens_of_its_template(
    model: AttentionModel, opened: list[Explorer]
) -> None:
    explorer = explore(model, MESSAGES)
    opened.append(explorer)
    whole = model.tokenizer.apply_chat_template(
        MESSAGES, add_generation_prompt=True, tokenize=False
    )
    assert explorer.text == whole
    tokens = explorer.attention.stacks["self"].query
    assert tokens == model.attend(MESSAGES).stacks["self"].query
    assert "tool" in tokens.roles
    # Options and heads that are off read the chat again, not its text.
    explorer.disabled = [(0, 1)]
    assert explorer.attention.stacks["self"].query.roles == tokens.roles
    explorer.max_new_tokens = 2
    written = explorer.attention
    assert written.n_prompt == len(tokens)
    assert written.stacks["self"].query.roles[: len(tokens)] == tokens.roles
    code = explorer.code()
    assert '[{"role": "system", "content": "You answer' in code


@pytest.mark.parametrize("unit", ["words", "tokens"])
def test_the_page_is_told_the_role_and_the_turn_of_each_word(
    model: AttentionModel, opened: list[Explorer], unit: str
) -> None:
    opened.append(explore(model, QUESTION, unit=unit))
    axis = opened[-1].view.get_state("_axes")["_axes"]["query"]
    n_before = axis["roles"].index("user")
    assert set(axis["roles"][:n_before]) == {"template"} and n_before > 2
    spoken = [text for text, turn in zip(axis["text"], axis["turns"], strict=True) if turn == 0]
    assert "".join(spoken).replace(" ", "") == "Whynot?"
    assert axis["roles"][-1] == "template" and axis["turns"][-1] is None
    opened.append(explore(model, "Why not?", unit=unit))
    assert "roles" not in opened[-1].view.get_state("_axes")["_axes"]["query"]


def test_a_chat_is_continued_and_compared(model: AttentionModel, opened: list[Explorer]) -> None:
    opened.append(explore(model, QUESTION, max_new_tokens=3))
    generated = opened[-1].attention
    assert generated.n_prompt is not None
    assert generated.stacks["self"].query.roles == (
        model.generate(QUESTION, 3).stacks["self"].query.roles
    )
    opened.append(explore(model, QUESTION, versus=chat_model("chatml", spread=2.0)))
    assert opened[-1].view.versus.stacks["self"].query.roles[-1] == "template"


def test_an_attention_is_shown_and_brings_its_model(
    model: AttentionModel, opened: list[Explorer]
) -> None:
    attention = model.attend(QUESTION, add_generation_prompt=False)
    for explorer in (explore(model, attention), explore(None, attention)):
        opened.append(explorer)
        assert explorer.model is model
        assert explorer.attention is attention
        assert explorer.text == ""
    explorer.text = "Why not?"
    assert explorer.attention.tokens == WHY_NOT
    pickled = pickle.loads(pickle.dumps(attention))
    opened.append(explore(model, pickled))
    assert opened[-1].attention is pickled


@pytest.mark.parametrize(
    ("given", "options", "kind", "parts"),
    [
        (3, {}, TypeError, ("text", "int", "attend_batch")),
        ([], {}, ValueError, ("text", "empty words")),
        (torch.zeros(2, 3, dtype=torch.long), {}, ValueError, ("[2, 3]", "attend_batch")),
        (np.zeros((1, 3)), {}, TypeError, ("vocabulary ids", "integers", "inputs_embeds")),
        ([{"content": "Hi"}], {}, ValueError, ("message 0", '"role"')),
        ({"pixel": [1]}, {}, TypeError, ("'pixel'", "LlamaForCausalLM")),
        ("attention", {"versus_text": "Why?"}, ValueError, ("versus_text", "pass the text")),
        ("attention", {"max_new_tokens": 3}, ValueError, ("max_new_tokens", "pass the text")),
        ("another", {}, ValueError, ("small BERT (in the package)", "LlamaForCausalLM", "explore")),
    ],
)
def test_other_inputs_are_refused_in_plain_words(
    model: AttentionModel,
    given: Any,
    options: dict[str, Any],
    kind: type[Exception],
    parts: tuple[str, ...],
) -> None:
    if isinstance(given, str):
        other = load_model(device="cpu")
        given = (model if given == "attention" else other).attend("Why not?")
    with pytest.raises(kind, match=naming(*parts)) as raised:
        explore(model, given, **options)
    assert type(raised.value) is kind and "Explorer instance" not in str(raised.value)
