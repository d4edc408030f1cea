"""Heads switched off: every method against plain hooks, and models that are as before."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import Tensor

from attnwidget import (
    Attention,
    DependencyArcs,
    Head,
    HeadView,
    Sentence,
    load_model,
    make_segments,
    measure,
)
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.projection import Projections
from attnwidget.metrics import attention_rollout
from fixtures import zoo
from references.hooked_heads import N_HEADS, hooked, layers, outputs_of
from refusals import naming

SMALL = 1e-5
STACKS = [
    *((name, "self") for name in ("bert", "gpt2", "llama", "gpt-neox", "modernbert")),
    *((name, "self") for name in ("mpnet", "deberta-v2")),
    *((name, stack) for name in ("t5", "bart") for stack in ("encoder", "decoder", "cross")),
]
LAYER = 1
HEAD = 2
SENTENCE = "The cat sat on the mat."


def wrapped(name: str) -> AttentionModel:
    return AttentionModel(zoo.build(name), None, name)


def other_inputs(name: str) -> dict[str, Tensor]:
    """One input of another text, as long as those of `zoo.inputs` with a batch of one."""
    random = torch.Generator().manual_seed(5)
    given = zoo.inputs(name, batch=1, padded=0)
    return {
        key: torch.randint(5, zoo.VOCABULARY, value.shape, generator=random)
        if key.endswith("input_ids")
        else value
        for key, value in given.items()
    }


def by_hand(method: str, maps: Tensor, values: Tensor, reference: Tensor) -> Tensor:
    """The head's output [B, Q, Dv] of its weights [B, Q, K] and values [B, K, Dv]."""
    seen = (maps > 0).float()
    if method == "uniform":
        return (seen @ values) / seen.sum(-1, keepdim=True)
    if method == "zero":
        return torch.zeros_like(maps @ values)
    if method == "first":
        first = seen.argmax(-1)  # [B, Q]
        return torch.stack([value[index] for value, index in zip(values, first, strict=True)])
    if method == "mean":
        return reference.mean(0).expand(*maps.shape[:2], -1)
    assert method == "patch"
    return reference[None]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["uniform", "zero", "first", "mean", "patch"])
