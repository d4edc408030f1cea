"""Attention of plain torch modules, read while they run: equal to torch's weights, or refused."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from attnwidget import HeadView, load_model, watch_attention
from fixtures import zoo
from fixtures.vocabularies import word_tokenizer
from refusals import naming

TOKENS = ["The", "cat", "sat", "on", "it"]
PADDING = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])


def encoder(n_layers: int = 3, **options: Any) -> nn.TransformerEncoder:
    torch.manual_seed(0)
    options = {"dim_feedforward": 16, "batch_first": True} | options
    layer = nn.TransformerEncoderLayer(8, 2, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # why torch's fast path is not taken
        made = nn.TransformerEncoder(layer, n_layers)
    for parameter in made.parameters():
        if parameter.ndim > 1:
            nn.init.normal_(parameter, 0, 0.7)  # layers differ, and weights are far from uniform
    return made


def states(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@contextmanager
def torch_weights(module: nn.Module) -> Iterator[dict[str, list[Tensor]]]:
    """Collect need_weights=True, average_attn_weights=False of every MultiheadAttention.

    Each module computes its weights again in eval mode, on what it reads in its own pass.
    """
    found: dict[str, list[Tensor]] = {}
    handles = []
    for path, part in module.named_modules():
        if isinstance(part, nn.MultiheadAttention):

            def read(
                part: nn.MultiheadAttention, args: Any, kwargs: Any, output: Any, path: str = path
            ) -> None:
                training = part.training
                part.training = False
                options = {"need_weights": True, "average_attn_weights": False}
                if kwargs.get("need_weights", True) is False and kwargs.get("is_causal"):
                    options["is_causal"] = False
                with torch.no_grad():
                    weights = nn.MultiheadAttention.forward(part, *args, **kwargs | options)[1]
                part.training = training
                assert weights is not None
                found.setdefault(path, []).append(weights)

            handles.append(part.register_forward_hook(read, with_kwargs=True))
    # With the fast path, layers call no MultiheadAttention.
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield found
    finally:
        torch.backends.mha.set_fastpath_enabled(True)
        for handle in handles:
            handle.remove()


def check_maps(found: Any, wanted: list[Tensor], item: int = 0, stack: str = "self") -> None:
    maps = torch.stack([layer[item] for layer in wanted]).numpy()
    np.testing.assert_allclose(found.weights(stack=stack), maps, atol=1e-6)


MASKS: dict[str, dict[str, Tensor]] = {
    "no mask": {},
    "padding": {"src_key_padding_mask": PADDING},
    "causal": {"mask": nn.Transformer.generate_square_subsequent_mask(5)},
    "causal and padding": {
        "mask": nn.Transformer.generate_square_subsequent_mask(5),
        "src_key_padding_mask": torch.zeros(2, 5).masked_fill(PADDING, -torch.inf),
    },
    "numbers": {"mask": -0.3 * torch.arange(5.0).sub(torch.arange(5.0)[:, None]).abs()},
    "of every head": {"mask": states(4, 5, 5, seed=4) > 1.5},
}


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("mask", MASKS)
def test_maps_of_an_encoder_are_those_of_torch(
    mask: str, training: bool, batch_first: bool
) -> None:
    module = encoder(batch_first=batch_first).train(training)
    given = states(2, 5, 8) if batch_first else states(2, 5, 8).transpose(0, 1)
    torch.manual_seed(5)
    with torch_weights(module) as expected, torch.no_grad():
        module(given, **MASKS[mask])
    torch.manual_seed(5)
    with watch_attention(module) as watched, torch.no_grad():
        module(given, **MASKS[mask])
    for item in (0, 1):
        found = watched.attention(TOKENS, item=item)
        check_maps(found, [layer for (layer,) in expected.values()], item)
        assert found.note == ("weights before dropout" if training else "")
    assert found.tokens == TOKENS and list(found.stacks) == ["self"]


def test_outputs_gradients_and_random_numbers_of_a_training_stay_the_same() -> None:
    results = []
    for watching in (False, True):
        module = encoder().train()
        torch.manual_seed(7)
        given = states(2, 5, 8).requires_grad_()
        if watching:
            with watch_attention(module):
                output = module(given, src_key_padding_mask=PADDING)
                output.square().sum().backward()
        else:
            output = module(given, src_key_padding_mask=PADDING)
            output.square().sum().backward()
        gradients = [parameter.grad for parameter in module.parameters()]
        results.append([output, given.grad, torch.rand(1), *gradients])
        assert not any(part._forward_hooks or part._forward_pre_hooks for part in module.modules())
    for plain, watched in zip(*results, strict=True):
        assert plain is not None and watched is not None and torch.equal(plain, watched)


def test_the_fast_path_is_off_in_the_block_and_on_again_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = []
    fast = torch._transformer_encoder_layer_fwd

    def counted(*args: Any) -> Tensor:
        calls.append(1)
        return fast(*args)

    monkeypatch.setattr(torch, "_transformer_encoder_layer_fwd", counted)
    module = encoder().eval()
    given = states(2, 5, 8)
    with torch.inference_mode():
        quick = module(given, src_key_padding_mask=PADDING)
        assert len(calls) == 3
        with watch_attention(module) as watched:
            slow = module(given, src_key_padding_mask=PADDING)
        assert len(calls) == 3
        module(given, src_key_padding_mask=PADDING)
    assert len(calls) == 6 and torch.backends.mha.get_fastpath_enabled()
    # The fast path writes 0 for padding.
    torch.testing.assert_close(slow[~PADDING], quick[~PADDING], atol=1e-5, rtol=0)
    assert watched.attention(TOKENS).weights().shape == (3, 2, 5, 5)
    with pytest.raises(ZeroDivisionError), watch_attention(module):
        raise ZeroDivisionError
    with torch.no_grad():
        module(given)
    assert len(calls) == 9


def test_an_encoder_decoder_has_three_stacks() -> None:
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = nn.Transformer(8, 2, 2, 3, 16, batch_first=True).eval()
    source, target = states(2, 5, 8), states(2, 3, 8, seed=2)
    options = {
        "tgt_mask": nn.Transformer.generate_square_subsequent_mask(3),
        "src_key_padding_mask": PADDING,
        "memory_key_padding_mask": PADDING,
    }
    with torch_weights(module) as expected, torch.no_grad():
        module(source, target, **options)
    with watch_attention(module) as watched, torch.no_grad():
        module(source, target, **options)
    found = watched.attention(["a", "b", "c"], key_tokens=TOKENS, item=1)
    roles = {"encoder": "encoder", "decoder": "self_attn", "cross": "multihead_attn"}
    for stack, part in roles.items():
        side = "encoder" if stack == "encoder" else "decoder"
        wanted = [maps[0] for path, maps in expected.items() if side in path and part in path]
        check_maps(found, wanted, 1, stack)
    assert found.stacks["cross"].key.text == tuple(TOKENS)
    # Without the tokens of padding, the maps have no padding either.
    real = watched.attention(["a", "b", "c"], key_tokens=TOKENS[:3], item=1)
    np.testing.assert_array_equal(
        real.weights(1, stack="cross"), found.weights(1, stack="cross")[..., :3]
    )
    np.testing.assert_array_equal(
        real.weights(1, stack="encoder"), found.weights(1, stack="encoder")[:, :3, :3]
    )
    with pytest.raises(ValueError, match=naming("'encoder'", "5 queries", "3", "key_tokens")):
        watched.attention(["a", "b", "c"], key_tokens=TOKENS[:3], item=0)
    assert watched.attention(item=1).stacks["decoder"].query.text == ("0", "1", "2")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"batch_first": True},
        {"bias": False},
        {"kdim": 6, "vdim": 4},
        {"add_bias_kv": True},
        {"add_zero_attn": True, "add_bias_kv": True, "dropout": 0.4},
    ],
    ids=str,
)
@pytest.mark.parametrize("weights", [True, False])
def test_maps_of_a_bare_attention_are_those_of_torch(
    options: dict[str, Any], weights: bool
) -> None:
    torch.manual_seed(0)
    module = nn.MultiheadAttention(8, 2, **options)
    query = states(5, 2, 8)
    key = states(4, 2, options.get("kdim", 8), seed=2)
    value = states(4, 2, options.get("vdim", 8), seed=3)
    if options.get("batch_first"):
        query, key, value = (one.transpose(0, 1) for one in (query, key, value))
    mask = states(5, 4, seed=6)
    with torch_weights(module) as expected:
        module(query, key, value, attn_mask=mask)
    with watch_attention(module) as watched:
        module(query, key, value, attn_mask=mask, need_weights=weights)
    found = watched.attention(TOKENS, key_tokens=["k", "l", "m", "n"], item=1)
    check_maps(found, expected[""], 1, "cross")
    added = [*["[bias]"] * ("add_bias_kv" in options), *["[zero]"] * ("add_zero_attn" in options)]
    assert found.stacks["cross"].key.text == ("k", "l", "m", "n", *added)


def test_an_input_without_a_batch_and_norms_by_hand() -> None:
    torch.manual_seed(0)
    module = nn.MultiheadAttention(8, 2)
    given = states(5, 8)
    with watch_attention(module) as watched:
        module(given, given, given)
    found = watched.attention(TOKENS)
    weights = module(given, given, given, average_attn_weights=False)[1]
    assert weights is not None
    np.testing.assert_allclose(found.weights(0), weights.detach(), atol=1e-6)
    value = functional.linear(given, module.in_proj_weight[16:], module.in_proj_bias[16:])
    shares = zip(value.split(4, 1), module.out_proj.weight.split(4, 1), strict=True)
    moved = torch.stack([of_head @ share.T for of_head, share in shares])
    norms = (weights * moved.norm(dim=-1)[:, None]).detach()
    np.testing.assert_allclose(found.norms(0), norms, atol=1e-5)
    scores = found.scores(0, 1)
    np.testing.assert_allclose(scores.weights(), found.weights(0, 1), atol=1e-6)
    assert HeadView(found, 0, 1).layer == 0


class OwnAttention(nn.Module):
    """Causal attention with grouped queries, as in small language models of users."""

    def __init__(self) -> None:
        super().__init__()
        self.q = nn.Linear(8, 16)
        self.kv = nn.Linear(8, 16)

    def forward(self, x: Tensor) -> Tensor:
        query = self.q(x).unflatten(-1, (4, 4)).transpose(1, 2)
        key, value = self.kv(x).unflatten(-1, (4, 4)).transpose(1, 2).chunk(2, 1)
        mixed = functional.scaled_dot_product_attention(
            query, key, value, is_causal=True, scale=0.3, enable_gqa=True
        )
        query.zero_()
        return x + mixed.transpose(1, 2).flatten(2)[..., :8]


class OwnNetwork(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([OwnAttention(), OwnAttention()])

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return x


def test_modules_that_call_scaled_dot_product_attention_are_read() -> None:
    torch.manual_seed(0)
    module = OwnNetwork()
    given = states(2, 5, 8)
    with torch.no_grad():
        hidden = module.blocks[0](given)
    with watch_attention(module, name="mine") as watched, torch.no_grad():
        module(given)
    found = watched.attention(TOKENS, item=1)
    block = module.blocks[1]
    assert isinstance(block, OwnAttention)
    with torch.no_grad():
        query = block.q(hidden).unflatten(-1, (4, 4)).transpose(1, 2)
        key = block.kv(hidden)[..., :8].unflatten(-1, (2, 4)).transpose(1, 2)
        scores = 0.3 * query @ key.repeat_interleave(2, 1).transpose(-1, -2)
        hides = torch.ones(5, 5, dtype=torch.bool).triu(1)
        wanted = scores.masked_fill(hides, -torch.inf).softmax(-1)
    np.testing.assert_allclose(found.weights(1), wanted[1], atol=1e-6)
    stack = found.stacks["self"]
    assert (stack.n_heads, stack.n_key_heads, found.model_name) == (4, 2, "mine")
    with pytest.raises(ValueError, match=naming("norms", "output projection")):
        found.norms(0, 0)


def test_calls_are_numbered_and_shared_modules_are_layers() -> None:
    class Shared(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = encoder(1).layers[0]

        def forward(self, x: Tensor) -> Tensor:
            found: Tensor = self.layer(self.layer(x))
            return found

    module = Shared()
    module.eval()
    with torch_weights(module) as expected:
        module(states(1, 5, 8))
        module(states(1, 3, 8))
    with watch_attention(module) as watched:
        module(states(1, 5, 8))
        module(states(1, 3, 8))
    assert watched.n_calls == 2
    with pytest.raises(ValueError, match=naming("Shared", "2 times", "call=0")):
        watched.attention()
    with pytest.raises(ValueError, match=naming("call 2", "1")):
        watched.attention(call=2)
    (maps,) = expected.values()
    check_maps(watched.attention(call=0), maps[:2])
    check_maps(watched.attention(call=1), maps[2:])
    # Two sentences that pass one encoder look the same, so the note says what a layer is.
    assert (
        watched.attention(call=0).note
        == "'layer.self_attn' computed attention 2 times, and each time is a layer"
    )


class FromMemory(nn.Module):
    """Attention from states to a memory, by scaled_dot_product_attention."""

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        query, key = (y.unflatten(-1, (2, 4)).transpose(1, 2) for y in (x, memory))
        return functional.scaled_dot_product_attention(query, key, key)


def test_a_memory_of_equal_length_is_another_sequence() -> None:
    module = FromMemory()
    with watch_attention(module) as watched:
        module(states(1, 5, 8), states(1, 5, 8, seed=2))
    keys = [f"m{i}" for i in range(5)]
    found = watched.attention(TOKENS, key_tokens=keys).stacks["cross"]
    assert list(found.query.text) == TOKENS and list(found.key.text) == keys
    unnamed = watched.attention(TOKENS).stacks["cross"]
    assert list(unnamed.query.text) == TOKENS and unnamed.key.text == ("0", "1", "2", "3", "4")


def test_tokens_of_a_text_name_no_patches_of_a_picture() -> None:
    class TwoTowers(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.image = encoder(2)
            self.text = encoder(2)

        def forward(self, image: Tensor, text: Tensor) -> Tensor:
            found: Tensor = self.image(image).mean(1) @ self.text(text).mean(1).T
            return found

    module = TwoTowers().eval()
    with watch_attention(module) as watched:
        module(states(1, 5, 8), states(1, 5, 8, seed=2))
    stacks = watched.attention(TOKENS).stacks
    assert list(stacks["self"].query.text) == TOKENS
    assert list(stacks["vision"].query.text) == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize(
    ("name", "stack"),
    [("seq_attn", "self"), ("freq_attn", "self"), ("q_attn", "cross"), ("cross_attn", "cross")],
)
def test_only_a_whole_name_says_that_attention_is_to_another_sequence(
    name: str, stack: str
) -> None:
    module = nn.ModuleDict({name: nn.MultiheadAttention(8, 2, batch_first=True)})
    given = states(1, 5, 8)
    with watch_attention(module) as watched:
        module[name](given, given, given)
    assert list(watched.attention(TOKENS).stacks) == [stack]


def test_a_window_with_a_hint_of_causality_is_read_in_training_with_dropout() -> None:
    module = nn.MultiheadAttention(8, 2, dropout=0.1, batch_first=True)
    given = states(1, 5, 8)
    far = torch.ones(5, 5, dtype=torch.bool)
    window = far.triu(1) | far.tril(-2)
    with watch_attention(module) as watched:
        module(given, given, given, attn_mask=window, is_causal=True)
    module.eval()
    wanted = module(given, given, given, attn_mask=window, average_attn_weights=False)[1]
    np.testing.assert_allclose(watched.attention().weights(0), wanted.detach()[0], atol=1e-6)


def test_parts_may_be_called_outside_of_the_module_once() -> None:
    module = nn.ModuleDict({"first": encoder(2), "head": nn.Linear(8, 2)}).eval()
    with watch_attention(module) as watched:
        module["first"](states(1, 5, 8))
    assert watched.attention(TOKENS).n_layers == 2
    with watch_attention(module) as watched:
        for _ in range(2):
            module["first"](states(1, 5, 8))
    with pytest.raises(
        ValueError, match=naming("'first.layers.0.self_attn'", "2 times", "outside")
    ):
        watched.attention(TOKENS)


def test_calls_of_a_part_beside_calls_of_the_module_are_refused() -> None:
    module = encoder(2)
    with watch_attention(module) as watched:
        module(states(1, 5, 8))
        module.layers[1](states(1, 5, 8))
    with pytest.raises(ValueError, match=naming("'layers.1.self_attn'", "outside")):
        watched.attention(TOKENS)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_modules_of_other_types_and_with_masks_of_the_lowest_number_are_read(
    dtype: torch.dtype,
) -> None:
    module = encoder(2).eval().to(dtype)
    given = states(1, 5, 8).to(dtype)
    mask = torch.zeros(5, 5, dtype=dtype).masked_fill(torch.ones(5, 5).triu(1) > 0, -torch.inf)
    lowest = mask.clamp_min(torch.finfo(dtype).min)
    with torch_weights(module) as expected, torch.no_grad():
        module(given, mask)
    for added in (mask, lowest):
        with watch_attention(module) as watched, torch.no_grad():
            module(given, added)
        found = watched.attention(TOKENS).weights()
        wanted = torch.stack([layer[0] for (layer,) in expected.values()]).float().numpy()
        tolerance = {torch.float64: 1e-6, torch.float16: 5e-3, torch.bfloat16: 5e-2}[dtype]
        np.testing.assert_allclose(found, wanted, atol=tolerance)
        assert not np.triu(found[0, 0], 1).any()


def test_autocast_of_the_caller_is_read_as_it_is() -> None:
    module = encoder(1).eval()
    with watch_attention(module) as watched, torch.no_grad(), torch.autocast("cpu"):
        module(states(1, 5, 8))
        half = watched.attention(TOKENS)
    with watch_attention(module) as watched, torch.no_grad():
        module(states(1, 5, 8))
    np.testing.assert_allclose(half.weights(), watched.attention().weights(), atol=5e-2)


def test_a_transformers_model_has_the_maps_of_load_model() -> None:
    model = load_model(zoo.build("bert", implementation="sdpa"), word_tokenizer())
    inputs = model.tokenizer("w1 w2 w3", return_tensors="pt")
    with watch_attention(model.hf_model) as watched, torch.no_grad():
        model.hf_model(input_ids=inputs.input_ids)
    np.testing.assert_allclose(
        watched.attention().weights(),
        model.attend({"input_ids": inputs.input_ids}).weights(),
        atol=1e-6,
    )


def test_a_backward_pass_with_checkpointing_adds_no_layers() -> None:
    class Checkpointed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = encoder(2).layers

        def forward(self, x: Tensor) -> Tensor:
            for layer in self.layers:
                x = checkpoint(layer, x, use_reentrant=False)
            return x

    module = Checkpointed()
    with watch_attention(module) as watched:
        module(states(1, 5, 8)).sum().backward()
    assert watched.n_calls == 1 and watched.attention().n_layers == 2


def test_a_compiled_module_is_read() -> None:
    module = encoder().eval()
    compiled = torch.compile(module, backend="eager")
    with watch_attention(compiled) as watched, torch.no_grad():
        compiled(states(1, 5, 8))
    with watch_attention(module) as plain, torch.no_grad():
        module(states(1, 5, 8))
    np.testing.assert_array_equal(watched.attention().weights(), plain.attention().weights())
    assert watched.attention().model_name == "TransformerEncoder"


def test_other_threads_are_not_seen_and_a_block_without_attention_is_an_error() -> None:
    module = encoder()
    with watch_attention(module) as watched:
        thread = threading.Thread(target=module, args=(states(1, 5, 8),))
        thread.start()
        thread.join()
    with pytest.raises(
        ValueError, match=naming("TransformerEncoder", "no attention", "watch_attention")
    ):
        watched.attention()

    class ByHand(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            found: Tensor = (x @ x.transpose(1, 2)).softmax(-1) @ x
            return found

    with watch_attention(ByHand()) as watched:
        ByHand()(states(1, 5, 8))
    with pytest.raises(ValueError, match=naming("torch.nn.MultiheadAttention", "Seen")):
        watched.attention()
    with pytest.raises(TypeError, match=naming("list", "watch_attention")), watch_attention([]):  # type: ignore[arg-type]
        pass


def test_nested_tensors_are_refused_with_the_reason() -> None:
    module = encoder().eval()
    nested = torch.nested.nested_tensor([states(5, 8), states(3, 8)])
    with torch.no_grad():
        module(nested)  # torch's fast path reads it
        with (
            pytest.raises(ValueError, match=naming("nested tensor", "fast path", "mask")),
            watch_attention(module),
        ):
            module(nested)


def test_what_cannot_be_told_is_refused() -> None:
    module = nn.MultiheadAttention(8, 2, batch_first=True)
    given = states(2, 5, 8)
    hides = torch.zeros(5, 5, dtype=torch.bool)
    hides[2] = True
    with watch_attention(module) as watched:
        module(given, given, given, attn_mask=hides)
    with pytest.raises(ValueError, match=naming("query 2", "hides")):
        watched.attention(TOKENS)
    with pytest.raises(ValueError, match=naming("input 2", "0 to 1")):
        watched.attention(TOKENS, item=2)
    with watch_attention(module) as watched:
        module(given, given, given)
    with pytest.raises(ValueError, match=naming("'self'", "5 queries", "2", "key_tokens")):
        watched.attention(["a", "b"])
    with pytest.raises(ValueError, match=naming("key_tokens", "cross-attention")):
        watched.attention(TOKENS, key_tokens=TOKENS)

    class Heads(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return functional.scaled_dot_product_attention(x, x, x)

    heads = Heads()
    with watch_attention(heads) as watched:
        heads(given)
    with pytest.raises(
        ValueError, match=naming("inputs and heads", "[2, 5, 8]", "Attention.from_queries_keys")
    ):
        watched.attention()

    class Pyramid(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = encoder(2).layers

        def forward(self, x: Tensor) -> Tensor:
            found: Tensor = self.layers[1](self.layers[0](x)[:, ::2])
            return found

    pyramid = Pyramid()
    with watch_attention(pyramid) as watched:
        pyramid(given)
    with pytest.raises(ValueError, match=naming("'self'", "5 queries", "'layers.1.self_attn'")):
        watched.attention()


def test_padding_is_left_out_only_if_all_layers_hide_it() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = encoder(2).layers

        def forward(self, x: Tensor, second: Tensor | None) -> Tensor:
            x = self.layers[0](x, src_key_padding_mask=PADDING)
            found: Tensor = self.layers[1](x, src_key_padding_mask=second)
            return found

    module = Two().eval()
    with watch_attention(module) as watched, torch.no_grad():
        module(states(2, 5, 8), PADDING)
        module(states(2, 5, 8), None)
    assert watched.attention(TOKENS[:3], item=1, call=0).weights().shape == (2, 2, 3, 3)
    with pytest.raises(ValueError, match=naming("'self'", "5 queries", "3", "key_tokens")):
        watched.attention(TOKENS[:3], item=1, call=1)
    assert (watched.attention(TOKENS, item=1, call=1).weights(1)[..., 3:] > 0).all()


def test_a_wrong_hint_of_causality_is_read_as_torch_computes_it() -> None:
    """Torch takes the hint in place of the mask where no weights are needed."""
    module = nn.MultiheadAttention(8, 2, batch_first=True)
    given = states(1, 5, 8)
    mask = torch.zeros(5, 5)
    with watch_attention(module) as watched:
        module(given, given, given, attn_mask=mask, is_causal=True, need_weights=False)
        module(given, given, given, attn_mask=mask, is_causal=True, need_weights=True)
    assert not np.triu(watched.attention(call=0).weights(0, 0), 1).any()
    assert (watched.attention(call=1).weights(0, 0) > 0).all()


def test_long_inputs_have_tiles_and_no_whole_map() -> None:
    module = encoder(1).eval()
    with watch_attention(module) as watched, torch.no_grad():
        module(states(1, 1200, 8))
    found = watched.attention()
    assert found.is_long
    with torch_weights(module) as expected, torch.no_grad():
        module(states(1, 1200, 8))
    (wanted,) = expected["layers.0.self_attn"]
    tile = found.tile(0, 1, (1000, 1010), (5, 25))
    np.testing.assert_allclose(tile, wanted[0, 1, 1000:1010, 5:25], atol=1e-6)
