"""Networks of several kinds of attention: layers, rows and names are right, or refused by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from attnwidget import watch_attention
from refusals import naming

TOKENS = ["The", "cat", "sat", "on", "it"]
WORDS = ["a", "red", "fox"]


def states(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


class Block(nn.Module):
    """Attention with an option to compute its softmax by hand."""

    def __init__(self, *, fused: bool = True, drop: float = 0.0) -> None:
        super().__init__()
        self.qkv = nn.Linear(8, 24)
        self.drop = nn.Dropout(drop)
        self.fused_attn = fused
        self.weights: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.qkv(x).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 1, 4)
        self.weights = (0.5 * query @ key.mT).softmax(-1)
        if self.fused_attn:
            mixed = functional.scaled_dot_product_attention(query, key, value)
        else:
            mixed = self.drop(self.weights) @ value
        return x + mixed.transpose(1, 2).flatten(2)


class SoftmaxAsPart(nn.Module):
    """Attention by hand whose softmax is a module."""

    def __init__(self) -> None:
        super().__init__()
        self.to_q = nn.Linear(8, 8)
        self.to_k = nn.Linear(8, 8)
        self.softmax = nn.Softmax(-1)

    def forward(self, x: Tensor) -> Tensor:
        weights = self.softmax(self.to_q(x) @ self.to_k(x).mT)
        return x + torch.einsum("bqk,bkd->bqd", weights, x)


class TalkingHeads(Block):
    """Attention by hand whose weights are mixed between heads after the softmax."""

    def __init__(self) -> None:
        super().__init__(fused=False)
        del self.fused_attn
        self.mix = nn.Linear(2, 2)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.qkv(x).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 1, 4)
        weights = (query @ key.mT).softmax(-1)
        weights = self.mix(weights.movedim(1, -1)).movedim(-1, 1)
        return x + (weights @ value).transpose(1, 2).flatten(2)


class Unnamed(nn.Module):
    """Attention by hand without usual names, with a function of scores and values."""

    def __init__(self, outputs: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.mix = nn.Linear(8, 24)
        self.outputs = outputs

    def forward(self, x: Tensor) -> Tensor:
        first, second, value = self.mix(x).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 1, 4)
        return x + self.outputs(first @ second.mT, value).transpose(1, 2).flatten(2)


def difference_of_maps(scores: Tensor, value: Tensor) -> Tensor:
    maps = scores.softmax(-1)
    return (maps[:, :1] - 0.5 * maps[:, 1:]) @ value


def products_of_heads(scores: Tensor, value: Tensor) -> Tensor:
    heads = zip(scores.flatten(0, 1), value.flatten(0, 1), strict=True)
    products = [torch.mm(functional.softmin(-head, -1), values) for head, values in heads]
    return torch.stack(products).unflatten(0, (-1, 2))


class WithoutSoftmax(nn.Module):
    """Linear attention."""

    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(8, 8)
        self.key = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.query(x).relu() @ (self.key(x).relu().mT @ x)


class ClassAttention(nn.Module):
    """Attention of the first token to all tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.q = nn.Linear(8, 8)
        self.kv = nn.Linear(8, 16)

    def forward(self, x: Tensor) -> Tensor:
        query = self.q(x[:, :1]).unflatten(-1, (2, 4)).transpose(1, 2)
        key, value = self.kv(x).unflatten(-1, (2, 2, 4)).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value)
        return torch.cat([mixed.transpose(1, 2).flatten(2), x[:, 1:]], 1)


class ChannelAttention(nn.Module):
    """Attention between the channels of a head."""

    def __init__(self, *, fused: bool) -> None:
        super().__init__()
        self.qkv = nn.Linear(8, 24)
        self.fused = fused

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.qkv(x).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 4, 1)
        if self.fused:
            mixed = functional.scaled_dot_product_attention(query, key, value)
        else:
            mixed = (query @ key.mT).softmax(-1) @ value
        return x + mixed.permute(0, 3, 1, 2).flatten(2)


class ChannelsThenClass(nn.Module):
    """Attention between channels, then attention of the first token, as in XCiT.

    The blocks run twice.
    """

    def __init__(self, *, fused: bool) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([ChannelAttention(fused=fused) for _ in range(2)])
        self.class_blocks = nn.ModuleList([ClassAttention(), ClassAttention()])

    def forward(self, x: Tensor) -> Tensor:
        for block in (*self.blocks, *self.blocks, *self.class_blocks):
            x = block(x)
        return x


