"""Coverage and replacement of heads by rules: planted heads, and losses against plain hooks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM

from attnwidget import AttentionModel, Head, Sentence, load_model
from attnwidget.behaviors import LinkBehavior, measure_rules
from attnwidget.behaviors.effects.rule_effects import LossChange, work_of
from attnwidget.behaviors.link_rule import LinkRule
from attnwidget.demo import demo_treebank
from attnwidget.interventions.examples import encode_examples
from fixtures.planted_circuit import (
    INDUCTION,
    PREVIOUS,
    planted_llama,
    planted_tokenizer,
    repeated_texts,
)
from fixtures.vocabularies import byte_level
from refusals import naming

TEXTS = [
    "The captain told his men that he would not leave the ship.",
    "The nurse who met the lawyers said that she was tired.",
    "A dog and a cat sat on the mat, and the dog slept.",
    "He wrote the letter in the garden.",
]


class EvenRows(LinkRule):
    """Links from every second token to the two tokens before, so that some rows have no link."""

    name = "even rows"

    def links(self, batch: Any) -> Tensor:
        positions = torch.arange(batch.real.shape[1])
        back = positions[:, None] - positions
        rows = (positions % 2 == 0)[:, None]
        return ((back == 1) | (back == 2)).logical_and(rows).expand(len(batch.real), -1, -1)


def even_rows(n: int) -> np.ndarray:
    links = np.zeros((n, n))
    for query in range(2, n, 2):
        links[query, query - 2 : query] = 0.5
    return links


@contextmanager
def head_replaced(
    projection: torch.nn.Module, head: int, size: int, output: Tensor
) -> Iterator[None]:
    """Replace the outputs of one head before the output projection by `output` [n, size]."""

    def replaced(_: Any, arguments: tuple[Tensor]) -> tuple[Tensor]:
        states = arguments[0].clone()
        states[0, :, head * size : (head + 1) * size] = output
        return (states,)

    handle = projection.register_forward_pre_hook(replaced)
    try:
        yield
    finally:
        handle.remove()


def read_once(model: Any, modules: Sequence[torch.nn.Module], ids: Tensor) -> list[Tensor]:
    """Return the first input of the first module, and the output of the second, of one pass."""
    found: dict[str, Tensor] = {}
    handles = [
        modules[0].register_forward_pre_hook(lambda _, a: found.update(inputs=a[0].detach())),
        modules[1].register_forward_hook(lambda _, __, o: found.update(values=o.detach())),
    ]
    model(input_ids=ids)
    for handle in handles:
        handle.remove()
    return [found["inputs"][0], found["values"][0]]


def llama() -> AttentionModel:
    tokenizer = byte_level(prefix=True)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
    )
    model = LlamaForCausalLM(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, 0.4)
    return load_model(model.double(), tokenizer)


def double_bert() -> AttentionModel:
    model = load_model(device="cpu")
    return load_model(model.hf_model.double(), model.tokenizer)


@pytest.mark.parametrize("name", ["random Llama", "embedded model"])
def test_losses_equal_those_of_plain_hooks(name: str) -> None:
    if name == "random Llama":
        model = llama()
        layer, head, size, group = 1, 3, 8, 2
        attention = model.hf_model.model.layers[layer].self_attn
        modules = attention.o_proj, attention.v_proj
    else:
        model = double_bert()
        layer, head, group = 2, 8, 1
        attention = model.hf_model.bert.encoder.layer[layer].attention
        modules = attention.output.dense, attention.self.value
        size = model.hf_model.config.hidden_size // 12
    found = measure_rules(model, TEXTS, {(layer, head): EvenRows()}, progress=False)
    examples = encode_examples(model, TEXTS)
    hf_model = model.hf_model
    with torch.no_grad():
        outputs = []
        for text in TEXTS:
            ids = torch.tensor([model.inputs.encoder(text).ids])
            states, _ = read_once(hf_model, modules, ids)
            outputs.append(states[:, head * size : (head + 1) * size])
        mean = torch.cat(outputs).mean(0)
        changes: dict[bool, list[list[float]]] = {True: [], False: []}
        for example in examples:
            ids = torch.tensor([example.encoded.ids])
            places, targets = torch.tensor(example.places), torch.tensor(example.targets)

            def loss(ids: Tensor = ids, places: Any = places, targets: Any = targets) -> Tensor:
                log_p = hf_model(input_ids=ids).logits[0, places].log_softmax(-1)
                return -log_p[torch.arange(len(places)), targets]

            links = torch.from_numpy(even_rows(ids.shape[1]))
            _, values = read_once(hf_model, modules, ids)
            key_head = head // group
            ruled = links @ values[:, key_head * size : (key_head + 1) * size]
            ruled[links.sum(-1) == 0] = mean
            intact = loss()
            with head_replaced(modules[0], head, size, mean.expand(ids.shape[1], -1)):
                off = loss() - intact
            with head_replaced(modules[0], head, size, ruled):
                rule = loss() - intact
            for group_of, numbers in changes.items():
                chosen = (links.sum(-1) > 0)[places] == group_of
                if chosen.any():
                    numbers.append([float(off[chosen].mean()), float(rule[chosen].mean())])
    for effect, at_rule in zip(found[layer, head].effects, (True, False), strict=True):
        off_mean, rule_mean = np.mean(changes[at_rule], 0)
        assert effect.off.mean == pytest.approx(off_mean, abs=1e-5)
        assert effect.rule.mean == pytest.approx(rule_mean, abs=1e-5)
        assert effect.n_texts == len(changes[at_rule])
    assert abs(found[layer, head].effects[0].rule.mean) > 1e-4


def test_coverage_equals_loops_over_the_weights() -> None:
    model = load_model(device="cpu")
    found = measure_rules(model, TEXTS, {"L0 H2": EvenRows()}, progress=False)
    on_links = total = at_rule = 0.0
    n_with = n_queries = 0
    for text in TEXTS:
        attention = model.attend(text)
        weights = attention.weights("L0 H2").astype(np.float64)
        n = len(weights)
        links = even_rows(n) > 0
        for query in range(1, n - 1):
            n_queries += 1
            # [CLS] counts for the query whose links name it.
            counted = [k for k in range(n) if k not in (0, n - 1) or links[query, k]]
            total += weights[query, counted].sum()
            on_links += weights[query, links[query]].sum()
            if links[query].any():
                n_with += 1
                at_rule += weights[query, counted].sum()
    coverage = found["L0 H2"].coverage
    assert coverage.coverage == pytest.approx(on_links / total, abs=1e-6)
    assert coverage.where_applied == pytest.approx(on_links / at_rule, abs=1e-6)
    assert coverage.applied == pytest.approx(n_with / n_queries)
    assert coverage.n_queries == n_queries


def test_rules_of_planted_heads_do_all_their_work() -> None:
    model = load_model(planted_llama(), planted_tokenizer(), device="cpu")
    other = (0, 2)
    found = measure_rules(
        model,
        repeated_texts(12),
        {PREVIOUS: "previous token", INDUCTION: "induction", other: "previous token"},
        progress=False,
    )
    for head in (PREVIOUS, INDUCTION):
        rule = found[head]
        assert rule.coverage.where_applied > 0.9
        effect = max(rule.effects, key=lambda effect: effect.off.mean)
        assert effect.work == "all its work"
        assert effect.recovered > 0.9
        assert effect.wrong.mean > effect.rule.mean + 0.5
    assert found[other].coverage.coverage < 0.4
    assert found[other].effects[0].work == "not shown"
    assert found.finding.startswith("The rule does all the work of L0 H1 (previous token")
    assert "not shown: L0 H2 (previous token" in found.finding


def test_a_wrong_name_recovers_nothing() -> None:
    model = load_model(planted_llama(), planted_tokenizer(), device="cpu")
    found = measure_rules(model, repeated_texts(12), {INDUCTION: "duplicate token"}, progress=False)
    works = {effect.work for effect in found[INDUCTION].effects if effect.off.low > 0}
    assert works == {"recovers nothing"}
    assert "recovers nothing" in repr(found)
    assert "t recovers nothing for L1 H2 (duplicate token" in found.finding


def test_relations_and_own_rules_have_a_table_and_a_chart() -> None:
    class ToFirstHalf(LinkBehavior):
        name = "first half"
        description = "attends to the first half of the text"
        source = "this test"

        def links(self, batch: Any) -> Tensor:
            positions = torch.arange(batch.real.shape[1])
            return (positions < batch.lengths[:, None] / 2)[:, None].expand(-1, len(positions), -1)

    found = measure_rules(
        load_model(device="cpu"),
        demo_treebank()[:24],
        {"L2 H8": "determiner to its noun", "L5 H7": ToFirstHalf()},
        progress=False,
    )
    frame = found.to_frame()
    assert frame.rule.tolist()[::2] == ["determiner to its noun", "first half"]
    assert frame.group.tolist()[:2] == ["the word itself", "the other words"]
    assert 0 < frame.applied[0] < 0.3 < frame.applied[2]
    rows = [row for rows in found.chart().to_dict()["datasets"].values() for row in rows]
    assert {row.get("replacement") for row in rows} >= {"head off", "its rule", "wrong rule"}


def test_a_head_is_named_in_every_form() -> None:
    model = load_model(device="cpu")
    expected = None
    for form in ("L0 H2", (0, 2), Head(0, 2)):
        found = measure_rules(model, TEXTS, {form: "previous token"}, progress=False)
        assert found[form] is found["L0 H2"]
        table = found.to_frame().to_csv()
        assert table == (expected or table)
        expected = table
    with pytest.raises(KeyError, match=naming("L1 H3", "L0 H2")):
        found["L1 H3"]


def test_conclusions_follow_from_the_intervals() -> None:
    off = LossChange(0.3, 0.2, 0.4)
    saved = LossChange(0.1, 0.02, 0.2)
    assert work_of(LossChange(0.3, -0.1, 0.7), off, saved) == "not shown"
    assert work_of(LossChange(0.0, -0.1, 0.01), off, saved) == "head not needed"
    assert work_of(off, off, LossChange(0.0, -0.1, 0.1)) == "recovers nothing"
    assert work_of(off, off, LossChange(0.1, -0.1, 0.3)) == "not shown"
    assert work_of(off, LossChange(0.2, 0.1, 0.3), saved) == "part of its work"
    assert work_of(off, LossChange(0.03, 0.0, 0.1), saved) == "all its work"


def test_what_is_no_rule_or_no_text_is_refused() -> None:
    model = load_model(device="cpu")
    with pytest.raises(ValueError, match=naming("'previous'", "'previous token'")):
        measure_rules(model, TEXTS, {"L0 H2": "previous"}, progress=False)
    with pytest.raises(ValueError, match=naming("'determiner to its noun'", "treebank")):
        measure_rules(model, TEXTS, {"L0 H2": "determiner to its noun"}, progress=False)
    with pytest.raises(ValueError, match=naming("no rules", "previous token")):
        measure_rules(model, TEXTS, {}, progress=False)
    mixed: list[Any] = [TEXTS[0], Sentence(("Cats", "purr"), (2, 0), ("nsubj", "root"))]
    with pytest.raises(TypeError, match=naming("Sentence, str", "all of one kind")):
        measure_rules(model, mixed, {"L0 H2": "previous token"}, progress=False)