@pytest.mark.parametrize(("name", "stack"), STACKS)
def test_every_method_is_what_plain_hooks_make(name: str, stack: str, method: str) -> None:
    single = method == "patch"
    given = zoo.inputs(name, batch=1, padded=0) if single else zoo.inputs(name)
    model = wrapped(name)
    plain = zoo.build(name)
    layer = layers(name, plain, stack)[LAYER]
    maps = zoo.eager_maps(name, given)[stack][LAYER][:, HEAD]
    reference = outputs_of(layer, plain, other_inputs(name))[0, HEAD]

    def replace(outputs: Tensor, values: Tensor) -> Tensor:
        own = values[:, HEAD // (N_HEADS // values.shape[1])]
        changed = outputs.clone()
        changed[:, HEAD] = by_hand(method, maps, own, reference)
        return changed

    with torch.no_grad(), hooked(layer, replace):
        expected = plain(**given)[0]
    options: dict[str, Any] = {"method": method}
    if method in ("mean", "patch"):
        options["reference"] = other_inputs(name)
    with torch.no_grad():
        intact = model.hf_model(**given)[0]
        with model.disabled((LAYER, HEAD, stack), **options):
            edited = model.hf_model(**given)[0]
        after = model.hf_model(**given)[0]
    real = given["attention_mask"].bool() if edited.shape[1] == 14 else slice(None)
    torch.testing.assert_close(edited[real], expected[real], atol=SMALL, rtol=SMALL)
    assert not torch.allclose(edited[real], intact[real], atol=1e-4)
    assert torch.equal(after, intact)


@pytest.mark.parametrize("name", ["bert", "llama", "deberta-v2"])
def test_the_maps_are_those_of_the_edited_pass(name: str) -> None:
    model = wrapped(name)
    given = other_inputs(name)
    intact = model.attend(given)
    with model.disabled([(0, 1)], method="uniform"):
        edited = model.attend(given)
    seen = intact.weights(0, 1) > 0
    np.testing.assert_allclose(edited.weights(0, 1), seen / seen.sum(-1, keepdims=True), atol=1e-6)
    np.testing.assert_array_equal(edited.weights(0, 0), intact.weights(0, 0))
    assert np.abs(edited.weights(1) - intact.weights(1)).max() > 1e-4


def test_uniform_everywhere_is_mean_pooling_of_values() -> None:
    model = wrapped("bert")
    encoder = model.hf_model.bert.encoder
    encoder.layer = encoder.layer[:1]
    model.hf_model.config.num_hidden_layers = 1
    model = AttentionModel(model.hf_model, None, "one layer")
    bert = model.hf_model.bert
    given = other_inputs("bert")
    attention = encoder.layer[0].attention
    with torch.no_grad():
        embedded = bert.embeddings(given["input_ids"])
        pooled = attention.self.value(embedded).mean(1, keepdim=True)
        mixed = attention.output(pooled.expand_as(embedded), embedded)
        block = encoder.layer[0]
        expected = block.output(block.intermediate(mixed), mixed)
        with model.disabled(layers=[0]):
            got = bert(**given)[0]
    torch.testing.assert_close(got, expected, atol=SMALL, rtol=SMALL)


def test_contributions_of_heads_and_the_bias_make_the_block() -> None:
    """Zeroing one head takes z W_O of that head away, and nothing else."""
    model = wrapped("bert")
    given = other_inputs("bert")
    layer = layers("bert", model.hf_model, "self")[LAYER]
    outputs = outputs_of(layer, model.hf_model, given)[0]  # [H, Q, Dv]
    shares = Projections(model.hf_model).of_heads(
        model.hf_model.bert.encoder.layer[LAYER].attention.self, N_HEADS
    )
    assert shares is not None
    blocks: list[Tensor] = []
    hook = layer.projection.register_forward_hook(lambda _, __, output: blocks.append(output[0]))
    with torch.no_grad():
        model.hf_model(**given)
        for head in range(N_HEADS):
            with model.disabled((LAYER, head), method="zero"):
                model.hf_model(**given)
        with model.disabled(layers=[LAYER], method="zero"):
            model.hf_model(**given)
    hook.remove()
    whole, *without, none = blocks
    bias = layer.projection.bias
    torch.testing.assert_close(none, bias.expand_as(none), atol=SMALL, rtol=0)
    for head, left in enumerate(without):
        torch.testing.assert_close(whole - left, outputs[head] @ shares[head], atol=SMALL, rtol=0)
    summed = (outputs @ shares).sum(0) + bias
    torch.testing.assert_close(summed, whole, atol=SMALL, rtol=0)


def test_a_key_value_group_takes_all_of_its_query_heads() -> None:
    model = wrapped("llama")
    given = other_inputs("llama")
    with torch.no_grad():
        with model.disabled((1, 3), kv_group=True, method="zero"):
            group = model.hf_model(**given)[0]
            assert model.name == "llama, without L1 H2, L1 H3 (zero)"
        with model.disabled([(1, 2), (1, 3)], method="zero"):
            both = model.hf_model(**given)[0]
        with model.disabled((1, 3), method="zero"):
            one = model.hf_model(**given)[0]
    assert torch.equal(group, both)
    assert not torch.allclose(group, one, atol=1e-4)


@pytest.mark.parametrize("name", ["bert", "mpnet", "t5"])
def test_nothing_is_left_after_an_exception(name: str) -> None:
    model = wrapped(name)
    given = zoo.inputs(name)
    with torch.no_grad():
        before = model.hf_model(**given)[0]
        with pytest.raises(KeyboardInterrupt), model.disabled(layers=[0], stack=_stack(name)):
            _interrupted(model, given)
        assert torch.equal(model.hf_model(**given)[0], before)
    assert model.name == name and not model.edits
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.hf_model.modules())


def _interrupted(model: AttentionModel, given: dict[str, Tensor]) -> None:
    model.hf_model(**given)
    raise KeyboardInterrupt


def _stack(name: str) -> str | None:
    return "cross" if name == "t5" else None


