"""Ablation: the study against a literal loop, its statistics, and what it refuses."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from scipy.stats import binomtest, false_discovery_control

from attnwidget import MinimalPair, PredictionView, Segment, ablate, load_model
from attnwidget.capture.disabled import changed, intact_edits
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.edits import Change
from attnwidget.capture.tapping.head import Head
from attnwidget.capture.tapping.replay import Replay, replaying
from attnwidget.interventions import measure_minimal_pairs
from attnwidget.interventions.ablation_results import Ablation
from attnwidget.mechanisms import direct_effects, logit_lens
from capture.test_predict import words
from fixtures import zoo
from fixtures.recording import from_page
from fixtures.vocabularies import byte_level
from refusals import naming

PAIRS = [
    MinimalPair("The girl washed herself.", "The girl washed himself."),
    MinimalPair("Paula references Robert.", "Paula reference Robert."),
    MinimalPair("The boys are here.", "The boys is here."),
]
MASKED = [("The woman washed [MASK] hands.", "her"), ("He said that [MASK] was late.", "he")]
GENRES = [
    ("Dear all, please find the minutes attached.", "email"),
    ("The food was great, but the service was slow.", "reviews"),
    ("Best place in town, I love it.", 3),
    ("He was killed in Baghdad on Tuesday.", "newsgroup"),
]
HEADS = [(0, 3), (2, 8), (5, 8)]


def run(model: AttentionModel, examples: Any, **options: Any) -> Ablation:
    return ablate(model, examples, progress=False, **options)


def test_minimal_pairs_are_those_of_a_loop() -> None:
    model = load_model(device="cpu")
    found = run(model, PAIRS, scoring="minimal pair", method="zero", heads=HEADS)
    assert found.note == "" and found.judged and found.complete
    np.testing.assert_array_equal(
        found.intact, measure_minimal_pairs(model, PAIRS, progress=False).right
    )
    for layer, head in HEADS:
        with model.disabled((layer, head), method="zero"):
            right = measure_minimal_pairs(model, PAIRS, progress=False).right
        np.testing.assert_array_equal(found.head_scores[layer, head], right)
        broken = (found.intact.astype(bool) & ~right).sum()
        assert found.of_heads.broken[layer, head] == broken
    assert np.isnan(found.head_scores[1]).all() and np.isnan(found.layer_scores).all()
    assert found.to_frame()["layer"].tolist() == [0, 2, 5]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["uniform", "first", "mean"])
def test_loss_and_divergence_are_those_of_a_loop(method: Any) -> None:
    model = load_model(device="cpu")
    options: dict[str, Any] = {"method": method}
    if method == "mean":
        options["reference"] = ["A dog ran.", "It was late."]
    heads = [*HEADS, (2, 1)]
    loss = run(model, MASKED, scoring="loss", heads=heads, **options)
    divergence = run(model, MASKED, scoring="kl", heads=heads, **options)
    before = [model.predict(text) for text, _ in MASKED]
    for layer, head in heads:
        with model.disabled((layer, head), **options):
            after = [model.predict(text) for text, _ in MASKED]
        for i, (_, answer) in enumerate(MASKED):
            wanted = -np.log(after[i].probability(answer))
            assert loss.head_scores[layer, head, i] == pytest.approx(wanted, abs=1e-4)
            p, q = (one[i].log_probabilities[0].astype(float) for one in (before, after))
            wanted = (np.exp(p) * (p - q)).sum()
            assert divergence.head_scores[layer, head, i] == pytest.approx(wanted, abs=1e-4)
    assert not divergence.intact.any() and np.isnan(divergence.of_heads.p).all()
    assert not loss.judged and np.isnan(loss.of_heads.broken).all()


@pytest.mark.slow
def test_all_heads_and_layers_of_a_classifier() -> None:
    model = load_model("attnwidget/genre", device="cpu")
    found = run(model, GENRES, scoring="accuracy")
    labels = ["email", "reviews", "reviews", "newsgroup"]
    intact = [model.predict(text).to_frame()["answer"][0] for text, _ in GENRES]
    np.testing.assert_array_equal(found.intact, np.array(intact) == labels)
    for layer in range(model.n_layers):
        with model.disabled(layers=[layer]):
            off = [model.predict(text).to_frame()["answer"][0] for text, _ in GENRES]
        np.testing.assert_array_equal(found.layer_scores[layer], np.array(off) == labels)
    assert not np.isnan(found.head_scores).any()
    frame = found.to_frame()
    assert len(frame) == 78 and frame["head"].isna().sum() == 6
    assert frame.attrs["n"] == 4 and frame.attrs["model"] == model.name
    layers = run(model, GENRES, scoring="accuracy", heads="layers")
    np.testing.assert_array_equal(layers.layer_scores, found.layer_scores)
    assert layers.heads() == {} and len(layers.to_frame()) == 6 and "a layer" in repr(layers)
    assert found.chart().to_dict() and layers.chart().to_dict()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt2", "llama", "gemma2", "bert", "bloom", "albert"])
def test_a_function_sees_what_a_loop_sees(name: str) -> None:
    tokenizer = words()
    model = load_model(zoo.build(name), tokenizer)
    examples = [Segment(("w7", "w8", "w9")), Segment(("w11", "w3")), Segment(("w2", "w8", "w1"))]

    def last(output: Any, batch: Any) -> torch.Tensor:
        assert len(batch.examples) == len(output[0])
        return output[0][:, -1, :5].sum(-1)

    found = run(model, examples, scoring=last, method="zero")
    assert found.score == "last" and bool(found.note) == (name == "albert")
    for layer in range(3):
        for unit in [{"heads": (layer, head)} for head in range(4)] + [{"layers": [layer]}]:
            with model.disabled(**unit, method="zero"), torch.no_grad():
                for i, one in enumerate(examples):
                    given = torch.tensor([tokenizer.convert_tokens_to_ids(list(one.first))])
                    wanted = float(model.hf_model(given)[0][0, -1, :5].sum())
                    scores = found.layer_scores[layer]
                    if "heads" in unit:
                        scores = found.head_scores[layer, unit["heads"][1]]
                    assert scores[i] == pytest.approx(wanted, abs=1e-4)


def test_segments_of_a_causal_model() -> None:
    model = load_model(zoo.build("llama"), words())
    examples = [Segment(("w7", "w8", "w9", "w1")), Segment(("w1", "w11", "w3"))]
    found = run(model, examples, scoring="loss", heads=[(1, 2)])
    with model.disabled((1, 2)):
        for i, one in enumerate(examples):
            probability = model.predict(" ".join(one.first)).log_probability
            assert probability is not None
            mean = -probability / (len(one) - 1)
            assert found.head_scores[1, 2, i] == pytest.approx(mean, abs=1e-5)


@pytest.mark.slow
def test_replayed_passes_equal_whole_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    model = load_model(device="cpu")
    fast = run(model, MASKED, scoring="loss")
    monkeypatch.setattr("attnwidget.capture.tapping.replay.layers_of", lambda _: None)
    slow = run(model, MASKED, scoring="loss")
    assert "whole model" in slow.note and "whole model" in repr(slow) and not fast.note
    np.testing.assert_allclose(fast.head_scores, slow.head_scores, atol=1e-4)
    np.testing.assert_allclose(fast.layer_scores, slow.layer_scores, atol=1e-4)


def test_logits_are_computed_where_they_are_asked_for() -> None:
    model = load_model(device="cpu")
    inputs = dict(model.tokenizer([MASKED[0][0]] * 2, return_tensors="pt"))
    places = torch.tensor([0, 1, 1]), torch.tensor([4, 4, 2])
    with model.disabled(HEADS):
        edits = model.edits
    units = [{head: change} for head, change in edits.changes.items()]
    with replaying(model.hf_model, model.edits, edits) as replay:
        replay.intact(inputs)
        outputs = list(replay.without(inputs, units, places=places))
        assert replay.narrows and [one[:2] for one in outputs] == [(0, 1), (1, 2), (2, 3)]
    for head, (_, _, output) in zip(HEADS, outputs, strict=True):
        with model.disabled(head), torch.no_grad():
            wanted = model.hf_model(**inputs).logits[places]
        torch.testing.assert_close(output.logits[0], wanted, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    ("name", "alone"),
    [
        ("bert", "encoder.layer.1.attention.self.query"),
        ("modernbert", "layers.1.attn.Wqkv"),
        ("gpt2", "h.1.attn.c_attn"),
        ("llama", "layers.1.self_attn.q_proj"),
        ("gpt-oss", "layers.1.self_attn.q_proj"),
        ("deberta-v2", ""),  # cannot: copies of the input are read
    ],
)
def test_the_edited_layer_reads_one_input_for_all_units(name: str, alone: str) -> None:
    model = load_model(zoo.build(name), words()).hf_model
    given = {"input_ids": torch.tensor([[7, 8, 9, 11, 3, 5]])}
    edits = intact_edits(model)
    units = [
        {Head(layer, head): Change("uniform", "uniform")} for layer in (0, 1, 2) for head in (0, 3)
    ]
    found = []
    read = []
    with replaying(model, edits, edits) as replay:
        replay.intact(given)
        passes = replay.without(given, units)
        found.append(next(passes))
        if alone:
            path = next(path for path, _ in model.named_modules() if path.endswith(alone))
            model.get_submodule(path).register_forward_pre_hook(
                lambda _, args: read.append(len(args[0]))
            )
        found += passes
    assert [one[:2] for one in found] == [(0, 2), (2, 4), (4, 6)]
    # In transformers 4 these two shape the attention output by their input: copies are read.
    copied = transformers.__version__.startswith("4.") and name in ("bert", "modernbert")
    assert read == ([2 if copied else 1] if alone else [])
    for first, last, output in found:
        for index in range(first, last):
            with changed(model, units[index]), torch.no_grad():
                wanted = model(**given)[0][0]
            torch.testing.assert_close(output[0][index - first], wanted, atol=1e-5, rtol=1e-5)


def test_layers_that_cannot_be_replayed_are_noticed() -> None:
    model = load_model(zoo.build("gpt2"), words())
    last = model.hf_model.transformer.h[2]
    calls = []

    def restless(_: Any, __: Any, output: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return output * (1 + 0.1 * len(calls))

    hook = last.mlp.register_forward_hook(restless)
    found = run(model, [Segment(("w7", "w8", "w9"))], scoring="loss", heads=[(1, 0)])
    hook.remove()
    assert "give other results" in found.note


def test_states_that_a_later_layer_overwrites_are_not_used_again() -> None:
    model = load_model(zoo.build("bert"), words())
    model.hf_model.bert.encoder.layer[1].register_forward_pre_hook(
        lambda _, args: (args[0].mul_(1.5), *args[1:])
    )
    given = {"input_ids": torch.tensor([[7, 8, 9, 11, 3, 5]])}
    edits = intact_edits(model.hf_model)
    units = [{Head(layer, 1): Change("zero", "zero")} for layer in (0, 1, 2)]
    with replaying(model.hf_model, edits, edits) as replay:
        replay.intact(given)
        outputs = [output for _, _, output in replay.without(given, units)]
        assert not replay.note
    for unit, output in zip(units, outputs, strict=True):
        with changed(model.hf_model, unit), torch.no_grad():
            expected = model.hf_model(**given)[0]
        torch.testing.assert_close(output[0], expected, atol=1e-5, rtol=1e-5)


def test_the_model_is_unchanged_and_other_threads_see_it_intact() -> None:
    model = load_model(device="cpu")
    given = model.tokenizer(MASKED[0][0], return_tensors="pt")
    with torch.no_grad():
        before = model.hf_model(**given).logits
    seen: list[torch.Tensor] = []

    def other() -> None:
        with torch.no_grad():
            seen.append(model.hf_model(**given).logits)

    def from_a_thread(output: Any, batch: Any) -> torch.Tensor:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        return output.logits[:, 0, 0]

    run(model, MASKED[:1], scoring=from_a_thread, heads=[(5, 8)])
    with torch.no_grad():
        assert torch.equal(model.hf_model(**given).logits, before)
    assert len(seen) == 2
    for one in seen:
        torch.testing.assert_close(one, before, atol=1e-5, rtol=1e-5)
    assert all("forward" not in vars(layer) for layer in model.hf_model.bert.encoder.layer)


@pytest.mark.slow
def test_heads_that_are_off_already_stay_off() -> None:
    model = load_model(device="cpu")
    with model.disabled([(1, 8), (3, 3)], method="zero"):
        found = run(model, MASKED, scoring="loss", heads=[(1, 8), (1, 2)])
        assert "without L1 H8" in found.model_name and "L1 H2" not in found.model_name
    with model.disabled([(1, 8), (3, 3)], method="zero"), model.disabled((1, 2)):
        wanted = -np.log(model.predict(MASKED[0][0]).probability("her"))
    assert found.head_scores[1, 2, 0] == pytest.approx(wanted, abs=1e-4)


def test_significance_is_scipys() -> None:
    random = np.random.default_rng(1)
    intact = (random.random(200) < 0.8).astype(float)
    heads = np.where(random.random((3, 4, 200)) < 0.1, 1 - intact, intact)
    heads[1, 2] = intact * (random.random(200) < 0.8)
    heads[0, 0] = np.nan
    layers = np.full((3, 200), np.nan)
    found = Ablation(
        "accuracy", "zero", intact, heads, layers, (), complete=True, note="", model_name="model"
    )
    one = found.of_heads
    for layer, head in np.ndindex(3, 4):
        if (layer, head) == (0, 0):
            assert np.isnan(one.p[0, 0]) and np.isnan(one.interval[0][0, 0])
            continue
        off = heads[layer, head]
        broken = int(((intact == 1) & (off == 0)).sum())
        fixed = int((off > intact).sum())
        assert (one.broken[layer, head], one.fixed[layer, head]) == (broken, fixed)
        assert one.difference[layer, head] == pytest.approx((fixed - broken) / 200)
        wanted = binomtest(min(broken, fixed), broken + fixed).pvalue
        assert one.p[layer, head] == pytest.approx(wanted)
        assert one.interval[0][layer, head] <= one.difference[layer, head]
        assert one.interval[1][layer, head] >= one.difference[layer, head]
    measured = ~np.isnan(one.p)
    np.testing.assert_allclose(one.adjusted[measured], false_discovery_control(one.p[measured]))
    assert one.adjusted[1, 2] < 0.05
    chart = found.chart().to_dict()
    dots = [layer for layer in chart["layer"] if layer["mark"]["type"] == "point"]
    assert {"layer": 1, "head": 2} in chart["datasets"][dots[0]["data"]["name"]]


def test_the_answer_says_how_small_a_change_could_have_been_found() -> None:
    random = np.random.default_rng(2)
    intact = (random.random(198) < 0.7).astype(float)
    heads = np.tile(intact, (2, 36, 1))
    flipped = random.integers(0, 198, (2, 36, 4))
    np.put_along_axis(heads, flipped, 1 - np.take_along_axis(heads, flipped, -1), -1)
    layers = np.full((2, 198), np.nan)

    def ablation(heads: Any, layers: Any, score: str = "accuracy", n: int = 198) -> Ablation:
        return Ablation(score, "zero", intact[:n], heads[..., :n], layers[..., :n], ())

    found = ablation(heads, layers)
    # Twelve texts that all become wrong are the fewest with a p below 0.05 / 72.
    assert binomtest(12, 12).pvalue <= 0.05 / 72 < binomtest(11, 11).pvalue
    assert found.smallest_effect == pytest.approx(12 / 198)
    assert found.finding == (
        "No head changes the accuracy significantly; a change under 6.1 points cannot be "
        "significant with 198 examples."
    )
    assert found.finding in repr(found)
    assert found.finding.split(";")[0] in str(found.chart().to_dict()["title"])
    few = ablation(heads, layers, n=10)
    assert np.isinf(few.smallest_effect)
    assert few.finding == (
        "No head changes the accuracy significantly; 10 examples are too few for any "
        "change to be significant."
    )
    one = ablation(heads, layers, n=1)
    assert "1 example is too few for any change to be significant" in one.finding
    broken = heads.copy()
    broken[1, 3] = 0
    assert ablation(broken, layers).finding == "1 of 72 heads changes the accuracy significantly."
    losses = ablation(intact + random.normal(size=(2, 36, 198)), layers, "loss")
    assert losses.finding.startswith("No head changes the loss significantly; a change under 0.")
    assert " nats cannot be significant with 198 examples." in losses.finding
    only_layers = ablation(np.full((2, 36, 198), np.nan), heads[:, 0])
    assert only_layers.finding.startswith("No layer changes the accuracy significantly")
    assert only_layers.smallest_effect == only_layers.of_layers.smallest_effect[0]
    divergence = ablation(abs(losses.head_scores), layers, "kl")
    assert divergence.finding == "" and np.isnan(divergence.smallest_effect)


def test_an_interrupted_study_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = load_model(device="cpu")
    path = tmp_path / "ablation.npz"
    options: dict[str, Any] = {"scoring": "loss", "heads": HEADS, "batch_size": 1}
    whole = run(model, MASKED, **options)
    original = Replay.intact
    calls = []

    def interrupted(self: Replay, inputs: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(self, inputs)

    with monkeypatch.context() as patch:
        patch.setattr(Replay, "intact", interrupted)
        stopped = run(model, MASKED, resume=path, **options)
    assert not stopped.complete and len(stopped.examples) == 1 and "interrupted" in repr(stopped)
    again = run(model, MASKED, resume=path, **options)
    np.testing.assert_array_equal(again.head_scores, whole.head_scores)
    with pytest.raises(ValueError, match=naming("'kl'", "scoring", "ablation.npz", "another")):
        run(model, MASKED, resume=path, scoring="kl", heads=HEADS, batch_size=1)
    with monkeypatch.context() as patch:
        patch.setattr(Replay, "intact", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run(model, MASKED, **options)


@pytest.mark.parametrize(
    ("examples", "options", "error", "parts"),
    [
        ([], {}, ValueError, ("no examples",)),
        ([b"The cat sat."], {}, TypeError, ("example 0", "MinimalPair")),
        ([*MASKED, PAIRS[0]], {}, ValueError, ("MinimalPair", "several")),
        ([("The woman washed [MASK] hands.", "xqzt")], {}, ValueError, ("'xqzt'", "model.predict")),
        ([("The woman washed her hands.", "her")], {}, ValueError, ("example 0", "tokens")),
        (PAIRS, {}, ValueError, ("scoring='minimal pair'", "loss")),
        (PAIRS, {"scoring": lambda *_: 0}, ValueError, ("scoring='minimal pair'", "function")),
        (MASKED, {"scoring": "minimal pair"}, ValueError, ("scoring", "MinimalPair")),
        (MASKED, {"scoring": "f1"}, ValueError, ("scoring", "'f1'")),
        (MASKED, {"scoring": lambda *_: torch.zeros(3)}, ValueError, ("score", "finite")),
        (MASKED, {"heads": "every"}, ValueError, ("heads", "'every'")),
        (MASKED, {"heads": [(6, 0)]}, ValueError, ("layer 6", "'self'")),
        (MASKED, {"heads": []}, ValueError, ("heads", "name")),
        (MASKED, {"method": "patch"}, ValueError, ("'patch'", "method='mean'")),
        (MASKED, {"method": "mean"}, ValueError, ("method='mean'", "reference")),
        (MASKED, {"batch_size": 0}, ValueError, ("batch_size", "0")),
    ],
)
def test_refused(
    examples: Any, options: Any, error: type[Exception], parts: tuple[str, ...]
) -> None:
    with pytest.raises(error, match=naming(*parts)):
        run(load_model(device="cpu"), examples, **({"scoring": "loss", "heads": HEADS} | options))


def small_gpt2(tokenizer: Any) -> AttentionModel:
    config = transformers.GPT2Config(n_layer=2, n_head=4, n_embd=32, vocab_size=len(tokenizer))
    return load_model(transformers.GPT2LMHeadModel(config), tokenizer)


def test_answers_that_continue_a_word_are_told_everywhere() -> None:
    model = small_gpt2(byte_level())
    attention = model.attend("the cat")
    predictions, lens = model.predict("the cat"), logit_lens(attention)
    view = PredictionView(attention)
    parts = ("'play'", "'Ġplay'")
    for ask in (
        lambda: predictions.probability("play"),
        lambda: lens.probability("play"),
        lambda: PredictionView(attention, answer="play"),
        lambda: setattr(view, "versus", "play"),
    ):
        with pytest.warns(UserWarning, match=naming(*parts)):
            ask()
    # An entry of the table of the figure, and an entry that begins a word, are meant as they are.
    view.versus = "Ġplay"
    from_page(view, {"answer": "play"})
    assert view.answer == "play"


@pytest.mark.slow
def test_a_label_that_continues_a_word_is_told_which_entry_begins_one() -> None:
    tokenizer = byte_level()
    play = tokenizer.convert_tokens_to_ids("Ġplay")
    model = small_gpt2(tokenizer)
    with torch.no_grad():
        # With the types of the tokens, which the tokenizers of transformers 4 write.
        logits = model.hf_model(**tokenizer("the cat", return_tensors="pt")).logits[0, -1]
    expected = -float(torch.log_softmax(logits, -1)[play])
    options: dict[str, Any] = {"scoring": "loss", "heads": [(0, 0)], "progress": False}
    for label in ("Ġplay", " play", play):
        found = ablate(model, [("the cat", label)], **options)
        assert found.intact[0] == pytest.approx(expected, abs=1e-5)
    with pytest.warns(UserWarning, match=naming("'play'", "'Ġplay'")):
        continued = ablate(model, [("the cat", "play")], **options)
    assert continued.intact[0] != pytest.approx(expected, abs=1e-5)
    attention = model.attend("the cat")
    assert model.predict("the cat").probability(" play") == pytest.approx(np.exp(-expected))
    effects = [direct_effects(attention, play, "Ġcat"), direct_effects(attention, " play", " cat")]
    assert effects[0].logit_difference == effects[1].logit_difference
    with pytest.warns(UserWarning, match=naming("'cat'", "'Ġcat'")):
        assert (
            direct_effects(attention, play, "cat").logit_difference != effects[0].logit_difference
        )


def test_models_that_do_not_answer() -> None:
    with pytest.raises(TypeError, match=naming("load_model", "predicts")):
        run(load_model(zoo.build("roberta"), words()), [("w1 w2", "w3")], scoring="loss")
    with pytest.raises(TypeError, match=naming("T5ForConditionalGeneration", "encoder-decoder")):
        run(load_model(zoo.build("t5"), words()), [("w1 w2", "w3")], scoring="loss")
    genres = load_model("attnwidget/genre")
    with pytest.raises(ValueError, match=naming("'poem'", "'answers'")):
        run(genres, [("Roses are red.", "poem")], scoring="loss")
    with pytest.raises(ValueError, match=naming("'Her'", "'token'", "model.predict")):
        run(load_model(), [("The woman washed [MASK] hands.", "Her")], scoring="loss")
    with pytest.raises(ValueError, match=naming("label 9", "'answers'")):
        run(genres, [("Roses are red.", 9)], scoring="loss")
    with pytest.raises(ValueError, match=naming("scoring='loss'", "segments")):
        run(genres, [Segment(("the", "cat"))], scoring="loss")
    assert run(genres, [Segment(("the", "cat"))], scoring="kl", heads=HEADS).head_scores[5, 8] > 0


def test_the_histogram_has_the_changes_of_all_heads_and_layers() -> None:
    model = load_model("attnwidget/genre", device="cpu")
    found = run(model, GENRES, scoring="accuracy", heads=HEADS)
    spec = found.histogram().to_dict()
    (panel,) = spec["vconcat"]
    dots = next(part for part in panel["layer"] if part["mark"]["type"] == "point")
    rows = spec["datasets"][dots["data"]["name"]]
    changes = {row["name"]: row["value"] for row in rows}
    expected = {
        f"L{layer} H{head}": 100 * found.of_heads.difference[layer, head] for layer, head in HEADS
    }
    assert changes == pytest.approx(expected)
    assert "in points" in panel["layer"][-1]["encoding"]["x"]["title"]
    subtitle = " ".join(spec["title"]["subtitle"])
    assert "of 3 heads" in subtitle and "layers" not in subtitle
    layers = run(model, GENRES, scoring="loss", heads="layers")
    spec = layers.histogram().to_dict()
    (panel,) = spec["vconcat"]
    bars = spec["datasets"][panel["layer"][0]["data"]["name"]]
    sides = {row["layer"]: row["side"] for row in bars}
    # A larger loss is worse.
    assert sides == {
        layer: "worse" if change > 0 else "better"
        for layer, change in enumerate(layers.of_layers.difference)
    }
    with pytest.raises(ValueError, match=naming("divergence", "accuracy")):
        run(model, GENRES, scoring="kl", heads=HEADS).histogram()