class Mixer(nn.Module):
    """A layer without attention, which has a softmax."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.gate(x).softmax(-1)


BY_HAND: dict[str, Callable[[], nn.Module]] = {
    "plain": lambda: Block(fused=False),
    "dropout": lambda: Block(fused=False, drop=0.1),
    "softmax as a part": SoftmaxAsPart,
    "talking heads": TalkingHeads,
    "difference of maps": lambda: Unnamed(difference_of_maps),
    "products of heads": lambda: Unnamed(products_of_heads),
    "special functions": lambda: Unnamed(
        lambda scores, value: torch.einsum(
            "bhqk,bhkd->bhqd", torch.special.softmax(scores, -1), value
        )
    ),
    "channels": lambda: ChannelAttention(fused=False),
    "without softmax": WithoutSoftmax,
}


@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.parametrize("kind", BY_HAND)
def test_a_stack_with_a_layer_that_is_not_read_is_refused_by_name(kind: str, position: int) -> None:
    network = nn.Sequential(Block(), Block(), Block())
    network[position] = BY_HAND[kind]()
    with watch_attention(network) as watched:
        network(states(1, 5, 8))
    assert "1 attention module not read" in repr(watched)
    name = type(network[position]).__name__
    other = 1 if position == 0 else 0
    with pytest.raises(ValueError, match=naming(f"'{position}' ({name})", f"module[{other}]")):
        watched.attention(TOKENS)


def test_the_error_names_the_option_that_helps() -> None:
    network = nn.ModuleDict({"blocks": nn.Sequential(Block(fused=False), Block())})
    with watch_attention(network) as watched:
        network["blocks"](states(1, 5, 8))
    with pytest.raises(
        ValueError, match=naming("'blocks.0'", "module.blocks[0].fused_attn = True")
    ):
        watched.attention(TOKENS)
    network["blocks"][0].fused_attn = True
    with watch_attention(network) as watched:
        network["blocks"](states(1, 5, 8))
    found = watched.attention(TOKENS)
    assert found.n_layers == 2 and not found.note
    for layer, block in enumerate(network["blocks"]):
        np.testing.assert_allclose(found.weights(layer), block.weights[0].detach(), atol=1e-6)


class ClassAttentionByHand(ClassAttention):
    """Attention of the first token to all tokens, with an option to compute its softmax by hand."""

    def __init__(self, *, fused: bool) -> None:
        super().__init__()
        self.fused_attn = fused

    def forward(self, x: Tensor) -> Tensor:
        if self.fused_attn:
            return super().forward(x)
        weights = (self.q(x[:, :1]) @ self.kv(x)[..., :8].mT).softmax(-1)
        return torch.cat([weights @ self.kv(x)[..., 8:], x[:, 1:]], 1)


class ToWords(nn.Module):
    """Attention to words, with an option to compute its softmax by hand."""

    def __init__(self, *, fused: bool) -> None:
        super().__init__()
        self.to_q = nn.Linear(8, 8)
        self.to_k = nn.Linear(8, 8)
        self.fused_attn = fused

    def forward(self, x: Tensor, words: Tensor) -> Tensor:
        query = self.to_q(x)[:, None]
        key = self.to_k(words)[:, None]
        if self.fused_attn:
            mixed = functional.scaled_dot_product_attention(query, key, key)
        else:
            mixed = (query @ key.mT).softmax(-1) @ key
        return x + mixed[:, 0]


@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize("n_words", [3, 5])
def test_a_stack_of_cross_attention_with_a_layer_by_hand_is_refused(
    n_words: int, position: int
) -> None:
    class Layer(nn.Module):
        def __init__(self, *, fused: bool) -> None:
            super().__init__()
            self.attn1 = Block()
            self.attn2 = ToWords(fused=fused)

        def forward(self, x: Tensor, words: Tensor) -> Tensor:
            found: Tensor = self.attn2(self.attn1(x), words)
            return found

    class Layers(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([Layer(fused=number != position) for number in range(2)])

        def forward(self, x: Tensor, words: Tensor) -> Tensor:
            for layer in self.layers:
                x = layer(x, words)
            return x

    network = Layers()
    given = states(1, 5, 8), states(1, n_words, 8, seed=2)
    with watch_attention(network) as watched:
        network(*given)
    option = f"module.layers[{position}].attn2.fused_attn = True"
    with pytest.raises(ValueError, match=naming(f"'layers.{position}.attn2'", "'cross'", option)):
        watched.attention()


@pytest.mark.parametrize("position", [0, 1])
def test_a_stack_of_class_attention_with_a_layer_by_hand_is_refused(position: int) -> None:
    network = nn.Sequential(
        *(ClassAttentionByHand(fused=number != position) for number in range(2))
    )
    with watch_attention(network) as watched:
        network(states(2, 5, 8))
    with pytest.raises(
        ValueError, match=naming(f"'{position}' (ClassAttentionByHand)", f"module[{1 - position}]")
    ):
        watched.attention()


@pytest.mark.parametrize("kind", BY_HAND)
def test_a_network_by_hand_is_refused_by_name(kind: str) -> None:
    network = nn.Sequential(BY_HAND[kind](), BY_HAND[kind]())
    with watch_attention(network) as watched:
        network(states(1, 5, 8))
    with pytest.raises(ValueError, match=naming("'0'", "and 1 more")):
        watched.attention(TOKENS)


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (TalkingHeads, "(TalkingHeads) and 1 more compute a softmax by hand (let them call"),
        (lambda: Block(fused=False), "by hand (set module.blocks[0].fused_attn = True"),
        (
            lambda: ChannelAttention(fused=False),
            "(ChannelAttention) and 1 more attend between channels, not tokens",
        ),
        (WithoutSoftmax, "have queries and keys, and call no function that is watched"),
    ],
)
def test_a_note_names_a_stack_that_is_not_read(first: Callable[[], nn.Module], said: str) -> None:
    class TwoParts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList([first(), first()])
            self.class_blocks = nn.ModuleList([ClassAttention(), ClassAttention()])

        def forward(self, x: Tensor) -> Tensor:
            for block in (*self.blocks, *self.class_blocks):
                x = block(x)
            return x

    network = TwoParts()
    with watch_attention(network) as watched:
        network(states(2, 5, 8))
    found = watched.attention(item=1)
    assert {name: stack.n_layers for name, stack in found.stacks.items()} == {"cross": 2}
    assert "not read: 'blocks.0' (" in found.note and said in found.note
    assert "not read: 'blocks.0'" in repr(found)


def test_layers_without_attention_and_weights_for_a_look_are_not_missing() -> None:
    network = nn.Sequential(Block(), Mixer(), Block())
    with watch_attention(network) as watched:
        network(states(1, 5, 8))
    found = watched.attention(TOKENS)
    assert found.note == "layer 1 has no attention" and "not read" not in repr(watched)
    for layer in (0, 2):
        weights = network[layer].weights
        assert weights is not None
        np.testing.assert_allclose(found.weights(layer), weights[0].detach(), atol=1e-6)


@pytest.mark.parametrize("make", [nn.Sequential, lambda *layers: nn.ModuleList(layers)])
@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_layers_have_the_numbers_of_their_paths(
    make: Callable[..., nn.Sequential | nn.ModuleList], order: tuple[int, ...]
) -> None:
    class Ordered(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = make(Mixer(), Block(), Block())

        def forward(self, x: Tensor) -> Tensor:
            for number in order:
                x = self.layers[number](x)
            return x

    network = Ordered()
    with watch_attention(network) as watched:
        network(states(1, 5, 8))
    found = watched.attention(TOKENS)
    assert found.stacks["self"].layers.numbers == (1, 2)
    for number in (1, 2):
        weights = network.layers[number].weights
        np.testing.assert_allclose(found.weights(number), weights[0].detach(), atol=1e-6)  # type: ignore[union-attr, index]


def test_an_encoder_behind_an_embedding_counts_from_0() -> None:
    for n_layers in (1, 2):
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        encoder = nn.TransformerEncoder(layer, n_layers, enable_nested_tensor=False)
        network = nn.Sequential(nn.Linear(8, 8), encoder, nn.Linear(8, 2)).eval()
        with watch_attention(network) as watched:
            network(states(1, 5, 8))
        found = watched.attention(TOKENS)
        assert found.n_layers == n_layers and found.note == ""


class Differential(nn.Module):
    """Two attentions in each run, of which the second is subtracted."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(8, 24)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.qkv(x).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 1, 4)
        first = functional.scaled_dot_product_attention(query, key, value)
        second = functional.scaled_dot_product_attention(-query, key, value)
        return x + (first - 0.5 * second).transpose(1, 2).flatten(2)


