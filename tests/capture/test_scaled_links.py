"""Scaled links against the model's own additive mask, and the names of their ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor, nn

from attnwidget import HeadView, ablate, load_model, make_segments, measure
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.attention_sites import find_sites
from attnwidget.results import Box, Span
from fixtures import zoo
from fixtures.chat_models import CHATML, chat_model
from fixtures.vision_language import llava_model
from references.hooked_heads import N_HEADS, hooked, layers
from refusals import naming

#: Encoders, causal models, grouped queries, soft caps, windows, sinks and cross-attention.
CASES = [
    ("bert", "self"),
    ("modernbert", "self"),
    ("gpt2", "self"),
    ("gpt-neox", "self"),
    ("llama", "self"),
    ("gemma2", "self"),
    ("gpt-oss", "self"),
    *((name, stack) for name in ("bart", "t5") for stack in ("encoder", "decoder", "cross")),
]
LINKS = [(3, 1), (3, 0), (5, 4), (6, 6)]
# Largest difference of an output, relative to the largest output.
ALLOWED = {torch.float32: 3e-6, torch.float64: 1e-12}
# Models that compute their softmax in float32, also with weights in float64.
SINGLE_SOFTMAX = ("modernbert", "gpt-neox", "llama", "gemma2")
if transformers.__version__ < "5":
    SINGLE_SOFTMAX = (*SINGLE_SOFTMAX, "t5")
SENTENCE = "The captain told his men that he would not leave the ship."
MASKED = "The captain told his men that [MASK] would not leave the ship."


def wrapped(name: str, dtype: torch.dtype = torch.float32) -> AttentionModel:
    return AttentionModel(zoo.build(name, dtype=dtype), None, name)


def log_factors(factor: float, links: Any = LINKS, n_query: int = 14, n_key: int = 14) -> Tensor:
    """What a mask adds to the scores of the links."""
    added = torch.zeros(n_query, n_key, dtype=torch.float64)
    for query, key in links:
        added[query, key] = np.log(factor) if factor else -np.inf
    return added


@contextmanager
def masked_by_hand(model: nn.Module, stack: str, added: Tensor, only: Any = None) -> Iterator[None]:
    """Add numbers to the additive mask that each attention module of a stack receives."""

    def add(module: Any, args: Any, named: dict[str, Any]) -> Any:
        names = ("attention_mask", "mask", "sliding_window_mask")
        given = {name: named[name] for name in names if named.get(name) is not None}
        states = args[0] if args else named["hidden_states"]
        own = added.to(states.dtype)
        if not given:
            given = {next(name for name in names if name in named): torch.zeros_like(own)}
        return args, named | {name: mask + own for name, mask in given.items()}

    with ExitStack() as undo:
        for index, site in enumerate(s for s in find_sites(model) if s.stack == stack):
            if only is None or index in only:
                handle = site.module.register_forward_pre_hook(add, with_kwargs=True)
                undo.callback(handle.remove)
        yield


def difference(output: Tensor, expected: Tensor) -> float:
    return float((output - expected).abs().max() / expected.abs().max())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize(("name", "stack"), CASES)
def test_links_are_scaled_as_by_the_models_own_additive_mask(
    name: str, stack: str, dtype: torch.dtype
) -> None:
    if name == "gpt-oss" and dtype == torch.float64:
        pytest.skip("its experts have no float64")
    model = wrapped(name, dtype)
    plain = zoo.build(name, dtype=dtype)
    # Padding in float64 has no number in their float32, and no weights.
    single = dtype == torch.float64 and name in SINGLE_SOFTMAX
    given = zoo.inputs(name, padded=0 if single else 4)
    allowed = 5e-7 if single else ALLOWED[dtype]
    n_query = 14 if stack in ("self", "encoder") else 7
    n_key = 7 if stack == "decoder" else 14
    real = given["attention_mask"].bool()
    with torch.no_grad():
        intact = plain(**given)[0]
        for factor in (0, 0.3, 4):
            with masked_by_hand(plain, stack, log_factors(factor, LINKS, n_query, n_key)):
                expected = plain(**given)[0]
            with model.scaled_links(LINKS, factor, stack=stack):
                scaled = model.hf_model(**given)[0]
            rows = real if scaled.shape[1] == 14 else slice(None)
            assert difference(scaled[rows], expected[rows]) < allowed
            assert difference(scaled[rows], intact[rows]) > 1e-3


def test_links_of_a_picture_and_its_question_are_scaled_as_by_a_mask() -> None:
    model = llava_model()
    model.hf_model.set_attn_implementation("eager")
    attention = model.attend(
        "<image>\nWhat is this?", images=np.arange(64 * 64 * 3, dtype=np.uint8).reshape(64, 64, 3)
    )
    inputs = dict(attention.reading.inputs)  # type: ignore[union-attr]
    query = attention.stacks["self"].query
    box = Box(0, 0, 0, 32, 32)
    patches = [i for i, place in enumerate(query.places) if place is not None]
    inside = [i for i in patches if query.places[i].right <= 32 and query.places[i].bottom <= 32]  # type: ignore[union-attr]
    last = len(query) - 1
    added = log_factors(0, [(last, key) for key in inside], len(query), len(query))
    plain = model.hf_model
    with torch.no_grad():
        intact = plain(**inputs).logits
        with masked_by_hand(plain, "self", added):
            expected = plain(**inputs).logits
        with model.scaled_links([("last token", box)], 0, text=attention):
            scaled = plain(**inputs).logits
    assert len(inside) == 4
    assert difference(scaled, expected) < 3e-6 < difference(scaled, intact)
    again = attention.scaled_links([("last token", box)], 0)
    assert not again.weights(0, stack="self")[:, last, inside].any()
    assert "last token→box 0, 0, 32, 32 cut in all heads" in again.model_name


@pytest.mark.parametrize(("name", "stack"), CASES[:5] + CASES[7:])
def test_one_head_is_what_hooks_make_of_it(name: str, stack: str) -> None:
    if name in ("gemma2", "gpt-oss"):
        pytest.skip("no hooks are written for it")
    layer, head = 1, 2
    single = name in SINGLE_SOFTMAX
    given = zoo.inputs(name, padded=0 if single else 4)
    plain = zoo.build(name, dtype=torch.float64)
    with torch.no_grad():
        output = plain(**given, output_attentions=True)
    field = {"encoder": "encoder_", "decoder": "decoder_", "cross": "cross_"}.get(stack, "")
    maps = output[f"{field}attentions"][layer][:, head]

    def replace(outputs: Tensor, values: Tensor) -> Tensor:
        own = values[:, head // (N_HEADS // values.shape[1])]
        scaled = maps.clone()
        for query, key in LINKS:
            scaled[:, query, key] *= 3
        changed = outputs.clone()
        changed[:, head] = (scaled / scaled.sum(-1, keepdim=True)) @ own
        return changed

    with torch.no_grad(), hooked(layers(name, plain, stack)[layer], replace):
        expected = plain(**given)[0]
    model = wrapped(name, torch.float64)
    with torch.no_grad(), model.scaled_links(LINKS, 3, (layer, head, stack)):
        scaled = model.hf_model(**given)[0]
    rows = given["attention_mask"].bool() if scaled.shape[1] == 14 else slice(None)
    assert difference(scaled[rows], expected[rows]) < (5e-7 if single else 1e-12)


@pytest.mark.parametrize("name", ["bert", "llama", "gpt-oss"])
def test_a_window_of_layers_is_changed_and_no_other_layer(name: str) -> None:
    model, plain = wrapped(name), zoo.build(name)
    given = zoo.inputs(name, padded=0)
    with torch.no_grad():
        with masked_by_hand(plain, "self", log_factors(0), only=(1, 2)):
            expected = plain(**given)[0]
        with model.scaled_links(LINKS, 0, layers=range(1, 3)):
            assert model.name.endswith("in layer 1, layer 2")
            assert difference(model.hf_model(**given)[0], expected) < 3e-6


def test_the_sink_gets_its_share_unless_sums_are_kept() -> None:
    model = wrapped("gpt-oss")
    ids = torch.arange(5, 19)[None]
    own = model.attend({"input_ids": ids}).weights(0)
    with model.scaled_links([(6, 5), (6, 0)], 0, layers=[0]):
        shared = model.attend({"input_ids": ids}).weights(0)
    with model.scaled_links([(6, 5), (6, 0)], 0, layers=[0], keeps_sum=True):
        assert model.name.endswith("6→5, 6→0 cut, sums kept in layer 0")
        kept = model.attend({"input_ids": ids}).weights(0)
    sink = 1 - own[:, 6].sum(-1)
    rest = own[:, 6].copy()
    rest[:, [0, 5]] = 0
    np.testing.assert_allclose(
        shared[:, 6], rest / (rest.sum(-1) + sink)[:, None], atol=2e-6, rtol=0
    )
    np.testing.assert_allclose(kept[:, 6].sum(-1), own[:, 6].sum(-1), atol=2e-6, rtol=0)
    np.testing.assert_allclose(
        kept[:, 6] / kept[:, 6].sum(-1, keepdims=True),
        rest / rest.sum(-1, keepdims=True),
        atol=2e-6,
    )


def test_positions_count_tokens_of_the_text_in_a_batch_that_is_padded_on_the_left() -> None:
    model = wrapped("llama")
    short, long = torch.arange(5, 12), torch.arange(30, 41)
    ids = torch.stack([torch.cat([torch.zeros(4, dtype=torch.long), short]), long])
    mask = (ids != 0).long()
    places = (mask.cumsum(-1) - 1).clamp(min=0)
    with torch.no_grad(), model.scaled_links([(6, 2), (6, 0)], 0):
        together = model.hf_model(ids, attention_mask=mask, position_ids=places).logits
        alone = [model.hf_model(text[None]).logits[0] for text in (short, long)]
    assert difference(together[0, 4:], alone[0]) < 3e-6
    assert difference(together[1], alone[1]) < 3e-6


def test_a_link_stays_cut_while_a_padded_batch_is_continued() -> None:
    hf_model = zoo.build("llama")
    hf_model.generation_config.pad_token_id = 0
    hf_model.generation_config.eos_token_id = None
    model = load_model(hf_model)
    ids = torch.tensor([[0, 0, 7, 31, 55, 12, 80], [44, 9, 7, 31, 55, 12, 80]])
    mask = (ids != 0).long()
    links = [("all after", 0), (4, 3), (4, 1)]
    written = []
    for options in ({}, {"use_cache": False}):
        with torch.no_grad(), model.scaled_links(links, 0):
            written.append(
                hf_model.generate(
                    ids, attention_mask=mask, max_new_tokens=8, do_sample=False, **options
                )
            )
    assert torch.equal(*written)
    with torch.no_grad(), model.scaled_links(links, 0):
        alone = hf_model.generate(ids[:1, 2:], max_new_tokens=8, do_sample=False)
    assert written[0][0, 2:].tolist() == alone[0].tolist()


@pytest.mark.parametrize(
    ("link", "cells"),
    [
        (("he", "captain"), [(7, 2)]),
        ((7, ["captain", "men"]), [(7, 2), (7, 5)]),
        (("he", "all before"), [(7, key) for key in range(7)]),
        (("all after", "captain"), [(query, 2) for query in range(3, 15)]),
        (("all", "[CLS]"), [(query, 0) for query in range(15)]),
        ((("the", 2), {"he", "his"}), [(11, 4), (11, 7)]),
        (("he", "special tokens"), [(7, 0), (7, 14)]),
        (("he", range(3, 6)), [(7, 3), (7, 4), (7, 5)]),
        ((lambda tokens: [text == "he" for text in tokens.text], 2), [(7, 2)]),
    ],
)
def test_ends_have_many_names(link: Any, cells: list[tuple[int, int]]) -> None:
    model = load_model(device="cpu")
    attention = model.attend(SENTENCE)
    for scaled in (attention.scaled_links([link], 0, layers=[0]), in_block(model, link)):
        cut = (attention.weights(0) > 0).all(0) & (scaled.weights(0) == 0).all(0)
        assert sorted(map(tuple, np.argwhere(cut).tolist())) == sorted(cells)


def in_block(model: AttentionModel, link: Any) -> Any:
    with model.scaled_links([link], 0, layers=[0]):
        return model.attend(SENTENCE)


def test_a_word_is_all_its_tokens() -> None:
    model = load_model(device="cpu")
    text = "The mathematicians left, and they slept."
    attention = model.attend(text)
    pieces = [i for i, word in enumerate(attention.stacks["self"].query.words) if word == 1]
    cut = attention.scaled_links([("they", "mathematicians")], 0)
    query = attention.tokens.index("they")
    assert len(pieces) > 1 and not cut.weights(0)[:, query, pieces].any()


def test_roles_of_a_chat_are_ends() -> None:
    model = chat_model(CHATML)
    chat = [
        {"role": "system", "content": "be short"},
        {"role": "user", "content": "go on"},
    ]
    attention = model.attend(chat)
    roles = np.array(attention.stacks["self"].query.roles)
    cut = attention.scaled_links([("role=user", "role=system")], 0)
    weights = cut.weights(0)
    assert not weights[:, roles == "user"][..., roles == "system"].any()
    assert weights[:, roles == "template"][..., roles == "system"].any()
    with model.scaled_links([("user", "system")], 0, text=chat):
        np.testing.assert_array_equal(model.attend(chat).weights(0), weights)
    with (
        model.scaled_links([("all", "role=system")], 0),
        pytest.raises(ValueError, match=naming("'role=system'", "no roles", "text=")),
    ):
        model.attend(chat)


def test_a_name_is_looked_up_in_the_prompt_while_a_model_writes() -> None:
    model = load_model("attnwidget/induction", device="cpu")
    prompt = "The cat sat. The"
    texts = []
    for options in ({}, {"use_cache": False}):
        with model.scaled_links([("all after", "cat")], 0):
            texts.append(model.generate(prompt, 6, **options).tokens)
    tokens = model.attend(prompt).stacks["self"].query
    group = tokens.word_groups()[list(tokens.to_words().text).index("cat")]
    with model.scaled_links([("all after", group)], 0):
        by_position = model.generate(prompt, 6).tokens
    assert texts[0] == texts[1] == by_position


def test_blocks_multiply_factors_and_heads_that_are_off_stay_off() -> None:
    model = load_model(device="cpu")

    def read(*blocks: Callable[[], Any]) -> Any:
        with ExitStack() as undo:
            for block in blocks:
                undo.enter_context(block())
            return model.attend(SENTENCE).weights()

    twice = read(lambda: model.scaled_links([(7, 2)], 2), lambda: model.scaled_links([(7, 2)], 2))
    np.testing.assert_allclose(twice, read(lambda: model.scaled_links([(7, 2)], 4)), atol=1e-6)

    def cut() -> Any:
        return model.scaled_links([("he", "captain")], 0)

    def off() -> Any:
        return model.disabled([(1, 3)], method="zero")

    both = read(off, cut)
    np.testing.assert_array_equal(both, read(cut, off))
    assert not both[1, 3].any() and not both[:, :, 7, 2].any()
    attention = model.attend(SENTENCE)
    edited = attention.disabled([(1, 3)], "zero").scaled_links([("he", "captain")], 0)
    np.testing.assert_array_equal(edited.weights(), both)
    other_way = attention.scaled_links([("he", "captain")], 0).disabled([(1, 3)], "zero")
    np.testing.assert_array_equal(other_way.weights(), both)
    assert edited.intact is attention and edited.disabled([]).link_edits == edited.link_edits
    assert edited.model_name.endswith("without L1 H3 (zero), he→captain cut in all heads")


def test_what_is_made_in_a_block_says_so(tmp_path: Path) -> None:
    model = load_model(device="cpu")
    intact = model.attend(SENTENCE)
    with model.scaled_links([("he", "captain")], 0, "L1 H3"):
        attention = model.attend(SENTENCE)
        measured = measure(model, make_segments([SENTENCE], model), ["position"], progress=False)
    said = "small BERT (in the package), he→captain cut in L1 H3"
    assert attention.model_name == measured.model_name == said
    assert attention.note.startswith("edited")
    view = HeadView(attention, selected=[(1, 3)])
    assert view.caption.model == said
    view.save(tmp_path / "view.svg")
    assert "captain cut in L1 H3" in (tmp_path / "view.svg").read_text(encoding="utf-8")
    assert model.name == "small BERT (in the package)"
    np.testing.assert_array_equal(model.attend(SENTENCE).weights(), intact.weights())
    file = tmp_path / "sums.npz"
    segments = make_segments([SENTENCE, "It slept."], model)
    measure(model, segments, ["entropy"], resume=file, progress=False)
    with (
        model.scaled_links([(3, 1)], 0),
        pytest.raises(ValueError, match=naming("sums.npz", "edits", "another")),
    ):
        measure(model, segments, ["entropy"], resume=file, progress=False)


def test_heads_are_studied_while_links_are_cut() -> None:
    model = load_model(device="cpu")
    examples = [(MASKED, "he")]
    with model.scaled_links([("[MASK]", "that")], 4):
        found = ablate(model, examples, scoring="loss", heads=[(2, 11)], progress=False)
        with model.disabled([(2, 11)]):
            expected = -np.log(model.predict(MASKED).probability("he"))
        intact = -np.log(model.predict(MASKED).probability("he"))
    assert found.head_scores[2, 11, 0] == pytest.approx(expected, abs=1e-5)
    assert found.intact[0] == pytest.approx(intact, abs=1e-5)


def test_a_factor_of_one_changes_no_bit() -> None:
    model = load_model(device="cpu")
    attention = model.attend(SENTENCE)
    same = attention.scaled_links([("he", "captain")], 1)
    np.testing.assert_array_equal(same.weights(0), attention.weights(0))
    np.testing.assert_allclose(same.weights(), attention.weights(), atol=3e-6)


@pytest.mark.parametrize(
    ("links", "factor", "options", "parts"),
    [
        ([], 0, {}, ("links is empty", "('he', 'captain')")),
        ("he", 0, {}, ("list of pairs", "'he'")),
        (("he", "captain"), 0, {}, ("pair (query, key)", "'he'")),
        ([(1, 2, 3)], 0, {}, ("pair (query, key)", "(1, 2, 3)")),
        ([(1, -2)], 0, {}, ("counted from 0", "-2")),
        ([("all before", 2)], 0, {}, ("'all before' is a key", "'all after' is a query")),
        ([(1, 2)], -1, {}, ("factor", "-1", "0 cuts the links")),
        ([(1, 2)], float("nan"), {}, ("factor", "nan", ">= 0")),
        ([(1, 2)], 0, {"heads": (9, 0)}, ("layer 9",)),
        ([(1, 2)], 0, {"stack": "encoder"}, ("'encoder'", "'self'")),
        ([("she", 2)], 0, {"text": SENTENCE}, ("query 'she'", "no token of the input")),
        ([("the", 2)], 0, {"text": SENTENCE}, ("query 'the'", "('the', 2)")),
        ([(40, 2)], 0, {"text": SENTENCE}, ("query 40", "0 to 14")),
        ([(7, Box(0, 0, 0, 1, 1))], 0, {"text": SENTENCE}, ("region of a picture",)),
        ([(7, Span(0, 0, 1))], 0, {"text": SENTENCE}, ("region of a sound",)),
    ],
)
def test_wrong_links_are_refused_before_the_block(
    links: Any, factor: float, options: dict[str, Any], parts: tuple[str, ...]
) -> None:
    model = load_model(device="cpu")
    with (
        pytest.raises(ValueError, match=naming(*parts)),
        model.scaled_links(links, factor, **options),
    ):
        pytest.fail("the block began")


def test_values_of_other_types_are_refused() -> None:
    model = load_model(device="cpu")
    for links, factor, parts in (
        ([(1.5, 2)], 0, ("query of a link", "1.5")),
        ([(1, None)], 0, ("key of a link", "None")),
        ([(1, 2)], "cut", ("factor", "'cut'", "0 cuts the links")),
    ):
        with (
            pytest.raises(TypeError, match=naming(*parts)),
            model.scaled_links(links, factor),  # type: ignore[arg-type]
        ):
            pytest.fail("the block began")
    with (
        pytest.raises(TypeError, match=naming("'edges'", "scaled_links(links, 0, heads)")),
        model.disabled([(5, 8)], edges=[(4, 2)]),  # type: ignore[call-arg]
    ):
        pytest.fail("the block began")


def test_names_that_a_text_lacks_are_refused_in_the_block() -> None:
    model = load_model(device="cpu")
    with (
        model.scaled_links([("she", "captain")], 0),
        pytest.raises(ValueError, match=naming("query 'she'", "no token of the input")),
    ):
        model.attend(SENTENCE)
    with (
        model.scaled_links([(40, 1)], 0),
        pytest.raises(ValueError, match=naming("(40, 1)", "15 queries", "model.generate")),
    ):
        model.attend(SENTENCE)
    bare = AttentionModel(zoo.build("vit"), None, "vit")
    with (
        bare.scaled_links([("cat", 1)], 0),
        pytest.raises(ValueError, match=naming("'cat'", "ids of this input are not known")),
    ):
        bare.attend(zoo.inputs("vit", batch=1))


@pytest.mark.parametrize("name", ["mpnet", "bloom", "deberta-v2", "bert", "llama"])
def test_a_factor_is_applied_once_however_many_blocks_watch_the_model(name: str) -> None:
    model = wrapped(name)
    inputs = zoo.inputs(name)

    def output(*factors: float) -> Tensor:
        with ExitStack() as undo, torch.no_grad():
            for factor in factors:
                undo.enter_context(model.scaled_links([(5, 2)], factor))
            return model.hf_model(**inputs)[0]

    once = output(4)
    assert difference(once, output()) > 1e-5
    for factors in ((2, 2), (4, 1, 1), (1, 0.5, 8)):
        assert difference(output(*factors), once) < 3e-6
    # Reading opens another tap inside of the block.
    ids = inputs["input_ids"][:1]
    expected = model.attend(ids).weights()
    queries = [5]
    with model.scaled_links([(5, 2)], 4):
        scaled = model.attend(ids).weights()
    first = expected[0, :, queries].copy()
    first[..., 2] *= 4
    first /= np.nansum(first, axis=-1, keepdims=True)
    np.testing.assert_allclose(scaled[0, :, queries], first, atol=3e-6)
