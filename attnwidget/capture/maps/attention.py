"""Attention: the weights of every head in a model for one input, computed on request."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.cut_inputs import cut_to, says_cuts
from attnwidget.capture.maps.combine_heads import (
    HIDES_HEADS,
    NO_SHARES,
    Combination,
    Each,
    HeadsToCombine,
    LayerChoice,
    combine_heads,
)
from attnwidget.capture.maps.comparable_maps import (
    has_same_axes,
    on_common_axes,
    refuse_incomparable,
)
from attnwidget.capture.maps.edited_attention import refuse_edited
from attnwidget.capture.maps.from_weights import axes_of_stack, layers_of_weights, weights_by_stack
from attnwidget.capture.maps.head_maps import HeadMaps, check_room
from attnwidget.capture.maps.head_scores import HeadScores, head_scores
from attnwidget.capture.maps.input_reading import Reading
from attnwidget.capture.maps.layer import Layer
from attnwidget.capture.maps.layer_steps import layer_done
from attnwidget.capture.maps.named_rows import ROWS_OF_A_TOKEN, named_rows
from attnwidget.capture.maps.python_call import YOURS, Call, call
from attnwidget.capture.maps.stack_axes import Stack, checked_place
from attnwidget.capture.maps.stack_maps import StackMaps
from attnwidget.capture.maps.top_links import Part, Sentences, check_part, top_links
from attnwidget.capture.maps.weights_frame import frame_of_maps, weights_frame
from attnwidget.capture.maps.word_attention import WordAttention
from attnwidget.capture.model_lock import ModelLock
from attnwidget.capture.tapping.edit_methods import REFERRING, EditMethod
from attnwidget.capture.tapping.head import (
    Head,
    HeadName,
    listed_heads,
    takes_head,
)
from attnwidget.capture.tapping.layer_numbers import LayerNumbers
from attnwidget.capture.tapping.link_edit import LinkEdit
from attnwidget.hidden_frames import hides_frames
from attnwidget.inputs.token_axes import plain_axis
from attnwidget.kernels.array_library import as_numpy, as_torch
from attnwidget.kernels.arrays import Float32Array
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.text.counted import counted
from attnwidget.text.link_ends import LinkName
from attnwidget.text.missing_names import MissingNames
from attnwidget.text.option_names import other_options
from attnwidget.text.place_of_token import TokenName
from attnwidget.text.places import Media, Place, Sound, picture_array
from attnwidget.text.tokens import Tokens
from attnwidget.text.whole_number import whole_number

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

    from attnwidget.capture.answers.losses import Loss
    from attnwidget.capture.maps.products import ScoreParts

_NO_GRADIENTS = (
    "no loss was given; model.attend(text, loss='auto') takes the gradients of the loss that the "
    "model was trained with"
)
_NO_NORMS = (
    "it was made of weights alone; load_model(model, tokenizer).attend(text) keeps what norms need"
)
_NO_OUTPUT = (
    "it was made of queries and keys; Attention.from_queries_keys(..., values=..., output=...) "
    "has norms"
)

# Approximate size of a table row while the table is made, in bytes.
_ROW_BYTES = 96
# Answers the option `quantity`, which figures have.
_QUANTITIES = "norms(layer, head) or gradients(layer, head)"

# Remarks about an attention. Pages show the first; only Python shows the others.
NO_MODEL = (
    "heads are switched off in a model, and this attention is of given weights or of given queries "
    "and keys, is a mean or maximum of heads, was made in a block of `disabled`, or was pickled or "
    "copied without its model"
)
_WORDS_UNKNOWN = (
    "each token is a word, because the vocabulary shows no words: a text or a list of words tells "
    "them"
)
NOT_READ_AGAIN = f"{NO_MODEL}: make one with load_model(...).attend(text), outside of such a block"


class Attention(MissingNames):
    """The attention of one input, in every layer and head of a model.

    Made by `AttentionModel.attend`, `Attention.from_queries_keys` or `Attention.from_weights`. An
    attention stores queries and keys and computes maps on request. If a layer cannot be computed
    from queries and keys, its weights are stored, and `note` says so. Weights equal the model's own
    weights to 3e-6 in float32, and to about 1e-5 in long inputs. Rows sum to 1, except in models
    with attention sinks (`row_sums`).

    An attention also has norms ||a f(x)||, which measure how far a weight moves the output. With a
    loss, gradients |dL/da| measure how much a weight matters for the loss (`quantities`). `words`
    has the same maps between words.

    Layers and heads count from 0, and layers have the model's own numbers. Hybrid models have
    layers without attention: arrays over all layers are NaN there, and a request for one of these
    layers is an error. `stack` may be left out if there is one stack.

    Pickles and deep copies have all maps, but no model: they cannot be read again (`without`), and
    gradients of another loss need the text. A long input (`is_long`) cannot be pickled.

    Attributes:
        model_name: Name of the model, or the name passed to `from_weights` or `from_queries_keys`.
        edits: Heads that were off and links that were scaled when the attention was read
            (`AttentionModel.disabled`, `AttentionModel.scaled_links`); "" if there were none.
        n_prompt: Number of prompt tokens if the model generated the rest, otherwise None.
        loss: Loss of the gradients; None without gradients.
        reading: Input, which the model can read again; None for weights or queries and keys from
            elsewhere, and for an attention read with heads off.
        intact: Attention before `disabled` switched heads off or `scaled_links` scaled links;
            otherwise the attention itself.
        disabled_heads: Heads that `disabled` switched off.
        disabled_method: Replacement of their outputs; None for the default of the model.
        link_edits: Links that `scaled_links` scaled.
        made_by: Python call that made the attention, or None if unknown.
        source_text: Text as it was passed to the model, or two texts joined by a space; "" if
            unknown.
        media: Pictures and sounds that the token regions belong to.
        head_maps: Maps behind the methods, for other modules of the package.

    Example:
        >>> from attnwidget import load_model
        >>> attention = load_model().attend("The cat sat.")
        >>> attention.n_layers, attention.n_heads, attention.tokens[1:3]
        (6, 12, ['the', 'cat'])
        >>> attention.weights(layer=2, head=3).shape
        (6, 6)
    """

    _other_names: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "array": "weights(layer, head)",
            "attended_by": "rows(layer, head, query)",
            "attentions": "weights(), or weights(layer, head)",
            "entropy": "measure_attention(attention, ['entropy'])",
            "explain": "link_factors(attention, head, query, key) of attnwidget.mechanisms",
            "explain_link": "explain_link(attention, head, query, key) of attnwidget.mechanisms",
            "factors": "link_factors(attention, head, query, key) of attnwidget.mechanisms",
            "heads": "n_heads, or to_frame() for all weights",
            "heatmap": "HeadView(attention, 'L1 H3', mode='matrix')",
            "layer": "weights(layer)",
            "layers": "n_layers, or weights(layer)",
            "links": "top_links(layer, head)",
            "load": "pickle.load(file)",
            "measure": "measure_attention(attention, ['entropy'])",
            "most_attended": "top_links(layer, head, query='he')",
            "numpy": "weights(layer, head), which is an array",
            "plot": "HeadView(attention, 'L1 H3') or HeadGrid(attention)",
            "rollout": "attention_rollout(attention) of attnwidget.metrics",
            "save": "save_page(attention, 'page.html'), or pickle.dump(attention, file)",
            "reasons": "link_factors(attention, head, query, key) of attnwidget.mechanisms",
            "shape": "n_layers, n_heads and len(attention.tokens), or weights(layer).shape",
            "show": "HeadView(attention, 'L1 H3') or HeadGrid(attention)",
            "strongest": "top_links(layer, head), or top_links(query='he', key='captain')",
            "top_heads": "top_links(query='he', key='captain')",
            "to_numpy": "weights(layer, head), which is an array",
            "to_tensor": "torch.from_numpy(attention.weights(layer, head))",
            "why": "link_factors(attention, head, query, key) of attnwidget.mechanisms",
            "without": "disabled(heads)",
            "without_heads": "disabled(heads)",
        }
    )

    def __init__(
        self,
        layers: Mapping[str, Sequence[Layer]],
        axes: Mapping[str, tuple[Tokens, Tokens]],
        *,
        model_name: str,
        n_prompt: int | None = None,
        lock: ModelLock | None = None,
        no_norms: str = "",
        remarks: Sequence[str] = (),
        loss: Loss | None = None,
        edits: str = "",
        reading: Reading[Attention] | None = None,
        numbers: Mapping[str, LayerNumbers] | None = None,
        combined: Mapping[str, Stack] | None = None,
        combination: Combination | None = None,
        media: Media | None = None,
    ) -> None:
        stacks: dict[str, Stack] = {}
        by_number: dict[str, dict[int, Layer]] = {}
        for name, stack_layers in layers.items():
            layer_numbers = LayerNumbers.without((), len(stack_layers))
            if numbers is not None:
                layer_numbers = numbers.get(name, layer_numbers)
            by_number[name] = dict(zip(layer_numbers.numbers, stack_layers, strict=True))
            stacks[name] = Stack(
                name,
                layer_numbers.n_layers,
                stack_layers[0].n_heads,
                stack_layers[0].n_key_heads,
                *axes[name],
                layer_numbers.layers_without_attention,
            )
        stacks |= combined or {}
        self.media = Media() if media is None else media
        for stack in stacks.values():
            self.media.check(stack.query.places)
            self.media.check(stack.key.places)
        self.model_name = model_name
        self.n_prompt = n_prompt
        self.loss = loss
        self.edits = edits
        self.reading = reading
        self.intact = self
        self.disabled_heads: tuple[Head, ...] = ()
        self.disabled_method: EditMethod | None = None
        self.link_edits: tuple[LinkEdit, ...] = ()
        self.made_by: Call | None = None
        self.source_text = ""
        self.head_maps = HeadMaps(
            by_number,
            stacks,
            lock if lock is not None else ModelLock(),
            model_name=model_name,
            missing={"norms": no_norms, "gradients": "" if loss else _NO_GRADIENTS},
            combination=combination,
        )
        self._remarks = tuple(remarks)

    def __copy__(self) -> Attention:
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        return copy

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickles and deep copies, without the model."""
        state = {name: value for name, value in self.__dict__.items() if name != "words"}
        return state | {"reading": None}

    @property
    def stacks(self) -> dict[str, Stack]:
        """The stacks of layers by name, in computation order."""
        return self.head_maps.stacks

    @property
    def n_layers(self) -> int:
        """Number of layers in the first stack."""
        return next(iter(self.stacks.values())).n_layers

    @property
    def n_heads(self) -> int:
        """Number of heads per layer in the first stack."""
        return next(iter(self.stacks.values())).n_heads

    @property
    def tokens(self) -> list[str]:
        """The attending tokens of the first stack."""
        return list(next(iter(self.stacks.values())).query.text)

    @property
    def images(self) -> tuple[NDArray[np.uint8], ...]:
        """The pictures that the model read, each uint8 [height, width, 3]."""
        return self.media.pictures

    @property
    def audio(self) -> tuple[Sound, ...]:
        """The sounds that the model read."""
        return self.media.sounds

    @property
    def special(self) -> list[str]:
        """Kind of each special token in `tokens` (`Tokens.special`), "" for other tokens."""
        return list(next(iter(self.stacks.values())).query.special)

    @property
    def note(self) -> str:
        """A remark for readers of figures, or "" if there is none.

        The remark names edited heads, a long input (`is_long`), how many layers store weights in
        place of queries and keys, layers without attention, and a stack that is not shown because
        its attention is local or sparse (the LED and LongT5 encoders). It also names modules whose
        weights are missing in the model files, and vocabulary ids without known words: if the
        vocabulary does not show where words begin, every token is a word. For texts it names
        special tokens in the text, and for chats the messages that the chat template leaves out.
        For truncated inputs it gives the number of tokens that were read (`cut`). For a mean or a
        maximum of heads, the note warns of what it hides.
        """
        if self.head_maps.combination is not None:
            return ", ".join(filter(None, self._remarks))
        stores_weights = [layer.weights.keeps_maps for layer in self.head_maps.all_layers()]
        precision = (
            f"weights kept for {sum(stores_weights)} of {len(stores_weights)} layers"
            if any(stores_weights)
            else ""
        )
        precision = "weights only" if all(stores_weights) else precision
        if self.is_long:
            precision = "long input"
        edit_remark = "edited" if self.edits else ""
        layer_remarks = (stack.layers.said(stack.name) for stack in self.stacks.values())
        axes = [axis for stack in self.stacks.values() for axis in (stack.query, stack.key)]
        word_remark = "" if all(axis.words_known for axis in axes) else _WORDS_UNKNOWN
        text_remarks = dict.fromkeys(axis.remark for axis in axes)
        remarks = [
            edit_remark,
            self.cut,
            precision,
            *layer_remarks,
            *self._remarks,
            word_remark,
            *text_remarks,
        ]
        return ", ".join(filter(None, remarks))

    @property
    def cut(self) -> str:
        """A remark with the number of tokens read from a truncated input; "" for a full input.

        Example:
            >>> from attnwidget import load_model
            >>> load_model().attend("The cat sat. " * 200, truncate=True).cut
            'cut to 512 of 802 tokens'
        """
        axes = {name: stack.query for name, stack in self.stacks.items() if name != "cross"}
        return ", ".join(
            f"{'target ' if name == 'decoder' else ''}{cut_to(len(axis), len(axis) + axis.n_cut)}"
            for name, axis in axes.items()
            if axis.n_cut
        )

    @property
    def is_long(self) -> bool:
        """Whether the input was read row by row, because whole maps of all heads cost too much.

        `AttentionModel.attend` reads inputs of more than 1,024 tokens this way. `weights` then
        computes one head's map at a time, and `tile` any part of a map. Figures leave out views
        that need whole maps for all heads.
        """
        return self.head_maps.is_long

    @property
    def quantities(self) -> tuple[str, ...]:
        """The quantities that have maps: "weights", and "norms" and "gradients" if known."""
        return self.head_maps.quantities

    @hides_frames
    def head(self, value: HeadName) -> Head:
        """Return the head with a name: (2, 8), "L2 H8", or with the stack (2, 8, "encoder").

        Args:
            value: Name of the head: (2, 8), "L2 H8" or a `Head`, with the stack (2, 8, "encoder")
                if there are several.

        Raises:
            ValueError: The head does not exist, or the name has no stack although there are several
                stacks.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> attention.head("L2 H8")
            Head(layer=2, head=8, stack='self')
        """
        return self.head_maps.head(value)

    @hides_frames
    def has(self, value: HeadName) -> bool:
        """Return whether a head exists.

        Args:
            value: Name of the head, as in `head`.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> attention.has((2, 8)), attention.has("L6 H0")
            (True, False)
        """
        try:
            self.head(value)
        except (ValueError, TypeError):
            return False
        return True

    @hides_frames
    @other_options(quantity=_QUANTITIES)
    def weights(
        self,
        layer: int | HeadName | None = None,
        head: int | HeadName | None = None,
        *,
        stack: str | None = None,
    ) -> Float32Array:
        """Return weights: [Q, K] of a head, [H, Q, K] of a layer, [L, H, Q, K] of a stack.

        Args:
            layer: Layer, 2 or "L2"; or a head name in place of layer and head: "L2 H8", (2, 8) or
                a `Head`, such as `view.head` of a figure. None for all layers.
            head: Head; None for all heads of the layer.
            stack: Stack, needed only if there are several.

        Raises:
            ValueError: The layer, head or stack does not exist.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> weights = attention.weights(2, 8)
            >>> weights.shape, weights.sum(-1).round(3)
            ((6, 6), array([1., 1., 1., 1., 1., 1.], dtype=float32))
            >>> attention.weights(2).shape, attention.weights().shape
            ((12, 6, 6), (6, 12, 6, 6))
        """
        return self.head_maps.maps("weights", layer, head, stack)

    @hides_frames
    def norms(
        self,
        layer: int | HeadName | None = None,
        head: int | HeadName | None = None,
        *,
        stack: str | None = None,
    ) -> Float32Array:
        """Return norms ||a f(x)|| of the vectors from keys to queries, in the forms of `weights`.

        f(x) is the key's value, multiplied by the head's share of the output projection (Kobayashi
        et al. 2020, section 3). Rows do not sum to 1.

        Args:
            layer: Layer, or the name of a head in place of layer and head: "L2 H8", (2, 8) or a
                `Head`. None for all layers.
            head: Head; None for all heads of the layer.
            stack: Stack, needed only if there are several.

        Raises:
            ValueError: The layer, head or stack does not exist; the model has no f(x), or f(x) is
                unknown.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> attention.norms(2, 8).shape
            (6, 6)
            >>> attention.norms(2, 8)[1].round(2)
            array([0.05, 0.12, 3.21, 2.17, 0.18, 0.03], dtype=float32)
        """
        return self.head_maps.maps("norms", layer, head, stack)

    @hides_frames
    def gradients(
        self,
        layer: int | HeadName | None = None,
        head: int | HeadName | None = None,
        *,
        stack: str | None = None,
    ) -> Float32Array:
        """Return the gradient importance |dL/da|, in the forms of `weights`, 0 where masked.

        L is `loss`; a is the weight after the softmax (Clark et al. 2019, section 3.3).

        Args:
            layer: Layer, or the name of a head in place of layer and head: "L2 H8", (2, 8) or a
                `Head`. None for all layers.
            head: Head; None for all heads of the layer.
            stack: Stack, needed only if there are several.

        Raises:
            ValueError: The layer, head or stack does not exist, or there is no loss.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.", loss="masked")
            >>> attention.gradients(2, 8).shape
            (6, 6)
        """
        return self.head_maps.maps("gradients", layer, head, stack)

    @in_plain_torch
    @says_cuts
    def scores(
        self, layer: int | HeadName, head: int | None = None, *, stack: str | None = None
    ) -> HeadScores:
        """Return the scores of one head before the softmax, as products, soft cap, bias and mask.

        Args:
            layer: Layer, or the name of a head in place of layer and head: "L2 H8", (2, 8) or a
                `Head`.
            head: Head; None if `layer` is the name of a head.
            stack: Stack, needed only if there are several.

        Raises:
            ValueError: The layer, head or stack does not exist, or the model shows only weights.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> scores = attention.scores(2, 8)
            >>> scores
            HeadScores(small BERT (in the package), L2 H8, 6×6 tokens: products)
            >>> bool(abs(scores.weights() - attention.weights(2, 8)).max() < 1e-6)
            True
        """
        head_name = self.head_maps.head_in(stack, layer, head)
        self.head_maps.refuse_whole(head_name.stack, 6)
        parts = self.score_parts(head_name)
        return head_scores(head_name, self.stacks[head_name.stack], parts, self.model_name)

    @hides_frames
    def score_parts(
        self, head: Head, queries: Sequence[int] | None = None, keys: Sequence[int] | None = None
    ) -> ScoreParts:
        """Return the tensors from which some scores of one head are computed.

        Args:
            head: Head.
            queries: Indices of the queries; None for all.
            keys: Indices of the keys; None for all.

        Raises:
            ValueError: The queries and keys of the layer are unknown, and only its weights are
                stored.

        Example:
            >>> from attnwidget import Head, load_model
            >>> parts = load_model().attend("The cat sat.").score_parts(Head(2, 8), queries=[1])
            >>> parts.query.shape, parts.key.shape
            (torch.Size([1, 20]), torch.Size([6, 20]))
        """
        products = self.head_maps.layers[head.stack][head.layer].products
        if products is None:
            self.head_maps.refuse_combined("scores before the softmax")
            refuse_edited(self, f"a score of L{head.layer}")
            raise ValueError(
                f"{self.model_name} shows the weights of L{head.layer}, but not the queries and "
                "keys of which they are made (given weights, an edited layer, or attention of a "
                "kind of its own): its scores have no parts"
            )
        with self.head_maps.lock.in_turn(), self.head_maps.without_gradients():
            return products.score_parts(head.head, queries, keys)

    @hides_frames
    def value_norms(self, layer: int, *, stack: str | None = None) -> Float32Array:
        """Return ||f(x)|| of every head and key of a layer, [H, K]: `norms` without the weight.

        Args:
            layer: Number of the layer.
            stack: Stack, needed only if there are several.

        Raises:
            ValueError: As in `norms`; or the attention is a mean or a maximum of heads.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> attention.value_norms(2).shape
            (12, 6)
        """
        self.head_maps.check_quantity("norms")
        self.head_maps.refuse_combined("||f(x)||")
        maps = self.head_maps.layer(layer, stack)
        with self.head_maps.lock.in_turn(), self.head_maps.without_gradients():
            return as_numpy(maps.norm_maps.key_norms())

    @hides_frames
    def summed_norms(self, layer: int, *, stack: str | None = None) -> Float32Array:
        """Return ||sum over the heads of a f(x)|| of a layer, [Q, K]; heads may add up or cancel.

        Args:
            layer: Number of the layer.
            stack: Stack, needed only if there are several.

        Raises:
            ValueError: As in `norms`; the input is long (`is_long`), so the products of pairs of
                heads are not stored; or the attention is a mean or a maximum of heads.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> attention.summed_norms(2).shape
            (6, 6)
        """
        self.head_maps.check_quantity("norms")
        self.head_maps.refuse_combined("a sum over the heads of a layer")
        maps = self.head_maps.layer(layer, stack)
        if maps.norm_maps.pairs is None:
            raise ValueError(
                "sums over heads need the products of all pairs of heads, which are not kept of "
                "long inputs: attend(text, long=False), or Attention.from_queries_keys(..., "
                "long=False), keeps them, where there is the memory"
            )
        with self.head_maps.lock.in_turn(), self.head_maps.without_gradients():
            return as_numpy(maps.norm_maps.summed(maps.n_query))

    @in_plain_torch
    def disabled(
        self, heads: HeadName | Iterable[HeadName], method: EditMethod | None = None
    ) -> Attention:
        """Read the same input again with heads off; without any head, return `intact`.

        Later layers see what the model computes without these heads. Links that are scaled stay
        scaled. The last few edited attentions are cached, so a repeated call costs nothing.

        Args:
            heads: Head or list of heads, each as (0, 3), "L0 H3" or a `Head`.
            method: Replacement of the head outputs: "uniform", "zero" or "first", as in
                `AttentionModel.disabled`; "rule" for heads to which `with_rules` gave a rule in
                this text; None uses the model's default.

        Raises:
            ValueError: The head or the method does not exist, the model does not allow the edit,
                or no model can read the attention again, because it was made from weights, from
                queries and keys, or under edits.
            RuntimeError: The model was closed, its weights have changed, or the call is in a block
                of `disabled`.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> attention.disabled("L0 H3").model_name
            'small BERT (in the package), without L0 H3 (uniform)'
        """
        disabled_heads = [self.head(head) for head in listed_heads(heads)]
        if method in REFERRING:
            raise ValueError(
                f"method={method!r} needs another input: with model.disabled(heads, "
                f"method={method!r}, reference=...): model.attend(text)"
            )
        return self._read_with(tuple(disabled_heads), method, self.link_edits)

    @in_plain_torch
    def scaled_links(
        self,
        links: Iterable[LinkName],
        factor: float,
        heads: HeadName | Iterable[HeadName] | None = None,
        *,
        layers: Iterable[int | str] | str | None = None,
        stack: str | None = None,
        keeps_sum: bool = False,
    ) -> Attention:
        """Read the same input again with links cut, weakened or strengthened.

        Words, roles of a chat, boxes and spans are looked up in the tokens of this attention. Heads
        that are off stay off, and links that are scaled already stay scaled. `intact` undoes all.

        Args:
            links: Pairs (query, key), as in `AttentionModel.scaled_links`.
            factor: Factor of the weights: 0 cuts the links, and a factor above 1 strengthens them.
            heads: Head, layer name or list of these; None for the heads of `layers`, or all heads.
            layers: Layers in whose heads the links are scaled, by number or name.
            stack: Stack of the heads. Needed only if there are several.
            keeps_sum: Whether a row keeps its sum in models with attention sinks.

        Raises:
            ValueError: A link, head, layer or stack does not exist, or the factor is negative;
                otherwise as in `disabled`.
            TypeError: An end of a link or the factor has another form.
            RuntimeError: As in `disabled`.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The captain told his men that he left.")
            >>> cut = attention.scaled_links([("he", "captain")], 0, "L1 H3")
            >>> cut.model_name
            'small BERT (in the package), he→captain cut in L1 H3'
            >>> attention.rows("L1 H3", "he", "captain").round(2)
            np.float32(0.57)
            >>> cut.rows("L1 H3", "he", "captain")
            np.float32(0.0)
        """
        intact = self.intact
        if intact.reading is None:
            raise ValueError(NOT_READ_AGAIN)
        edit = intact.reading.model._link_edit(
            links,
            factor,
            heads,
            layers=layers,
            stack=stack,
            axes={name: (entry.query, entry.key) for name, entry in self.stacks.items()},
            keeps_sum=keeps_sum,
        )
        return self._read_with(self.disabled_heads, self.disabled_method, (*self.link_edits, edit))

    def _read_with(
        self,
        heads: tuple[Head, ...],
        method: EditMethod | None,
        link_edits: tuple[LinkEdit, ...],
    ) -> Attention:
        """Read the intact input with heads off and links scaled."""
        intact = self.intact
        if not heads and not link_edits:
            return intact
        if intact.reading is None:
            raise ValueError(NOT_READ_AGAIN)
        edited = intact.reading.without(heads, method, link_edits)
        edited.intact = intact
        edited.disabled_heads = heads
        edited.disabled_method = method
        edited.link_edits = link_edits
        return edited

    @overload
    def rows(
        self,
        head: HeadName,
        query: TokenName | Sequence[TokenName],
        key: TokenName | Sequence[TokenName] | None = None,
        *,
        stack: str | None = None,
    ) -> Float32Array: ...

    @overload
    def rows(
        self,
        layer: int | str | None = None,
        *,
        query: TokenName | Sequence[TokenName],
        key: TokenName | Sequence[TokenName] | None = None,
        stack: str | None = None,
    ) -> Float32Array: ...

    @overload
    def rows(
        self,
        layer: int,
        head: int,
        query: TokenName | Sequence[TokenName],
        key: TokenName | Sequence[TokenName] | None = None,
        *,
        stack: str | None = None,
    ) -> Float32Array: ...

    @hides_frames
    @other_options(quantity=_QUANTITIES)
    @takes_head
    def rows(
        self,
        layer: int | HeadName | None = None,
        head: int | None = None,
        query: Any = None,
        key: Any = None,
        *,
        stack: str | None = None,
    ) -> Float32Array:
        """Return rows of one head's map: [K] for one query, [n, K] for a list of n queries.

        With `key`, return only the weights to this key: one number for one query, [n] for n
        queries; or to a list of m keys, [m] or [n, m]. A layer gives the rows of all its heads,
        with the heads as first axis: [H, K] for one query. Without a layer, the rows of all heads
        have the layers as first axis: [L, H, K], with NaN for layers without attention.

        Args:
            layer: Layer or layer name, "L1", or a head name in place of layer and head; None for
                all layers.
            head: Head; left out if `layer` is the name of a head, or for all heads of a layer.
            query: Token by its number, a word that occurs once, or ("he", 2) for the second "he";
                or a list of these.
            key: Attended token or tokens, in the forms of `query`; None for all keys.
            stack: Stack, needed only if there are several.

        Raises:
            ValueError: The layer, head, stack, query or key does not exist.
            TypeError: There is no query.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> attention.rows(2, 8, 1).round(2)
            array([0.08, 0.03, 0.58, 0.27, 0.03, 0.01], dtype=float32)
            >>> attention.rows(2, 8, [1, 2]).shape
            (2, 6)
            >>> attention.rows("L2 H8", "the", "cat").round(2)
            np.float32(0.58)
            >>> attention.rows("L2", query="the").shape
            (12, 6)
            >>> attention.rows(query="the", key="cat").shape
            (6, 12)
        """
        maps = self.head_maps

        def rows_of_head(one: Head, queries: list[int]) -> Float32Array:
            return maps.rows(one.stack, one.layer, one.head, queries)

        return named_rows(maps, self.stacks, rows_of_head, layer, head, query, key, stack)

    @hides_frames
    def row_blocks(self, layer: int, *, stack: str | None = None) -> Iterator[tuple[int, Tensor]]:
        """Yield all weights of a layer, some rows at a time: (first row, weights [H, r, K]).

        Args:
            layer: Number of the layer.
            stack: Stack, needed only if there are several.

        Raises:
            ValueError: The layer or stack does not exist.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> [(first, tuple(rows.shape)) for first, rows in attention.row_blocks(2)]
            [(0, (12, 6, 6))]
        """
        layer_maps = self.head_maps.layer(layer, stack)
        blocks = layer_maps.row_blocks()
        while True:
            # The caller's code between two blocks holds no lock and keeps its own torch modes.
            with self.head_maps.lock.in_turn(), self.head_maps.without_gradients():
                block = next(blocks, None)
            if block is None:
                return
            yield block[0], as_torch(block[1])

    @overload
    def tile(
        self,
        head: HeadName,
        queries: tuple[int, int],
        keys: tuple[int, int],
        *,
        step: int = 1,
        stack: str | None = None,
    ) -> Float32Array: ...

    @overload
    def tile(
        self,
        layer: int,
        head: int,
        queries: tuple[int, int],
        keys: tuple[int, int],
        *,
        step: int = 1,
        stack: str | None = None,
    ) -> Float32Array: ...

    @hides_frames
    @takes_head
    def tile(
        self,
        layer: int | HeadName,
        head: int | None,
        queries: tuple[int, int],
        keys: tuple[int, int],
        *,
        step: int = 1,
        stack: str | None = None,
    ) -> Float32Array:
        """Return weights of a head from some queries to some keys, without computing other weights.

        With `step`, the result has the largest weight in each `step` by `step` block of tokens,
        counted from the first query and key. Blocks in which every key is masked are NaN.

        Args:
            layer: Layer, or the name of a head in place of layer and head: "L2 H8", (2, 8) or a
                `Head`.
            head: Head; left out if `layer` is the name of a head.
            queries: First query and end of the queries, with the end excluded.
            keys: First key and end of the keys, with the end excluded.
            step: Side of a block, in tokens.
            stack: Stack, needed only if there are several.

        Raises:
            ValueError: The layer, head, stack, queries or keys do not exist, or `step` is below 1.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat on the mat.")
            >>> attention.tile(2, 1, (0, 9), (0, 9), step=4).shape
            (3, 3)
        """
        layer, head, name = self.head_maps.head_in(stack, layer, head)
        axes = self.stacks[name]
        check_part("queries", queries, len(axes.query))
        check_part("keys", keys, len(axes.key))
        step = whole_number("step", step, 1, "token")
        with self.head_maps.lock.in_turn(), self.head_maps.without_gradients():
            tile = self.head_maps.tiles[name].tile(layer, head, queries, keys, step)
        values: Float32Array = as_numpy(tile)
        return values

    @overload
    def top_links(
        self,
        head: HeadName,
        top: int = 20,
        *,
        query: TokenName | None = None,
        key: TokenName | None = None,
        stack: str | None = None,
        within: tuple[int, int, int, int] | None = None,
        sentences: Sentences = "all",
        diagonal: bool = True,
        hidden: str | Collection[str] = (),
    ) -> pd.DataFrame: ...

    @overload
    def top_links(
        self,
        layer: int | str | None = None,
        head: int | None = None,
        top: int = 20,
        *,
        query: TokenName | None = None,
        key: TokenName | None = None,
        stack: str | None = None,
        within: tuple[int, int, int, int] | None = None,
        sentences: Sentences = "all",
        diagonal: bool = True,
        hidden: str | Collection[str] = (),
    ) -> pd.DataFrame: ...

    @hides_frames
    @other_options(quantity=_QUANTITIES)
    @takes_head
    def top_links(
        self,
        layer: int | HeadName | None = None,
        head: int | None = None,
        top: int = 20,
        *,
        query: TokenName | None = None,
        key: TokenName | None = None,
        stack: str | None = None,
        within: tuple[int, int, int, int] | None = None,
        sentences: Sentences = "all",
        diagonal: bool = True,
        hidden: str | Collection[str] = (),
    ) -> pd.DataFrame:
        """Return the strongest links of one head, a layer or all heads, strongest first.

        With `query` and `key`, the table ranks the heads by the weight of one link. Columns: layer,
        head, query, key, query_token, key_token, weight.

        Args:
            layer: Layer, or the name of a head in place of layer and head: "L2 H8", (2, 8) or a
                `Head`; None for all layers.
            head: Head; None for all heads of the layer, or if `layer` is the name of a head.
            top: Number of links.
            query: Attending token by its number, a word that occurs once, or ("he", 2) for the
                second "he"; None for all.
            key: Attended token, in the forms of `query`; None for all.
            stack: Stack, needed only if there are several.
            within: Part of the map to search: (first query, query end, first key, key end), with
                the ends excluded; None for the whole map.
            sentences: Sentences of the queries and of the keys: "ab" for links from sentence A to
                sentence B, or "aa", "ba", "bb"; "all" for all links.
            diagonal: Whether to include links from a token to itself.
            hidden: Kinds of special tokens whose links are left out: "cls", "sep" or "first", or a
                list of these.

        Raises:
            ValueError: The layer, head, stack, queries, keys, sentences or kind of special tokens
                does not exist, `top` is below 1, or `within` is passed together with `query` or
                `key`.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat on the mat.")
            >>> attention.top_links("L2 H1", 2)[["query", "key", "weight"]].round(2)
               query  key  weight
            0      0    0    0.99
            1      2    0    0.87

            The heads that look from "sat" to "cat":

            >>> attention.top_links(query="sat", key="cat", top=2)[["layer", "head"]]
               layer  head
            0      0     2
            1      5    11
        """
        maps = self.head_maps

        def links_of_head(head: Head, count: int, part: Part) -> list[tuple[int, int, float]]:
            return maps.top_links(head, count, part, diagonal=diagonal)

        frame = top_links(
            maps,
            self.stacks,
            links_of_head,
            layer,
            head,
            top=top,
            query=query,
            key=key,
            stack=stack,
            within=within,
            sentences=sentences,
            hidden=hidden,
        )
        frame.attrs["model"] = self.model_name
        return frame

    @hides_frames
    def visible(
        self, layer: int | HeadName, head: int | None = None, *, stack: str | None = None
    ) -> NDArray[np.bool_] | None:
        """Return [Q, K], True where the query may see the key; None if every query sees every key.

        Args:
            layer: Layer, or the name of a head in place of layer and head: "L2 H8", (2, 8) or a
                `Head`.
            head: Head; None if `layer` is the name of a head.
            stack: Stack, needed only if there are several.

        Raises:
            ValueError: The layer, head or stack does not exist.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> attention.visible(2, 8) is None
            True
        """
        layer, head, name = self.head_maps.head_in(stack, layer, head)
        self.head_maps.refuse_whole(name, 1)
        return self.head_maps.visible(name, layer, head)

    @hides_frames
    def row_sums(self, *, stack: str | None = None) -> Float32Array:
        """Return sums of the weights over the keys, [L, H, Q]: 1 except with attention sinks.

        Args:
            stack: Stack, needed only if there are several.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> attention.row_sums().shape
            (6, 12, 6)
        """
        name = self.head_maps.stack(stack).name
        self.head_maps.refuse_whole(name, self.stacks[name].n_heads)
        layers = self.stacks[name].layers
        sums = [self.head_maps.get(name, i).sum(-1) for i in layers.numbers]
        return layers.spread(np.stack(sums))

    @cached_property
    def words(self) -> WordAttention:
        """The same maps between words: `attention.words.weights(2, 8)`."""
        return WordAttention(self.head_maps)

    @hides_frames
    def mean(
        self,
        *,
        heads: HeadsToCombine = None,
        layers: LayerChoice = None,
        each: Each | None = None,
        stack: str | None = None,
    ) -> Attention:
        """Return the mean of heads as a one-head attention, which every figure draws.

        The result has the tokens, words and regions of this attention. Its maps are the heads' mean
        weights, norms and gradients. Rows of mean weights sum to 1 if the rows of all heads do. All
        maps are computed at once. A query sees a key if at least one head sees the key; heads that
        do not see it have weight 0.

        A mean hides its heads: two heads with different targets look like a single head with both
        targets. `note` and captions say this. No head of the result can be switched off, and its
        scores have no parts.

        Args:
            heads: Heads as (1, 3), "L1 H3" or a `Head`, or a list of these; or one or more numbers,
                which name heads in each of `layers`. None for all heads.
            layers: Layers by number or name, [2] or "L2"; None for all layers with attention.
            each: Axis of the result: "layer" for a head per layer, the mean over heads; "head" for
                a single layer with all heads, the means over layers; None for a single head, the
                mean over both. The result counts its layers and heads from 0, and their names have
                the model's numbers.
            stack: Stack; None for the means of every stack.

        Raises:
            ValueError: The head, layer or stack does not exist, a selection is empty or has an
                entry twice, heads as (layer, head) come with `layers` or `each`, the maps do not
                fit the memory, or this attention is already a mean or a maximum.
            TypeError: The number of a head or a layer is not an integer.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> attention.mean(layers=3).weights(0, 0).shape
            (6, 6)
            >>> attention.mean(layers=3).stacks["self"].head_name(0, 0)
            'mean of 12 heads of layer 3'
            >>> means = attention.mean(each="layer")
            >>> means.n_layers, means.n_heads
            (6, 1)
        """
        return self._combine("mean", heads, layers, each, stack)

    @hides_frames
    def max(
        self,
        *,
        heads: HeadsToCombine = None,
        layers: LayerChoice = None,
        each: Each | None = None,
        stack: str | None = None,
    ) -> Attention:
        """Return the maximum of heads as a one-head attention, which every figure draws.

        Each weight is the largest that any head has between the two tokens, so a single head's
        strong link stays visible. Rows do not sum to 1. Functions that read distributions
        (`measure_attention`, `changes`, rollout) therefore refuse the result.

        Args:
            heads: Heads as (1, 3), "L1 H3" or a `Head`, or a list of these; or one or more numbers,
                which name heads in each of `layers`. None for all heads.
            layers: Layers by number or name, [2] or "L2"; None for all layers with attention.
            each: Axis of the result: "layer" for a head per layer, "head" for a single layer with
                all heads, None for a single head.
            stack: Stack; None for the maxima of every stack.

        Raises:
            ValueError: As in `mean`.
            TypeError: As in `mean`.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> strongest = attention.max(heads=[0, 4], layers=3)
            >>> strongest.stacks["self"].head_name(0, 0)
            'maximum of heads 0, 4 of layer 3'
            >>> bool((strongest.weights(0, 0) == attention.weights(3)[[0, 4]].max(0)).all())
            True
        """
        return self._combine("maximum", heads, layers, each, stack)

    def _combine(
        self,
        combination: Combination,
        heads: HeadsToCombine,
        layers: LayerChoice,
        each: Each | None,
        stack: str | None,
    ) -> Attention:
        if (previous := self.head_maps.combination) is not None:
            raise ValueError(
                f"this attention is itself a {previous} of heads: take the {combination} of the "
                "attention of which it was made"
            )
        for name in self.stacks if stack is None else [self.head_maps.stack(stack).name]:
            n_heads = 1 if each is None else self.n_layers if each == "layer" else self.n_heads
            self.head_maps.refuse_whole(name, n_heads, copies=len(self.quantities))
        combined = combine_heads(
            combination,
            self.stacks,
            self.head_maps.layers,
            heads=heads,
            of_layers=layers,
            each=each,
            stack=stack,
            model_name=self.model_name,
        )
        stacks = {name: stack for name, (stack, _) in combined.items()}
        attention = Attention(
            {name: layers for name, (_, layers) in combined.items()},
            {name: (stack.query, stack.key) for name, stack in stacks.items()},
            model_name=self.model_name,
            n_prompt=self.n_prompt,
            lock=self.head_maps.lock,
            no_norms=self.head_maps.missing["norms"],
            remarks=(self.note, HIDES_HEADS if combination == "mean" else NO_SHARES),
            loss=self.loss,
            edits=self.edits,
            numbers={name: stack.layers for name, stack in stacks.items()},
            combined=stacks,
            combination=combination,
            media=self.media,
        )
        if self.made_by is not None:
            options = {"heads": heads, "layers": layers, "each": each, "stack": stack}
            attention.made_by = self.made_by.then(
                call("mean" if combination == "mean" else "max", {}, options)
            )
        return attention

    @hides_frames
    def map(
        self,
        quantity: str,
        layer: int | HeadName,
        head: int | None = None,
        *,
        stack: str | None = None,
    ) -> Float32Array:
        """Return one head's map of "weights", "norms" or "gradients", [Q, K].

        Args:
            quantity: Quantity of the map: "weights", "norms" or "gradients".
            layer: Layer, or the name of a head in place of layer and head: "L2 H8", (2, 8) or a
                `Head`.
            head: Head; None if `layer` is the name of a head.
            stack: Stack, needed only if there are several.

        Raises:
            ValueError: The layer, head or stack does not exist, or the quantity is unknown.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The otters purred.")
            >>> attention.map("norms", 2, 8).shape
            (9, 9)
        """
        head_name = self.head_maps.head_in(stack, layer, head)
        return self.head_maps.maps(quantity, head_name.layer, head_name.head, head_name.stack)

    @hides_frames
    def token_values(
        self,
        side: str,
        position: TokenName,
        *,
        layer: int | None = None,
        stack: str | None = None,
        quantity: str = "weights",
    ) -> Float32Array:
        """Return the values of every head from a token, or to a token.

        The shape is [H, n] for a layer, [L, H, n] for a stack, with NaN where masked. The numbers
        equal the row or column of `map`, but the other parts of the maps are not stored.

        Args:
            side: "query" for values from the token, "key" for values to it.
            position: Token by its number on this side, a word that occurs once, or ("he", 2) for
                the second "he".
            layer: Number of the layer; None for all layers.
            stack: Stack, needed only if there are several.
            quantity: Quantity of the values: "weights", "norms" or "gradients".

        Raises:
            ValueError: The side, token, layer or stack does not exist, or the quantity is unknown.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> attention.tokens[2]
            'cat'
            >>> attention.token_values("query", 2).shape
            (6, 12, 6)
            >>> attention.token_values("query", 2, layer=2)[8].round(2)
            array([0.7 , 0.01, 0.05, 0.19, 0.04, 0.01], dtype=float32)
        """
        self.head_maps.check_quantity(quantity)
        axes = self.head_maps.stack(stack)
        checked = checked_place(axes, side, position)
        return self.head_maps.of_tokens(side, [checked], quantity, layer, axes.name)

    @hides_frames
    def stack_maps(self, stack: str) -> StackMaps:
        """Return the layers of a stack with tokens on both axes.

        Args:
            stack: Name of the stack.

        Example:
            >>> from attnwidget import load_model
            >>> maps = load_model().attend("The cat sat.").stack_maps("self")
            >>> len(maps.layers), maps.query.text[2]
            (6, 'cat')
        """
        layers = self.head_maps.layers[stack]
        numbers = list(layers)
        return StackMaps(
            list(layers.values()),
            self.stacks[stack].query,
            self.stacks[stack].key,
            known=lambda place: self.head_maps.known(stack, numbers[place]),
        )

    @in_plain_torch
    def changes(self, other: Attention, stack: str | None = None) -> Float32Array:
        """Return the distance between each head's weights here and in another attention.

        The distance is the Jensen-Shannon divergence in nats, averaged over the queries of both
        attentions: float32 [L, H], exactly 0 where the maps are equal. A missing key has weight 0.

        Args:
            other: Attention to compare with, for example of another model or with heads off.
            stack: Stack, needed only if there are several.

        Raises:
            ValueError: The stack does not exist, the numbers of layers or heads differ, the
                attentions share no token, or one is a maximum of heads.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat on the mat.")
            >>> changes = attention.disabled([(1, 3)]).changes(attention)
            >>> changes[0].any(), changes[2:].all()
            (np.False_, np.True_)
        """
        import torch

        from attnwidget.kernels.divergence import js_changes

        axes = self.head_maps.stack(stack)
        for attention in (self, other):
            attention.head_maps.refuse_no_shares("compared by their divergence")
        refuse_incomparable(self.stacks, other.stacks)
        other_axes = other.stacks[axes.name]
        is_same_input = has_same_axes(axes, other_axes)
        distances = np.zeros((len(axes.layers.numbers), axes.n_heads), np.float32)
        # Layers that the other attention has cached come first, before new maps evict them.
        layer_order = sorted(
            enumerate(axes.layers.numbers),
            key=lambda place: other.head_maps.known(axes.name, place[1]) is None,
        )
        for index, layer in layer_order:
            own_products, other_products = (
                attention.head_maps.layers[axes.name][layer].products for attention in (self, other)
            )
            # Layers below an edit have the queries and keys of the intact model.
            is_same = (
                own_products and other_products and own_products.gives_weights_of(other_products)
            )
            if not (is_same_input and is_same):
                weights, other_weights = (
                    torch.from_numpy(attention.head_maps.of_layer(axes.name, layer))
                    for attention in (self, other)
                )
                if not is_same_input:
                    weights, other_weights = on_common_axes(
                        (weights, other_weights), axes, other_axes
                    )
                distances[index] = js_changes(weights, other_weights).numpy()
            layer_done()
        return axes.layers.spread(distances)

    @hides_frames
    @other_options(key=ROWS_OF_A_TOKEN, quantity=_QUANTITIES, query=ROWS_OF_A_TOKEN)
    def to_frame(
        self,
        layer: int | HeadName | None = None,
        head: int | HeadName | None = None,
        *,
        stack: str | None = None,
    ) -> pd.DataFrame:
        """Return a table with one row per weight: of all heads, of a layer, or of one head.

        Columns: stack, layer, head, query, key, query_token, key_token, weight. `attrs["model"]` is
        the name of the model, and `attrs["note"]` is `note`, unless it is "".

        Args:
            layer: Layer, or a head name in place of layer and head: "L2 H8", (2, 8) or a `Head`.
                None for all layers.
            head: Head; None for all heads of the layer.
            stack: Stack of the weights. None for all stacks, or for the only stack if there is a
                layer.

        Raises:
            ValueError: The layer, head or stack does not exist.

        Example:
            >>> from attnwidget import load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> frame = attention.to_frame()
            >>> frame.loc[:1, ["layer", "head", "query_token", "key_token", "weight"]].round(3)
               layer  head query_token key_token  weight
            0      0     0       [CLS]     [CLS]   0.340
            1      0     0       [CLS]       the   0.074

            The strongest weight of one head:

            >>> strongest = attention.to_frame("L2 H8").sort_values("weight").iloc[-1]
            >>> strongest["query_token"], strongest["key_token"]
            ('[CLS]', '[CLS]')
        """
        if layer is None and head is None:
            frame = self._frame_of_stacks(stack)
        else:
            maps = self.head_maps.maps("weights", layer, head, stack)
            frame = frame_of_maps(self.head_maps, self.stacks, maps, layer, head, stack)
        frame.attrs["model"] = self.model_name
        if self.note:
            frame.attrs["note"] = self.note
        return frame

    def _frame_of_stacks(self, stack: str | None) -> pd.DataFrame:
        """Return the table of all heads in one or all stacks."""
        names = list(self.stacks) if stack is None else [self.head_maps.stack(stack).name]
        axes = [self.stacks[name] for name in names]
        rows = sum(len(s.layers.numbers) * s.n_heads * len(s.query) * len(s.key) for s in axes)
        check_room(
            rows * _ROW_BYTES, f"the {rows:,} rows of this table", "ask for weights(layer, head)"
        )
        return weights_frame(
            [(self.stacks[name], self.head_maps.of_all_layers("weights", name)) for name in names]
        )

    @classmethod
    @hides_frames
    def from_weights(
        cls,
        weights: object,
        tokens: Sequence[str] | Tokens,
        *,
        key_tokens: Sequence[str] | Tokens | None = None,
        segments: Sequence[int] | None = None,
        stack: str = "self",
        model_name: str = "weights",
        allow_unnormalized: bool = False,
        places: Sequence[Place | None] = (),
        images: Sequence[Any] = (),
        audio: Sequence[Sound] = (),
    ) -> Attention:
        """Make an `Attention` from weights computed elsewhere.

        Maps from numpy are shown, linked and saved without torch.

        Args:
            weights: Array [L, H, Q, K]; sequence of layers, each [H, Q, K] or [1, H, Q, K], such as
                a model's `attentions`; or a model output that has them. Arrays may come from numpy,
                torch, or a library with `__dlpack__` or `__array__` (JAX).
            tokens: The Q attending tokens; for the output of an encoder-decoder, the decoder's
                tokens.
            key_tokens: The K attended tokens if they differ from `tokens`; for the output of an
                encoder-decoder, the encoder's tokens.
            segments: Sentence number per token: 0 for A, 1 for B.
            stack: Stack of an array or a sequence: "self", "encoder", "decoder" or "cross".
            model_name: Name of the model in figures.
            allow_unnormalized: Whether to accept rows that do not sum to 1.
            places: Region of each attended token in a picture or a sound (`Box`, `Span`), None for
                a token without a region. If the attending tokens are the same, they get these
                regions too.
            images: Pictures of the regions, as PIL images, paths or arrays [height, width, 3].
            audio: Sounds of the regions.

        Raises:
            TypeError: `weights` has another type, or a picture is not one.
            ValueError: There are no layers or several inputs, shapes do not fit the tokens or
                differ between layers, values are not attention weights, or a region is outside of
                the pictures or sounds.

        Example:
            >>> import numpy as np
            >>> Attention.from_weights(np.full((2, 4, 3, 3), 1 / 3), ["[CLS]", "cats", "[SEP]"])
            Attention(weights, self 2×4, 3 tokens, weights only)
        """
        query, key = _given_axes(tokens, key_tokens, segments, stack)
        if places:
            placed_axis = query if key is None else key
            if len(places) != len(placed_axis):
                raise ValueError(
                    f"`places` has one entry per attended token, got {len(places)} places and "
                    f"{len(placed_axis)} tokens"
                )
            placed_axis = replace(placed_axis, places=tuple(places), is_line=False)
            query, key = (placed_axis, None) if key is None else (query, placed_axis)
        media = Media(tuple(map(picture_array, images)), tuple(audio))
        stacks = weights_by_stack(weights, stack, allow_unnormalized=allow_unnormalized)
        layers = {name: layers_of_weights(maps, name) for name, maps in stacks.items()}
        axes = {
            name: axes_of_stack(name, query, key, stack_layers[0])
            for name, stack_layers in layers.items()
        }
        attention = cls(layers, axes, model_name=model_name, no_norms=_NO_NORMS, media=media)
        media_arguments = {"places": places, "images": images, "audio": audio}
        options: dict[str, Any] = {"key_tokens": key_tokens, "segments": segments}
        options["stack"] = None if stack == "self" else stack
        options["model_name"] = None if model_name == "weights" else model_name
        options["allow_unnormalized"] = allow_unnormalized or None
        options |= {name: YOURS for name, value in media_arguments.items() if len(value)}
        call_options = {"weights": YOURS, "tokens": tokens}
        attention.made_by = call("Attention.from_weights", call_options, options)
        return attention

    @classmethod
    @hides_frames
    def from_queries_keys(
        cls,
        queries: object,
        keys: object,
        *,
        scale: float | Sequence[float],
        bias: object = None,
        mask: object = None,
        tokens: Sequence[str] | Tokens,
        values: object = None,
        output: object = None,
        key_tokens: Sequence[str] | Tokens | None = None,
        segments: Sequence[int] | None = None,
        softcap: float | None = None,
        sinks: object = None,
        stack: str = "self",
        model_name: str = "queries and keys",
        long: bool | None = None,
    ) -> Attention:
        """Make an `Attention` from queries and keys that another program recorded.

        The weights are softmax(scale * query . key + bias) over the keys that the mask shows, so
        rows sum to 1. Maps are computed on request, in float32; above 1,024 tokens no whole map is
        ever made. Arrays may come from numpy, torch, or a library with `__dlpack__` or `__array__`
        (JAX), and are copied.

        Args:
            queries: Queries after position encoding, [L, H, Q, D], or a sequence of layers, each
                [H, Q, D] or [1, H, Q, D].
            keys: Keys after position encoding, [L, Hkv, K, D], or a sequence of layers. H is a
                multiple of Hkv, and query head h reads key head h // (H / Hkv).
            scale: Factor of the products, usually D ** -0.5; a list has one number per layer.
            bias: Numbers added to the scores, [Q, K] or [1 or H, Q, K] for all layers, or one
                array per layer (a list, or [L, 1 or H, Q, K]). Relative positions and ALiBi are
                biases.
            mask: True where the query sees the key, in the forms of `bias`; "causal" if the queries
                are the last keys; None if every query sees every key.
            tokens: The Q attending tokens.
            values: Values, [L, Hv, K, Dv], or a sequence of layers; with `output`, for norms.
            output: Weights of the output projections as `torch.nn.Linear` stores them,
                [L, d, H * Dv], or a sequence of layers; with `values`, for norms.
            key_tokens: The K attended tokens if they differ from `tokens`.
            segments: Sentence number per token: 0 for A, 1 for B.
            softcap: Bound of the scores, softcap * tanh(scores / softcap) before the bias; None for
                no bound.
            sinks: Score of one attention sink per layer and head, [L, H]. Rows then sum to less
                than 1.
            stack: Stack: "self", "encoder", "decoder" or "cross".
            model_name: Name of the model in figures.
            long: Whether to compute maps row by row, without whole maps; None does so above 1,024
                tokens.

        Raises:
            TypeError: Array values are not real numbers, or mask values are not booleans.
            ValueError: Shapes disagree or do not fit the tokens, a value is not finite, a query
                sees no key, or only one of values and output is passed.

        Example:
            >>> import numpy as np
            >>> from attnwidget import Attention
            >>> random = np.random.default_rng(0)
            >>> queries = random.normal(size=(2, 4, 3, 8))  # layers, heads, tokens, size
            >>> keys = random.normal(size=(2, 2, 3, 8))  # two query heads share a key head
            >>> tokens = ["Cats", "purr", "."]
            >>> attention = Attention.from_queries_keys(
            ...     queries, keys, scale=8**-0.5, mask="causal", tokens=tokens
            ... )
            >>> attention, attention.weights(1, 3)[0]
            (Attention(queries and keys, self 2×4, 3 tokens), array([1., 0., 0.], dtype=float32))
        """
        from attnwidget.capture.maps.from_queries_keys import layers_of_states

        query, key = _given_axes(tokens, key_tokens, segments, stack)
        axes = query, query if key is None else key
        stack_layers = layers_of_states(
            queries,
            keys,
            (len(axes[0]), len(axes[1])),
            scale=scale,
            bias=bias,
            mask=mask,
            values=values,
            output=output,
            softcap=softcap,
            sinks=sinks,
            long=long,
        )
        no_norms = _NO_OUTPUT if output is None else ""
        attention = cls(
            {stack: stack_layers}, {stack: axes}, model_name=model_name, no_norms=no_norms
        )
        arrays = {"bias": bias, "mask": mask, "values": values, "output": output, "sinks": sinks}
        array_arguments = {name: YOURS for name, array in arrays.items() if array is not None}
        if isinstance(mask, str):
            array_arguments["mask"] = mask
        options: dict[str, Any] = {"scale": scale, **array_arguments, "tokens": tokens}
        options |= {"key_tokens": key_tokens, "segments": segments, "softcap": softcap}
        options["stack"] = None if stack == "self" else stack
        options["model_name"] = None if model_name == "queries and keys" else model_name
        options["long"] = long
        states = {"queries": YOURS, "keys": YOURS}
        attention.made_by = call("Attention.from_queries_keys", states, options)
        return attention

    def __repr__(self) -> str:
        stacks = ", ".join(f"{s.name} {s.n_layers}×{s.n_heads}" for s in self.stacks.values())
        note = f", {self.note}" if self.note else ""
        return f"Attention({self.model_name}, {stacks}, {counted(len(self.tokens), 'token')}{note})"


def _given_axes(
    tokens: Sequence[str] | Tokens,
    key_tokens: Sequence[str] | Tokens | None,
    segments: Sequence[int] | None,
    stack: str,
) -> tuple[Tokens, Tokens | None]:
    """Return the axes of an attention that was computed elsewhere, after checking its stack."""
    if stack not in ("self", "encoder", "decoder", "cross"):
        raise ValueError(f"stack must be 'self', 'encoder', 'decoder' or 'cross', got {stack!r}")
    query = tokens if isinstance(tokens, Tokens) else plain_axis(tokens, segments)
    if key_tokens is None or isinstance(key_tokens, Tokens):
        return query, key_tokens
    return query, plain_axis(key_tokens)