@pytest.mark.parametrize(
    ("n_layers", "note"),
    [
        (1, "'0' computed attention 2 times, and each time is a layer"),
        (2, "'0' and 1 more computed attention several times, and each time is a layer"),
    ],
)
def test_modules_with_two_attentions_are_named(n_layers: int, note: str) -> None:
    network = nn.Sequential(*(Differential() for _ in range(n_layers)))
    with watch_attention(network) as watched:
        network(states(1, 5, 8))
    found = watched.attention(TOKENS)
    assert found.n_layers == 2 * n_layers and found.note == note


def test_the_error_about_unequal_layers_names_a_part_with_equal_layers() -> None:
    class Pyramid(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stages = nn.ModuleList(
                nn.Sequential(*(Block() for _ in range(count))) for count in (1, 3, 2)
            )

        def forward(self, x: Tensor) -> Tensor:
            for stage in self.stages:
                x = stage(x[:, ::2])
            return x

    network = Pyramid()
    given = states(2, 40, 8)
    with watch_attention(network) as watched:
        network(given)
    with pytest.raises(
        ValueError, match=naming("watch_attention(module.stages[1])", "'stages.0.0'")
    ):
        watched.attention()
    with watch_attention(network.stages[1]) as watched:
        network(given)
    assert watched.attention(item=1).n_layers == 3


def test_the_note_has_the_paths_of_layers_in_a_later_stage() -> None:
    network = nn.ModuleList(
        [nn.Sequential(Mixer(), Mixer()), nn.Sequential(Block(), Block()), nn.Sequential(Block())]
    )

    class Stages(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stages = network

        def forward(self, x: Tensor) -> Tensor:
            for stage in self.stages:
                x = stage(x)
            return x

    with watch_attention(module := Stages()) as watched:
        module(states(1, 5, 8))
    found = watched.attention(TOKENS)
    assert found.note == "layer 0 is 'stages.1.0', and layer 2 is 'stages.2.0'"


class Folded(nn.Module):
    """A network that moves an axis of its inputs into the batch, and attends there."""

    def __init__(self, fold: Callable[[Tensor], Tensor], attend: nn.Module | None = None) -> None:
        super().__init__()
        self.fold = fold
        self.attend = Block() if attend is None else attend

    def forward(self, x: Tensor, *_: object) -> Tensor:
        rows = self.fold(x)
        found: Tensor
        if isinstance(self.attend, nn.MultiheadAttention):
            found = self.attend(rows, rows, rows)[0]
        else:
            found = self.attend(rows)
        return found


def to_width(x: Tensor) -> Tensor:
    return x.repeat_interleave(8, -1) if x.shape[-1] == 1 else x[..., :8]


FOLDED: dict[str, tuple[tuple[int, ...], Callable[[Tensor], Tensor]]] = {
    "channels": ((2, 20, 3), lambda x: to_width(x.transpose(1, 2).flatten(0, 1)[..., None])),
    "frames": ((2, 4, 5, 8), lambda x: x.flatten(0, 1)),
    "windows": ((2, 20, 8), lambda x: x.unflatten(1, (4, 5)).flatten(0, 1)),
    "one input": ((1, 4, 5, 8), lambda x: x.flatten(0, 1)),
    "as many channels as time steps": (
        (2, 6, 3),
        lambda x: to_width(x.transpose(1, 2).flatten(0, 1)[..., None]),
    ),
}


@pytest.mark.parametrize("attention", ["block", "torch"])
@pytest.mark.parametrize("kind", FOLDED)
def test_rows_of_a_batch_that_are_no_inputs_are_refused(kind: str, attention: str) -> None:
    shape, fold = FOLDED[kind]
    attend = nn.MultiheadAttention(8, 2, batch_first=True) if attention == "torch" else None
    network = Folded(fold, attend)
    given = states(*shape)
    with watch_attention(network) as watched:
        network(given)
    with pytest.raises(
        ValueError, match=naming("watch_attention(module.attend)", "'attend'", "rows")
    ):
        watched.attention(item=0)
    rows = fold(given)
    with watch_attention(network.attend) as watched:
        network(given)
    with watch_attention(network.attend) as alone:
        if attention == "torch":
            network.attend(*[rows[-1:]] * 3)
        else:
            network.attend(rows[-1:])
    found = watched.attention(item=len(rows) - 1)
    np.testing.assert_allclose(found.weights(0), alone.attention().weights(0), atol=1e-6)


def test_the_error_names_the_axis_that_was_folded() -> None:
    network = Folded(FOLDED["channels"][1])
    with watch_attention(network) as watched:
        network(states(2, 20, 3))
    with pytest.raises(ValueError, match=naming("6 rows", "3 for", "axis 2")):
        watched.attention()


def test_inputs_that_run_one_by_one_are_refused() -> None:
    class OneByOne(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attend = Block()

        def forward(self, x: Tensor) -> Tensor:
            return torch.cat([self.attend(row[None]) for row in x])

    network = OneByOne()
    with watch_attention(network) as watched:
        network(states(3, 5, 8))
    with pytest.raises(ValueError, match=naming("[3, 5, 8]", "'attend'", "1 row")):
        watched.attention()


ROWS: dict[str, tuple[Callable[[], nn.Module], tuple[Any, ...], int]] = {
    "tokens first": (
        lambda: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(8, 2, 16), 2, enable_nested_tensor=False
        ),
        (states(2, 6, 8),),
        5,
    ),
    "tokens first, own attention": (
        lambda: Folded(lambda x: x.transpose(0, 1)),
        (states(5, 3, 8),),
        2,
    ),
    "no batch": (lambda: Folded(lambda x: x[None]), (states(5, 8),), 0),
    "no batch, a picture": (
        lambda: Folded(lambda x: x.flatten(1).unflatten(1, (-1, 8))[:1]),
        (states(3, 8, 8),),
        0,
    ),
    "with a mask": (lambda: Folded(lambda x: x), (states(3, 5, 8), torch.zeros(5, 5)), 2),
    "a list": (
        lambda: Folded(lambda x: torch.stack(x)),  # type: ignore[arg-type]
        ([states(5, 8), states(5, 8, seed=2)],),
        1,
    ),
}


@pytest.mark.parametrize("kind", ROWS)
def test_rows_that_are_inputs_are_read(kind: str) -> None:
    make, given, last = ROWS[kind]
    network = make().eval()
    with watch_attention(network) as watched:
        network(*given)
    assert watched.attention(item=last).note == ""
    with pytest.raises(ValueError, match=naming(f"input {last + 1}", f"0 to {last}")):
        watched.attention(item=last + 1)


def test_towers_may_have_different_numbers_of_inputs() -> None:
    class Towers(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.text = nn.ModuleList([Block()])
            self.image = nn.ModuleList([Block()])

        def forward(self, text: Tensor, image: Tensor) -> Tensor:
            return self.text[0](text).mean() + self.image[0](image).mean()

    network = Towers()
    with watch_attention(network) as watched:
        network(states(2, 5, 8), states(3, 4, 8))
    assert list(watched.attention(TOKENS, item=1).stacks) == ["self", "vision"]


def test_learned_queries_are_read_for_every_input() -> None:
    class Pooled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.queries = nn.Parameter(states(1, 2, 3, 4))
            self.kv = nn.Linear(8, 16)

        def forward(self, x: Tensor) -> Tensor:
            key, value = self.kv(x).unflatten(-1, (2, 2, 4)).permute(2, 0, 3, 1, 4)
            return functional.scaled_dot_product_attention(self.queries, key, value)

    network = Pooled()
    given = states(2, 5, 8)
    with watch_attention(network) as watched:
        network(given)
    key = network.kv(given[1])[:, :8].unflatten(-1, (2, 4)).transpose(0, 1)
    wanted = (0.5 * network.queries[0] @ key.mT).softmax(-1).detach()
    found = watched.attention(["a", "b", "c"], key_tokens=TOKENS, item=1)
    np.testing.assert_allclose(found.weights(0), wanted, atol=1e-6)


def test_a_data_class_of_inputs_is_compared() -> None:
    @dataclass
    class Series:
        values: Tensor

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attend = Block()

        def forward(self, series: Series) -> Tensor:
            found: Tensor = self.attend(series.values.flatten(0, 1))
            return found

    network = Reader()
    with watch_attention(network) as watched:
        network(Series(states(2, 3, 5, 8)))
    with pytest.raises(ValueError, match=naming("6 rows", "3 for", "axis 1")):
        watched.attention(item=1)


@pytest.mark.slow
def test_passes_of_tensors_without_numbers_run_and_are_refused() -> None:
    network = Block().to("meta")
    with watch_attention(network) as watched:
        network(torch.empty(1, 5, 8, device="meta"))
    with pytest.raises(ValueError, match=naming("module", "record", "outputs of torch")):
        watched.attention()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_a_vectorized_pass_runs_and_is_refused() -> None:
    network = Block()
    with watch_attention(network) as watched:
        many = torch.vmap(network)(states(2, 1, 5, 8))
    assert many.shape == (2, 1, 5, 8)
    with pytest.raises(ValueError, match=naming("module", "record", "outputs of torch")):
        watched.attention()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
def test_a_network_with_flex_attention_runs_and_is_refused_by_name() -> None:
    """The function compiles itself in each call."""
    flex = pytest.importorskip("torch.nn.attention.flex_attention")

    class Flexible(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv = nn.Linear(16, 48)

        def forward(self, x: Tensor) -> Tensor:
            query, key, value = self.qkv(x).unflatten(-1, (3, 1, 16)).permute(2, 0, 3, 1, 4)
            return x + flex.flex_attention(query, key, value)[:, 0]

    network = nn.Sequential(Flexible(), Flexible())
    given = states(2, 5, 16)
    with torch.no_grad():
        wanted = network(given)
        with watch_attention(network) as watched:
            torch.testing.assert_close(network(given), wanted)
    with pytest.raises(ValueError, match=naming("'0' (Flexible)", "scaled_dot_product_attention")):
        watched.attention()


@pytest.mark.parametrize("kind", ["torch", "own"])
def test_tokens_of_the_number_of_channels_are_tokens(kind: str) -> None:
    """There are as many queries as channels of a head, and they have the size of a head."""
    attend = ATTENTIONS[kind]()
    words = states(1, 3, 8, seed=2)
    with watch_attention(attend) as watched:
        attend(states(1, 4, 8), *[words] * (2 if kind == "torch" else 1))
    found = watched.attention(["a", "b", "c", "d"], key_tokens=WORDS)
    assert list(found.stacks) == ["cross"]


@pytest.mark.parametrize("fused", [True, False])
def test_attention_between_channels_is_refused(*, fused: bool) -> None:
    network = ChannelAttention(fused=fused)
    with watch_attention(network) as watched:
        network(states(1, 5, 8))
    with pytest.raises(
        ValueError, match=naming("ChannelAttention", "between channels", "Attention.from_weights")
    ):
        watched.attention()


@pytest.mark.parametrize("fused", [True, False])
def test_attention_to_tokens_is_read_behind_attention_between_channels(*, fused: bool) -> None:
    network = ChannelsThenClass(fused=fused)
    with watch_attention(network) as watched:
        network(states(2, 5, 8))
    found = watched.attention(item=1)
    assert {name: stack.n_layers for name, stack in found.stacks.items()} == {"cross": 2}
    assert "'blocks.0' (ChannelAttention) and 1 more attend between channels" in found.note
    network.blocks[1] = Block()
    with watch_attention(network) as watched:
        network(states(2, 5, 8))
    with pytest.raises(ValueError, match=naming("'blocks.0'", "channels", "module.blocks[1]")):
        watched.attention(item=1)


class Attend(nn.Module):
    """A part that gets queries, keys and values from its parent."""

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return functional.scaled_dot_product_attention(query, key, value)


class Rotation(nn.Module):
    """A position encoding of queries and keys."""

    def forward(self, query: Tensor, key: Tensor, angle: Tensor) -> tuple[Tensor, Tensor]:
        return query * angle.cos(), key * angle.sin()


class FromContext(nn.Module):
    """Attention to a context, or to the states themselves."""

    def __init__(self) -> None:
        super().__init__()
        self.to_q = nn.Linear(8, 8)
        self.to_kv = nn.Linear(8, 16)
        self.rotation = Rotation()
        self.attend = Attend()

    def forward(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        kept = x if context is None else context
        query = self.to_q(x).unflatten(-1, (2, 4)).transpose(1, 2)
        key, value = self.to_kv(kept).unflatten(-1, (2, 2, 4)).permute(2, 0, 3, 1, 4)
        query, key = self.rotation(query, key, torch.ones(4))
        return x + self.attend(query, key, value).transpose(1, 2).flatten(2)


class Denoiser(nn.Module):
    """Stages of self-attention and of cross-attention to words and to a further memory."""

    def __init__(self, attention: Callable[[], nn.Module], n_memories: int = 1) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.down = nn.ModuleList([attention() for _ in range(2)])
        self.mid = attention()
        self.up = nn.ModuleList([attention()])
        self.other = nn.ModuleList([attention()] if n_memories > 1 else [])

    def forward(self, x: Tensor, words: Tensor, memory: Tensor | None = None) -> Tensor:
        words = self.norm(words)
        for stage in (*self.down, self.mid):
            x = x + self._run(stage, x, words)
        for stage in self.other:
            assert memory is not None
            x = x + self._run(stage, x, memory)
        return self._run(self.up[0], x.repeat(1, 2, 1), words)

    def _run(self, stage: nn.Module, x: Tensor, words: Tensor) -> Tensor:
        found: Tensor
        if isinstance(stage, nn.MultiheadAttention):
            found = stage(x, words, words)[0]
        else:
            found = stage(x, words)
        return found


ATTENTIONS = {
    "torch": lambda: nn.MultiheadAttention(8, 2, batch_first=True),
    "own": FromContext,
}


@pytest.mark.parametrize("kind", ATTENTIONS)
@pytest.mark.parametrize("n_words", [3, 5])
def test_attended_words_have_their_names_in_every_stage(kind: str, n_words: int) -> None:
    """A memory as long as the queries is a memory all the same."""
    network = Denoiser(ATTENTIONS[kind])
    with watch_attention(network) as watched:
        network(states(1, 5, 8), states(1, n_words, 8, seed=2))
    words = [f"w{number}" for number in range(n_words)]
    stacks = watched.attention(TOKENS, key_tokens=words).stacks
    assert len(stacks) == 3
    assert all(list(stack.key.text) == words for stack in stacks.values()), stacks
    assert list(stacks["cross"].query.text) == TOKENS
    # Nobody has named the keys.
    stacks = watched.attention(TOKENS).stacks
    assert all(stack.key.text[0] == "0" for stack in stacks.values())


@pytest.mark.parametrize("kind", ATTENTIONS)
def test_a_further_memory_does_not_take_the_names_of_the_first(kind: str) -> None:
    network = Denoiser(ATTENTIONS[kind], n_memories=2)
    with watch_attention(network) as watched:
        network(states(1, 5, 8), states(1, 3, 8, seed=2), states(1, 3, 8, seed=3))
    stacks = watched.attention(key_tokens=WORDS).stacks
    named = {name: list(stack.key.text) == WORDS for name, stack in stacks.items()}
    assert sum(named.values()) == 3 and [name for name in named if not named[name]] == [
        next(name for name in named if "other" in name)
    ]


def test_queries_and_keys_of_the_same_states_are_of_one_sequence() -> None:
    network = FromContext()
    given = states(1, 5, 8)
    for context in (None, given, given.clone()):
        with watch_attention(network) as watched:
            network(given, context)
        assert list(watched.attention(TOKENS).stacks) == ["self"]
        with pytest.raises(ValueError, match=naming("key_tokens", "FromContext")):
            watched.attention(TOKENS, key_tokens=TOKENS)


def test_an_encoder_takes_no_names_from_the_decoder() -> None:
    network = nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    with watch_attention(network) as watched:
        network(states(1, 5, 8), states(1, 5, 8, seed=2))
    stacks = watched.attention(TOKENS).stacks
    assert list(stacks["decoder"].key.text) == TOKENS
    for name in ("encoder", "cross"):
        assert list(stacks[name].key.text) == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_a_call_whose_record_gives_other_outputs_is_refused(
    dropout: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later release of torch may take another scale where none is given."""
    fused = functional.scaled_dot_product_attention

    def sharper(*states: Tensor, scale: float | None = None, **kwargs: Any) -> Tensor:
        if torch.overrides.has_torch_function(states):
            return torch.overrides.handle_torch_function(
                sharper, states, *states, scale=scale, **kwargs
            )
        return fused(*states, scale=2.0 if scale is None else scale, **kwargs)

    monkeypatch.setattr(functional, "scaled_dot_product_attention", sharper)

    class Own(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            query = x.unflatten(-1, (2, 4)).transpose(1, 2)
            return functional.scaled_dot_product_attention(query, query, query, dropout_p=dropout)

    network = Own()
    with watch_attention(network) as watched:
        network(states(1, 5, 8))
    with pytest.raises(ValueError, match=naming("other outputs", "torch's")):
        watched.attention(TOKENS)
