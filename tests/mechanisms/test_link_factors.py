"""Factors of a weight multiply to the weights, and are those of a literal forward pass."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from attnwidget import Attention, load_model
from attnwidget.mechanisms import link_factors
from fixtures.mechanism_models import HIDDEN, READABLE, attend, build, inputs, tiered
from references.reference_link_factors import literal_logs, literal_written
from refusals import naming

TEXT = "The captain told his men that he would not leave the ship."
RAIN = "The rain fell on the hill, the rain fell on the town, and the rain fell on the sea."
HE = 7
CAPTAIN = 2
QUERY = 6
KEY = 3
RIVAL = 5
#: Models whose MLPs choose experts for each token.
EXPERTS = {"gpt-oss", "mixtral"}
#: Models whose random weights give factors of earlier heads below 1.5, which are not divided.
NEAR_ONE = {"albert", "bart", "bert", "deepseek", "distilbert", "electra", "modernbert", "roberta"}
#: Models whose words are not rows of one table.
NO_WORDS = {"vit", "esm"}


def layers_of(attention: Attention) -> list[tuple[str, int]]:
    return [(name, n) for name, stack in attention.stacks.items() for n in stack.layers.numbers]


@pytest.mark.parametrize("name", tiered(name for name in READABLE if name not in NO_WORDS))
def test_factors_multiply_to_the_ratio_of_the_weights(name: str) -> None:
    attention = attend(name)
    for stack, layer in layers_of(attention):
        weights = attention.rows(layer, 1, QUERY, stack=stack).astype(np.float64)
        found = link_factors(attention, layer, 1, QUERY, KEY, RIVAL, stack=stack)
        ratio = math.log(weights[KEY] / weights[RIVAL])
        assert sum(found.logs.values()) == pytest.approx(ratio, abs=1e-5)
        assert math.prod(found.factors.values()) == pytest.approx(found.ratio, rel=1e-9)
        typical = link_factors(attention, layer, 1, QUERY, KEY, stack=stack)
        mean = np.mean(
            [
                math.log(weights[KEY] / weights[other])
                for other in range(len(weights))
                if weights[other] > 0
                and other != KEY
                and (other != QUERY or stack == "cross")
                and not attention.stacks[stack].key.special[other]
            ]
        )
        assert sum(typical.logs.values()) == pytest.approx(mean, abs=1e-5)


CASES = [("bert", (2, 1)), ("bert", (0, 3)), ("gpt2", (2, 1)), ("llama", (2, 3)), ("llama", (0, 0))]


@pytest.mark.parametrize(("name", "head"), CASES)
def test_factors_are_those_of_a_literal_pass(name: str, head: tuple[int, int]) -> None:
    model = masked_bert() if name == "bert" else build(name)
    ids = inputs(name)["input_ids"]
    attention = load_model(model, tokenizer=None).attend({"input_ids": ids})
    for against in (RIVAL, None):
        found = link_factors(attention, head, QUERY, KEY, against)
        # The first token of a model without special tokens is no typical word.
        others = [i for i in range(1, 14 if name == "bert" else QUERY) if i not in (KEY, QUERY)]
        rivals = others if against is None else [against]
        logs, maps = literal_logs(model, ids[0], head, QUERY, KEY, rivals)
        np.testing.assert_allclose(maps[head[0]][head[1]], attention.weights(*head), atol=1e-6)
        wanted = dict(zip(("word", "place", "heads"), logs, strict=True))
        for part, value in wanted.items():
            assert found.logs.get(part, 0.0) == pytest.approx(value, abs=1e-5), part
        assert found.n_words == len(rivals)


def masked_bert(size: float = 0.15) -> Any:
    """A BERT with the prediction head, and with weights as large as those of the zoo."""
    import transformers

    torch.manual_seed(0)
    config = transformers.BertConfig(**build("bert").config.to_dict())
    model = transformers.BertForMaskedLM._from_config(config, attn_implementation="sdpa")
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() >= 2:
                parameter.normal_(0, size)
    return model.eval()


@pytest.mark.parametrize(
    "head", [(0, 2), (1, 3), (2, 8), pytest.param((5, 7), marks=pytest.mark.slow)]
)
def test_factors_of_the_embedded_model_are_those_of_a_literal_pass(head: tuple[int, int]) -> None:
    model = load_model(device="cpu")
    attention = model.attend(TEXT)
    ids = model.tokenizer(TEXT, return_tensors="pt")["input_ids"][0]
    found = link_factors(attention, head, HE, CAPTAIN)
    rivals = [i for i in range(1, len(ids) - 1) if i not in (HE, CAPTAIN)]
    logs, _ = literal_logs(model.hf_model, ids, head, HE, CAPTAIN, rivals)
    for part, value in zip(("word", "place", "heads"), logs, strict=True):
        assert found.logs.get(part, 0.0) == pytest.approx(value, abs=2e-5), part


def test_an_embedded_rotary_model_swaps_the_place_by_the_rotation() -> None:
    model = load_model("attnwidget/induction")
    attention = model.attend("right head moor time matt right head moor time matt")
    ids = attention.reading.inputs["input_ids"][0]
    query, key = len(ids) - 1, 2
    for head in ((0, 1), (1, 2)):
        found = link_factors(attention, head, query, key, against=4)
        logs, _ = literal_logs(model.hf_model, ids, head, query, key, [4])
        for part, value in zip(("word", "place", "heads"), logs, strict=True):
            assert found.logs.get(part, 0.0) == pytest.approx(value, abs=1e-4), part


@pytest.mark.parametrize("name", tiered(name for name in READABLE if name not in NO_WORDS))
def test_what_earlier_heads_wrote_is_the_product_of_heads_and_words(name: str) -> None:
    attention = attend(name)
    n_divided = 0
    for stack, layer in layers_of(attention):
        for head in range(2):
            found = link_factors(attention, layer, head, QUERY, KEY, RIVAL, stack=stack)
            log = found.logs.get("heads", 0.0)
            assert bool(found.written or found.not_written) == (abs(log) >= math.log(1.5))
            if found.written:
                n_divided += 1
                assert sum(part.log for part in found.written) == pytest.approx(log, abs=1e-9)
                frame = found.written_frame()
                assert frame["factor"].prod() == pytest.approx(found.factors["heads"])
                assert (frame["log"].abs().diff().dropna() <= 1e-12).all()
                earlier = {(part.head.stack, part.head.layer) for part in found.written}
                assert all(stack == "cross" or at < layer for _, at in earlier)
            elif found.not_written:
                # Between two outputs, a token may change its experts, so that the score jumps.
                assert name in EXPERTS and "changes its experts" in found.written_finding
    assert n_divided or name in NEAR_ONE


@pytest.mark.parametrize(("name", "head"), [("bert", (1, 1)), ("gpt2", (1, 2)), ("llama", (1, 3))])
def test_parts_of_heads_and_words_are_those_of_a_literal_pass(
    name: str, head: tuple[int, int]
) -> None:
    model = masked_bert(0.4) if name == "bert" else build(name)
    ids = inputs(name)["input_ids"]
    attention = load_model(model, tokenizer=None).attend({"input_ids": ids})
    links = [(query, key, rival) for query in (6, 8) for key in (1, 3, 4) for rival in (2, 5)]
    found = [link_factors(attention, head, *link) for link in links]
    largest = max(range(len(links)), key=lambda number: len(found[number].written))
    assert found[largest].written
    wanted = literal_written(model, ids[0], head, *links[largest]).numpy()
    parts = np.zeros_like(wanted)
    for part in found[largest].written:
        parts[part.head.layer, part.head.head, part.word] = part.log
    np.testing.assert_allclose(parts, wanted, atol=2e-3 * np.abs(wanted).max() + 1e-4)


def test_the_embedded_model_names_the_head_and_the_word() -> None:
    attention = load_model(device="cpu").attend(TEXT)
    found = link_factors(attention, "L2 H8", ("the", 2), "ship")
    first = found.written[0]
    assert (str(first.head), first.text) == ("L0 H2", "the")
    assert found.written_finding.startswith(
        "What earlier heads wrote there × 2.3: L0 H2 about “the” × 1.3, all other heads and words "
    )
    assert "L0 H2 about “the”" in " ".join(found.chart().to_dict()["title"]["subtitle"])
    small = link_factors(attention, "L1 H3", "he", "captain")
    assert small.written == () and small.written_finding == ""
    rain = load_model(device="cpu").attend(RAIN)
    scattered = link_factors(rain, "L2 H9", 9, ("rain", 1)).written_finding
    assert scattered.endswith("× 1.7: many heads about many words, none of them above × 1.1.")


def test_a_head_that_writes_nothing_has_no_part() -> None:
    model = build("llama")
    size = model.config.hidden_size // model.config.num_attention_heads
    with torch.no_grad():
        model.model.layers[0].self_attn.o_proj.weight[:, size : 2 * size] = 0
    attention = load_model(model, tokenizer=None).attend(inputs("llama"))
    found = [
        link_factors(attention, 1, head, QUERY, KEY, rival) for head in range(2) for rival in (1, 5)
    ]
    parts = [part for one in found for part in one.written]
    assert parts and {part.head.head for part in parts} >= {0, 2}
    assert sum(abs(part.log) for part in parts if part.head.head == 1) < 1e-9


def test_a_copy_of_the_same_word_has_a_word_factor_of_exactly_one() -> None:
    attention = load_model(device="cpu").attend(RAIN)
    found = link_factors(attention, "L2 H9", 9, ("rain", 1), against=("rain", 3))
    assert found.factors["word"] == 1.0 and found.logs["word"] == 0.0
    assert found.factors["place"] == pytest.approx(2.9, abs=0.05)
    assert found.factors["heads"] == pytest.approx(1.4, abs=0.05)


def test_parts_that_do_not_exist_have_no_factor() -> None:
    attention = load_model(device="cpu").attend(TEXT)
    assert list(link_factors(attention, "L0 H2", HE, CAPTAIN).logs) == ["word", "place"]
    assert list(link_factors(attention, "L1 H3", HE, CAPTAIN).logs) == ["word", "place", "heads"]
    without_rotation = attend("smollm3")
    assert list(link_factors(without_rotation, 1, 1, QUERY, KEY).logs) == ["word", "heads"]
    if "t5" in READABLE:
        cross = link_factors(attend("t5"), 1, 1, QUERY, KEY, stack="cross")
        assert list(cross.logs) == ["word", "heads"]


@pytest.mark.parametrize("name", [name for name in ("t5", "alibi") if name in READABLE])
def test_the_place_of_a_relative_bias_is_the_difference_of_biases(name: str) -> None:
    attention = attend(name)
    stack = "encoder" if name == "t5" else "self"
    bias = attention.scores(1, 2, stack=stack).bias[QUERY]
    found = link_factors(attention, 1, 2, QUERY, KEY, RIVAL, stack=stack)
    assert found.logs["place"] == pytest.approx(bias[KEY] - bias[RIVAL], abs=1e-6)


def test_the_finding_names_the_weight_the_ratio_and_the_reason() -> None:
    attention = load_model(device="cpu").attend(TEXT)
    assert link_factors(attention, "L2 H8", ("the", 2), "ship").finding == (
        "In L2 H8, “the” gives “ship” 82 %, 778 times the weight of a typical word, mostly because "
        "of its place."
    )
    assert link_factors(attention, "L2 H8", ("the", 2), "ship", ".").finding == (
        "In L2 H8, “the” gives “ship” 82 %, 20 times the weight of “.”, because of the word itself "
        "and what earlier heads wrote there."
    )
    far = link_factors(attention, "L0 H2", "would", "he").finding
    assert "100 %, more than 100,000 times" in far
    less = link_factors(attention, "L0 H2", "would", "captain", "he")
    assert "0.00043 times the weight of “he”" in less.finding
    assert less.ratio == pytest.approx(
        1 / link_factors(attention, "L0 H2", "would", "he", "captain").ratio
    )
    assert "in spite of the word itself" not in less.finding


def test_results_are_tables_and_charts() -> None:
    attention = load_model(device="cpu").attend(TEXT)
    found = link_factors(attention, "L1 H3", "he", "captain", ("the", 1))
    frame = found.to_frame().set_index("part")
    assert frame.loc["together", "factor"] == found.ratio
    assert frame["factor"].iloc[:-1].prod() == pytest.approx(found.ratio)
    chart = found.chart().to_dict()
    assert "equal" in str(chart) and "× 12" in str(chart)
    assert len(repr(found)) < 250


@pytest.mark.parametrize("name", [name for name in ("vit", "esm") if name in READABLE])
def test_models_whose_words_come_from_no_table_are_refused(name: str) -> None:
    attention = attend(name)
    with pytest.raises(ValueError, match=naming(attention.model_name, "score_sources()")):
        link_factors(attention, 1, 1, QUERY, KEY)


def test_links_without_factors_are_refused() -> None:
    attention = attend("llama")
    with pytest.raises(ValueError, match=naming("key 9", "query 6")):
        link_factors(attention, 0, 0, 6, 9)
    with pytest.raises(ValueError, match=naming("key 9", "query 6")):
        link_factors(attention, 0, 0, 6, 3, against=9)
    with pytest.raises(ValueError, match=naming("query 0", "against=0")):
        link_factors(attention, 0, 0, 0, 0)
    with pytest.raises(ValueError, match=naming("against=3", "None")):
        link_factors(attention, 0, 0, 6, 3, 3)
    given = Attention.from_weights(np.full((1, 1, 3, 3), 1 / 3), ["a", "b", "c"])
    with pytest.raises(ValueError, match=naming("weights", "L0", "scores have no parts")):
        link_factors(given, 0, 0, 1, 0)
    for name in sorted(HIDDEN - {"esm", "t5"})[:1]:
        with pytest.raises(ValueError, match=naming("scores have no parts")):
            link_factors(attend(name), 0, 0, QUERY, KEY)
    model = load_model(device="cpu")
    with model.disabled([(0, 3)]):
        edited = model.attend("The cat sat.")
    with pytest.raises(ValueError, match=naming("a factor", "load_model")):
        link_factors(edited, 2, 1, 2, 1)


def test_a_position_that_no_table_holds_is_refused() -> None:
    """The place of a token is hidden in a layer before the heads."""
    model = build("llama")

    def add_place(_: object, __: object, output: torch.Tensor) -> torch.Tensor:
        return output + 0.5 * torch.arange(output.shape[1])[:, None]

    for layer in model.model.layers:
        layer.mlp.register_forward_hook(add_place)
    attention = load_model(model, tokenizer=None).attend(inputs("llama"))
    with pytest.raises(ValueError, match=naming("more than words", "score_sources()")):
        link_factors(attention, 2, 1, QUERY, KEY)


def test_factors_with_padding_are_those_without() -> None:
    model = load_model(build("llama"), tokenizer=None)
    ids = inputs("llama")["input_ids"]
    padded = torch.cat([ids, torch.zeros(1, 3, dtype=torch.long)], 1)
    mask = (torch.arange(17) < 14).long()[None]
    alone = link_factors(model.attend({"input_ids": ids}), 2, 1, QUERY, KEY)
    whole = link_factors(
        model.attend({"input_ids": padded, "attention_mask": mask}), 2, 1, QUERY, KEY
    )
    assert whole.logs == pytest.approx(alone.logs, abs=1e-5)