@pytest.mark.parametrize("name", ["gpt2", "mpnet"])
def test_other_threads_compute_the_same_numbers(name: str) -> None:
    model = wrapped(name)
    given = zoo.inputs(name)
    found: list[Tensor] = []
    names: list[str] = []

    def run() -> None:
        with torch.no_grad():
            found.append(model.hf_model(**given)[0])
        names.append(model.name)

    with torch.no_grad():
        before = model.hf_model(**given)[0]
        with model.disabled(layers=[0, 1]):
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()
            here = model.hf_model(**given)[0]
    assert torch.equal(found[0], before) and names == [name]
    assert not torch.allclose(here, before, atol=1e-4)


@pytest.mark.parametrize("name", ["bert", "deberta-v2"])
def test_nested_blocks_combine_and_the_inner_one_holds(name: str) -> None:
    model = wrapped(name)
    given = zoo.inputs(name, padded=0)

    def run(*blocks: Callable[[], Any]) -> Tensor:
        if not blocks:
            with torch.no_grad():
                return model.hf_model(**given)[0]
        with blocks[0]():
            return run(*blocks[1:])

    both = run(lambda: model.disabled((0, 1), method="zero"), lambda: model.disabled((1, 2)))
    other_way = run(lambda: model.disabled((1, 2)), lambda: model.disabled((0, 1), method="zero"))
    assert torch.equal(both, other_way)
    inner = run(lambda: model.disabled((0, 1)), lambda: model.disabled((0, 1), method="zero"))
    assert torch.equal(inner, run(lambda: model.disabled((0, 1), method="zero")))


def test_a_reference_is_read_by_the_intact_model() -> None:
    model = wrapped("bert")
    given = zoo.inputs("bert", batch=1, padded=0)
    mean: dict[str, Any] = {"method": "mean", "reference": other_inputs("bert")}
    with torch.no_grad(), model.disabled((2, 0), **mean), model.disabled(layers=[0]):
        expected = model.hf_model(**given)[0]
    with torch.no_grad(), model.disabled(layers=[0]), model.disabled((2, 0), **mean):
        assert torch.equal(model.hf_model(**given)[0], expected)


def test_references_may_be_texts_segments_and_attentions() -> None:
    model = load_model(device="cpu")
    text = "A dog ran."
    segments = make_segments([text], model)
    means = []
    for reference in (text, [text], model.attend(text), segments):
        with model.disabled((2, 3), method="mean", reference=reference):
            means.append(model.attend(SENTENCE).weights(5))
            assert model.name.endswith("without L2 H3 (mean over 6 tokens)")
    assert all(np.array_equal(one, means[0]) for one in means)
    pair = model.attend("The cat sat.", "It slept.")
    with model.disabled(layers=[1], method="patch", reference=pair):
        same = model.attend("The cat sat.", "It slept.")
    np.testing.assert_allclose(same.weights(5), pair.weights(5), atol=1e-6)


def test_patching_with_outputs_of_the_same_input_changes_nothing() -> None:
    for name in ("bert", "mpnet", "gpt2"):
        model = wrapped(name)
        given = other_inputs(name)
        with torch.no_grad():
            before = model.hf_model(**given)[0]
            with model.disabled(layers=[0, 2], method="patch", reference=given):
                during = model.hf_model(**given)[0]
        torch.testing.assert_close(during, before, atol=1e-6, rtol=0)


def test_what_is_made_in_a_block_says_so(tmp_path: Path) -> None:
    model = load_model(device="cpu")
    with model.disabled([(5, 8), (2, 3)]):
        attention = model.attend(SENTENCE)
        measured = measure(model, make_segments([SENTENCE], model), ["position"], progress=False)
    said = "small BERT (in the package), without L5 H8, L2 H3 (uniform)"
    assert attention.model_name == said and said in repr(attention)
    assert attention.note.startswith("edited") and attention.edits
    assert attention.made_by is None
    assert measured.model_name == said and measured["position"].model_name == said
    assert attention.to_frame().attrs["model"] == measured.to_frame().attrs["model"] == said
    view = HeadView(attention, selected=[(5, 8)])
    assert view.caption.model == said
    for name in ("view.svg", "view.html"):
        view.save(tmp_path / name)
        assert "without L5 H8, L2 H3" in (tmp_path / name).read_text(encoding="utf-8")
    assert said in " ".join(attention_rollout(attention).chart().to_dict()["title"]["subtitle"])
    with model.disabled(layers=[3], method="zero"), model.scaled_links([(1, 2)], 0, (0, 0)):
        assert model.name.endswith("without layer 3 (zero), 1→2 cut in L0 H0")
    assert model.name == "small BERT (in the package)"


