"""Edits of single tokens hold at the same tokens of the text at every step of a generation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from attnwidget import load_model
from attnwidget.capture.model import AttentionModel
from fixtures import zoo
from references.hooked_heads import hooked, layers, outputs_of
from refusals import naming

N_NEW = 8
PROMPT = [7, 31, 55, 12, 80, 44, 9]
N_PROMPT = len(PROMPT)
# Links of the prompt, a link of a written token, and a link between two written tokens.
LINKS = [(2, 1), (N_PROMPT - 1, 0), (N_PROMPT - 1, 4), (N_PROMPT + 1, 2), (N_PROMPT + 4, N_PROMPT)]
DECODERS = ["llama", "gpt2", "gemma2", "gpt-oss", "bloom"]
ALLOWED = 2e-5


def read(name: str) -> AttentionModel:
    hf_model = zoo.build(name)
    hf_model.generation_config.pad_token_id = 0
    hf_model.generation_config.eos_token_id = None
    return load_model(hf_model)


def whole_passes(model: AttentionModel, ids: Tensor, stack: str, **edit: Any) -> list[Tensor]:
    """Logits of the steps of a greedy generation, each from a pass over the whole text."""
    links = edit.pop("links")
    steps = []
    given: dict[str, Tensor] = {"input_ids": torch.tensor([PROMPT])}
    name = "decoder_input_ids" if stack != "self" else "input_ids"
    given[name] = ids
    for _ in range(N_NEW):
        n_query = N_PROMPT if stack == "encoder" else given[name].shape[1]
        n_key = n_query if stack in ("self", "decoder") else N_PROMPT
        inside = [(q, k) for q, k in links if q < n_query and k < n_key]
        with torch.no_grad():
            if inside:
                with model.scaled_links(inside, 0, stack=stack, **edit):
                    logits = model.hf_model(**given, use_cache=False).logits[:, -1]
            else:
                logits = model.hf_model(**given, use_cache=False).logits[:, -1]
        steps.append(logits[0])
        given[name] = torch.cat([given[name], logits.argmax(-1)[:, None]], dim=1)
    return steps


def generated(model: AttentionModel, stack: str, links: Any, **options: Any) -> list[Tensor]:
    """Logits of the steps of a generation by transformers in a block of `scaled_links`."""
    with torch.no_grad(), model.scaled_links(links, 0, layers=[0, 1, 2], stack=stack):
        written = model.hf_model.generate(
            torch.tensor([PROMPT]),
            max_new_tokens=N_NEW,
            do_sample=False,
            output_logits=True,
            return_dict_in_generate=True,
            **options,
        )
    return [logits[0] for logits in written.logits]


def assert_same_steps(steps: list[Tensor], expected: list[Tensor]) -> None:
    assert len(steps) == len(expected)
    for step, wanted in zip(steps, expected, strict=True):
        torch.testing.assert_close(step, wanted, atol=ALLOWED, rtol=0)


@pytest.mark.parametrize("name", DECODERS)
def test_removed_links_stay_removed_in_every_form_of_the_cache(name: str) -> None:
    model = read(name)
    prompt = torch.tensor([PROMPT])
    expected = whole_passes(model, prompt, "self", layers=[0, 1, 2], links=LINKS)
    intact = whole_passes(model, prompt, "self", layers=[0, 1, 2], links=[])
    assert not torch.allclose(expected[0], intact[0], atol=1e-3), "the edit changes the steps"
    assert_same_steps(generated(model, "self", LINKS), expected)
    if name != "bloom":  # its cache has no fixed size
        assert_same_steps(generated(model, "self", LINKS, cache_implementation="static"), expected)


@pytest.mark.parametrize("name", ["t5", "bart"])
@pytest.mark.parametrize("stack", ["encoder", "decoder", "cross"])
def test_removed_links_of_an_encoder_decoder_stay_removed(name: str, stack: str) -> None:
    model = read(name)
    start = torch.tensor([[model.hf_model.config.decoder_start_token_id]])
    links = {
        "encoder": [(2, 1), (6, 0)],
        "decoder": [(2, 0), (3, 2), (6, 5)],
        "cross": [(0, 3), (2, 6), (5, 1)],
    }[stack]
    with torch.no_grad():
        expected = whole_passes(model, start, stack, layers=[0, 1], links=links)
        with model.scaled_links(links, 0, layers=[0, 1], stack=stack):
            written = model.hf_model.generate(
                torch.tensor([PROMPT]),
                max_new_tokens=N_NEW,
                output_logits=True,
                return_dict_in_generate=True,
            )
    assert_same_steps([logits[0] for logits in written.logits], expected)


def test_a_generation_with_links_is_the_same_with_and_without_a_cache() -> None:
    model = read("llama")
    texts = []
    for options in ({}, {"use_cache": False}, {"cache_implementation": "static"}):
        with model.scaled_links(LINKS, 0, layers=[0, 1, 2]):
            texts.append(model.generate(PROMPT, N_NEW, **options).stacks["self"].query.ids)
    assert texts[0] == texts[1] == texts[2]


def test_beams_have_the_links_removed_that_each_of_them_has() -> None:
    model = read("gpt2")
    texts = []
    for options in ({}, {"use_cache": False}):
        with model.scaled_links(LINKS, 0, layers=[0, 1, 2]):
            texts.append(model.generate(PROMPT, N_NEW, num_beams=3, **options))
    assert texts[0].stacks["self"].query.ids == texts[1].stacks["self"].query.ids


def test_a_link_of_a_token_that_is_not_in_a_text_is_refused_unless_the_text_grows() -> None:
    model = read("llama")
    intact = model.generate(PROMPT, 3).stacks["self"].query.ids
    with model.scaled_links([(60, 1)], 0, (0, 1)):
        assert model.generate(PROMPT, 3).stacks["self"].query.ids == intact
        with pytest.raises(ValueError, match=naming("(60, 1)", "model.generate")):
            model.hf_model(torch.tensor([PROMPT]))
        with pytest.raises(ValueError, match=naming("(60, 1)", "model.generate")):
            model.attend(PROMPT)


def test_links_beside_a_sink_are_removed_by_a_score_of_minus_infinity() -> None:
    model = read("gpt-oss")
    ids = torch.tensor([PROMPT])
    with torch.no_grad():
        intact = model.hf_model(ids, output_attentions=True).attentions
    sums = np.stack([model.attend(PROMPT).weights(0, head) for head in range(4)]).sum(-1)
    with model.scaled_links([(6, 5), (6, 0)], 0, layers=[0]):
        edited = model.attend(PROMPT).weights(0)
    own = intact[0][0].double().numpy()
    sink = 1 - own[:, 6].sum(-1)
    rest = own[:, 6].copy()
    rest[:, [0, 5]] = 0
    expected = rest / (rest.sum(-1) + sink)[:, None]
    np.testing.assert_allclose(edited[:, 6], expected, atol=2e-6)
    assert (edited[:, 6].sum(-1) < sums[:, 6]).all(), "the sink gets its share"


@pytest.mark.parametrize("options", [{}, {"use_cache": False}])
def test_a_patch_replaces_the_outputs_of_the_prompt_alone(options: dict[str, Any]) -> None:
    model = read("llama")
    other = [token + 1 for token in PROMPT]
    plain = zoo.build("llama")
    layer = layers("llama", plain, "self")[1]
    patched = outputs_of(layer, plain, {"input_ids": torch.tensor([other])})[0]

    def replace(outputs: Tensor, _: Tensor) -> Tensor:
        changed = outputs.clone()
        changed[0, :, :N_PROMPT] = patched
        return changed

    ids = torch.tensor([PROMPT])
    with torch.no_grad(), hooked(layer, replace):
        for _ in range(N_NEW):
            ids = torch.cat([ids, plain(ids).logits[:, -1:].argmax(-1)], dim=1)
    with model.disabled(layers=[1], method="patch", reference=other):
        written = model.generate(PROMPT, N_NEW, **options).stacks["self"].query.ids
    assert list(written) == ids[0].tolist()
