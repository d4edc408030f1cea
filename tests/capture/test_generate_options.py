"""Options of `generate` that would be ignored, or that ask for more than one text."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import GenerationConfig, GPT2Config, GPT2LMHeadModel

from attnwidget import AttentionModel, load_model
from attnwidget.metrics import attention_rollout
from fixtures import zoo
from fixtures.vocabularies import MAKERS
from refusals import naming

IDS = [11, 12, 13]


@pytest.fixture(scope="module", params=["llama", "bart"])
def model(request: pytest.FixtureRequest) -> AttentionModel:
    return load_model(zoo.build(request.param))


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"max_length": 9}, ("max_length=9", "max_new_tokens", "does")),
        (
            {"generation_config": GenerationConfig(do_sample=True)},
            ("generation_config=GenerationConfig", "do_sample=True"),
        ),
        ({"return_dict_in_generate": True}, ("return_dict_in_generate=True", "predict(ids)")),
        ({"num_return_sequences": 2, "num_beams": 2}, ("num_return_sequences=2", "do_sample=True")),
        ({"max_new_tokens": 0}, ("max_new_tokens", "got 0")),
    ],
)
def test_options_without_effect_are_refused(
    model: AttentionModel, options: dict[str, Any], parts: tuple[str, ...]
) -> None:
    with pytest.raises(ValueError, match=naming(*parts)):
        model.generate(IDS, **({"max_new_tokens": 4} | options))


def test_stop_strings_find_the_tokenizer() -> None:
    tokenizer = MAKERS["byte level"]()
    torch.manual_seed(0)
    config = GPT2Config(n_layer=1, n_head=2, n_embd=16, vocab_size=len(tokenizer))
    model = load_model(GPT2LMHeadModel(config), tokenizer)
    ids = tokenizer("The ship")["input_ids"]
    whole = model.generate(ids, 6).stacks["self"].query.ids[len(ids) :]
    stop = tokenizer.decode(whole[0])
    stopped = model.generate(ids, 6, stop_strings=[stop]).stacks["self"].query.ids[len(ids) :]
    assert len(whole) == 6 and stopped == whole[:1]


def test_more_tokens_than_a_decoder_reads_are_refused() -> None:
    model = load_model(zoo.build("bart"))
    limit = model.length_limit.tokens
    assert limit is not None
    with pytest.raises(
        ValueError, match=naming("1 token", f"{limit} new", "BartForConditionalGeneration")
    ):
        model.generate(IDS, limit)


def test_the_prompt_of_a_decoder_counts_what_it_read() -> None:
    model = load_model(zoo.build("bart"))
    start = model.hf_model.config.decoder_start_token_id
    assert model.generate(IDS, 3).n_prompt == 1
    begun = torch.tensor([[start, 21, 22]])
    attention = model.generate(IDS, 3, decoder_input_ids=begun)
    assert attention.n_prompt == 3
    assert attention.stacks["decoder"].query.ids[:3] == (start, 21, 22)


def test_a_rollout_through_a_head_of_another_stack_is_refused() -> None:
    attention = load_model(zoo.build("bart")).attend(IDS, target=[21, 22, 23])
    with pytest.raises(
        ValueError, match=naming("'encoder'", "decoder L1 H0", "head", "stack='decoder'")
    ):
        attention_rollout(attention, head=(1, 0, "decoder"), stack="encoder")
    found = attention_rollout(attention, head=(1, 0, "decoder"), stack="decoder")
    assert found.layers == (1,)