def test_norms_stay_where_values_and_weights_make_the_output() -> None:
    model = load_model(device="cpu")
    with model.disabled((5, 8), method="mean", reference="A dog ran."):
        without = model.attend(SENTENCE)
    with pytest.raises(ValueError, match=naming("norms", "mean", "patch")):
        without.norms(5, 8)
    with model.disabled((5, 8), method="zero"):
        assert not model.attend(SENTENCE).norms(5, 8).any()
    assert model.attend(SENTENCE).norms(5, 8).any()


def test_a_gradient_passes_an_edited_layer() -> None:
    model = load_model(device="cpu")
    with model.disabled((2, 3), method="zero"):
        edited = model.attend(SENTENCE, loss="auto")
        assert edited.gradients(2, 0).any() and edited.gradients(2, 3).any()
    with model.disabled((2, 3), method="mean", reference="A dog ran."):
        replaced = model.attend(SENTENCE, loss="auto")
    assert replaced.gradients(2, 0).any() and not replaced.gradients(2, 3).any()


def test_an_edited_measure_does_not_resume_an_intact_one(tmp_path: Any) -> None:
    model = load_model(device="cpu")
    file = tmp_path / "sums.npz"
    segments = make_segments([SENTENCE, "It slept."], model)
    intact = measure(model, segments, ["entropy"], resume=file, progress=False)
    with (
        model.disabled((5, 8)),
        pytest.raises(ValueError, match=naming("sums.npz", "edits", "another")),
    ):
        measure(model, segments, ["entropy"], resume=file, progress=False)
    again = measure(model, segments, ["entropy"], resume=file, progress=False)
    for name, values in intact.heads().items():
        np.testing.assert_array_equal(again.heads()[name], values)


def test_arcs_read_anew_what_was_read_with_a_head_off() -> None:
    model = load_model(device="cpu")
    cats = Sentence.from_lists(["Cats", "eat", "fish"], [2, 0, 2], ["nsubj", "root", "obj"])
    with model.disabled((2, 4)):
        arcs = DependencyArcs(model, [cats, cats], selected=[(2, 4)])
        edited = arcs.predictions.maps[..., 2, 4, :, :]
        assert "without L2 H4" in arcs.caption.model
    arcs.sentence = 1
    assert "without" not in arcs.caption.model
    arcs.sentence = 0
    assert not np.allclose(arcs.predictions.maps[..., 2, 4, :, :], edited)


def test_encoders_are_measured_edited() -> None:
    model = load_model(zoo.build("bart"), _small_tokenizer())
    given = make_segments(["a b c d", "b c"], model)
    intact = measure(model, given, ["entropy"], progress=False)
    with model.disabled((0, 1), stack="encoder", method="uniform"):
        edited = measure(model, given, ["entropy"], progress=False)
    changed = edited["entropy"].heads()["entropy"] - intact["entropy"].heads()["entropy"]
    assert changed[0, 1] > 1e-4 and changed[0, 0] == 0 and np.abs(changed[1]).max() > 1e-6


def _small_tokenizer() -> Any:
    words = {word: index for index, word in enumerate("abcdefghij")}
    tokenizer = Tokenizer(models.WordLevel({**words, "?": 10}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="?")


def test_attention_is_unchanged_where_only_another_stack_is_edited() -> None:
    model = wrapped("t5")
    given = other_inputs("t5")
    intact = model.attend(given)
    with model.disabled((1, 1, "cross"), method="uniform"):
        edited = model.attend(given)
    np.testing.assert_array_equal(edited.weights(stack="encoder"), intact.weights(stack="encoder"))
    flat = edited.weights(1, 1, stack="cross")
    np.testing.assert_allclose(flat, 1 / flat.shape[-1], atol=1e-6)


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"heads": (9, 0)}, ("layer 9", "'self'")),
        ({"heads": [(0, 12)]}, ("head 12", "'self'")),
        ({"heads": [(0, 1, "cross")]}, ("'cross'", "'self'")),
        ({"heads": [(0, 1)], "stack": "encoder"}, ("'encoder'", "'self'")),
        ({}, ("heads", "layers=", "got none")),
        ({"heads": [(0, 1), Head(0, 1)]}, ("L0 H1", "named")),
        ({"heads": [(0, 1)], "method": "nought"}, ("method", "'nought'")),
        ({"heads": [(0, 1)], "method": "mean"}, ("method=", "needs reference=")),
        ({"heads": [(0, 1)], "method": "patch"}, ("method=", "needs reference=")),
        (
            {"heads": [(0, 1)], "method": "uniform", "reference": SENTENCE},
            ("reference=", "'uniform'", "'mean'"),
        ),
        (
            {"heads": [(0, 1)], "method": "patch", "reference": ["a b", "b"]},
            ("reference", "'patch'", "got 2"),
        ),
        ({"heads": [(0, 1)], "method": "mean", "reference": []}, ("reference", "'mean'", "got 0")),
    ],
)
def test_wrong_edits_are_refused_before_the_block(
    options: dict[str, Any], parts: tuple[str, ...]
) -> None:
    model = load_model(device="cpu")
    with pytest.raises(ValueError, match=naming(*parts)), model.disabled(**options):
        pytest.fail("the block began")


def test_edits_that_do_not_fit_an_input_are_refused() -> None:
    model = load_model(device="cpu")
    patch = model.disabled((0, 1), method="patch", reference="Short.")
    with patch, pytest.raises(ValueError, match=naming("4 tokens", "1 input", "9")):
        model.attend(SENTENCE)
    foreign = Attention.from_weights(np.full((1, 1, 2, 2), 0.5), ["a", "b"])
    with (
        pytest.raises(ValueError, match=naming("attention of weights", "model.attend(text)")),
        model.disabled((0, 1), method="mean", reference=foreign),
    ):
        pytest.fail("the block began")
    with (
        pytest.raises(TypeError, match=naming("reference", "got 3")),
        model.disabled((0, 1), method="mean", reference=3),
    ):
        pytest.fail("the block began")


def test_what_a_route_cannot_do_is_refused() -> None:
    config = transformers.LongformerConfig(
        **zoo.ZOO["bert"].fields, attention_window=4, pad_token_id=0
    )
    windowed = AttentionModel(transformers.LongformerModel(config), None, "windows")
    ids = torch.arange(5, 17)[None]
    with (
        windowed.disabled((0, 1)),
        pytest.raises(ValueError, match=naming("LongformerSelfAttention", "switched off")),
    ):
        windowed.hf_model(ids)
    net = transformers.XLNetConfig(vocab_size=99, d_model=32, n_head=4, n_layer=2, d_inner=37)
    einsums = AttentionModel(transformers.XLNetModel(net), None, "einsums")
    with torch.no_grad(), einsums.disabled((0, 1), method="zero"):
        einsums.hf_model(ids)
    with (
        pytest.raises(
            ValueError,
            match=naming("XLNetRelativeAttention", "'mean'", "'uniform', 'zero', 'first'"),
        ),
        einsums.disabled((0, 1), method="mean", reference={"input_ids": ids}),
    ):
        pytest.fail("the block began")


def test_a_closed_model_is_refused() -> None:
    model = load_model(device="cpu")
    model.close()
    with pytest.raises(RuntimeError, match=naming("load_model", "closed")), model.disabled((0, 1)):
        pytest.fail("the block began")


def test_a_list_of_words_or_ids_is_one_reference() -> None:
    model = load_model("attnwidget/induction", device="cpu")
    words = ["The", "captain", "told", "his", "men"]
    ids = model.attend(words).stacks["self"].query.ids

    def edited(reference: object) -> np.ndarray[Any, Any]:
        with model.disabled([(0, 1)], method="mean", reference=reference):
            return model.predict("The cat sat").log_probabilities

    expected = edited(" ".join(words))
    for reference in (words, list(ids), np.array(ids), torch.tensor([ids]), [words], [list(ids)]):
        np.testing.assert_array_equal(edited(reference), expected)
    assert np.abs(edited(["The captain", "told his men"]) - expected).max() > 1e-4
    with pytest.raises(TypeError, match=naming("reference", "got 7")):
        edited([7, "The cat"])
