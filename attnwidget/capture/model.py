"""A Hugging Face model with its tokenizer: reads the attention of any input."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from attnwidget.capture.attention import Attention
from attnwidget.capture.call import Call, call
from attnwidget.capture.collect import Collected
from attnwidget.capture.encode import Encoded, Encoder, Text
from attnwidget.capture.generate import continuation, decoder_ids, translation
from attnwidget.capture.gradients import attention_gradients
from attnwidget.capture.inputs import (
    fitting_axis,
    given_inputs,
    input_names,
    padded_inputs,
    unpadded,
)
from attnwidget.capture.losses import Loss, LossFunction, LossName, task_for
from attnwidget.capture.projection import Projections
from attnwidget.capture.sites import find_sites
from attnwidget.text.tokens import Tokens

Inputs = Mapping[str, Any]
_ENCODER_STACKS = ("self", "encoder")


class AttentionModel:
    """A model whose attention can be read, in eval mode until `close()`; made by `load_model`.

    A module set to train since then, or compiled, is read in eval mode and uncompiled, and is as it
    was afterwards.

    Attributes:
        hf_model: the transformers model; of a compiled one the model that was compiled.
        tokenizer: its tokenizer, or None.
        name: what figures, captions and results call it.
        source: what `load_model` finds it by on any machine: a hub name, or that of a model of the
            package ("embedded", "attnwidget/genre"); None for one of a folder or an object.
        made_by: the call of `load_model` that made it, as Python writes it.
        lock: held during forward passes, and while an `Attention` made here computes maps.

    Example:
        >>> from attnwidget import load_model
        >>> with load_model() as model:
        ...     attention = model.attend("The cat sat.", "It slept.")
        >>> attention.stacks["self"].query.segments
        (0, 0, 0, 0, 0, 0, 1, 1, 1, 1)
    """

    def __init__(self, hf_model: Any, tokenizer: Any, name: str, source: str | None = None) -> None:
        if not find_sites(hf_model):
            raise TypeError(
                f"{type(hf_model).__name__} has no softmax attention whose weights could be read"
            )
        self.hf_model = hf_model
        self.tokenizer = tokenizer
        self.name = name
        self.source = source
        self.made_by = call("load_model", {"model": hf_model, "tokenizer": tokenizer})
        self.lock = threading.RLock()
        self._encoder = Encoder(tokenizer, hf_model)
        self._parameters = input_names(hf_model)
        self._projections = Projections(hf_model)
        self._encodes_apart = bool(getattr(hf_model.config, "is_encoder_decoder", False))
        self._training = {module: module.training for module in hf_model.modules()}
        hf_model.eval()

    @property
    def n_layers(self) -> int:
        """Layers of the model, of its encoder in an encoder-decoder."""
        return int(self.hf_model.config.get_text_config().num_hidden_layers)

    @property
    def n_heads(self) -> int:
        """Attention heads a layer."""
        return int(self.hf_model.config.get_text_config().num_attention_heads)

    @property
    def device(self) -> torch.device:
        """Where the model's weights are."""
        return next(self.hf_model.parameters()).device

    def attend(
        self,
        text: Text | Inputs,
        pair: Text | None = None,
        *,
        target: Text | None = None,
        truncate: bool = False,
        loss: LossName | LossFunction | None = None,
        seed: int = 0,
    ) -> Attention:
        """The attention of one input.

        Args:
            text: a string, a list of words, a list of vocabulary ids, or a dict of the model's
                inputs (pixel_values, input_ids...) with a batch of one. What the dict's
                attention_mask hides is in no map and no loss; padding on the left is taken off
                before the model reads the rest, so that positions count from the first token.
            pair: second sentence, for models trained on pairs.
            target: what the decoder of an encoder-decoder reads; None = what the model generates
                greedily, up to 40 tokens.
            truncate: cut what is too long for the model; without it that is an error.
            loss: take gradients too, in a second pass: "masked" (15 % of the tokens, masked as BERT
                was trained), "causal" (every next token), "auto" (what the model's head is for), or
                a function that makes one number, a tensor, of the model's output. Memory: all maps.
            seed: of the masking.

        Raises:
            ValueError: empty or too long text, words of a list that the tokenizer has no tokens
                for, ids that the model does not have, a mask that hides all, no tokenizer, or maps
                or gradients that cannot be read.
            TypeError: an input of another form, a target for a model without a decoder, or a loss
                that the model has no head for.
            RuntimeError: the model was closed.
        """
        if target is not None and not self._encodes_apart:
            raise TypeError(f"target is for encoder-decoders, not {type(self.hf_model).__name__}")
        if isinstance(text, Mapping):
            if pair is not None:
                raise TypeError("pair goes with texts; a dict of inputs is taken as it is")
            inputs, tokens = given_inputs(text, self.hf_model), None
            ids = unpadded(inputs, "input_ids", "attention_mask")
            if ids is not None:
                types = unpadded(inputs, "token_type_ids", "attention_mask")
                segments = None if types is None else [min(kind, 1) for kind in types]
                tokens = self._encoder.axis(ids, segments=segments)
        else:
            encoded = self._encoder(text, pair, truncate=truncate)
            inputs, tokens = padded_inputs([encoded], self.hf_model, self.tokenizer), encoded.tokens
        with self.lock:
            if self._encodes_apart and "decoder_input_ids" not in inputs:
                inputs |= self._decoder_inputs(inputs, target, truncate)
            attention = self._attentions(inputs, [tokens], loss=loss, seed=seed)[0]
        options = {"target": target, "truncate": truncate or None, "loss": loss}
        attention.made_by = self._call(text, pair, **options, seed=seed or None)
        return attention

    def attend_batch(
        self, texts: Sequence[Text], pairs: Sequence[Text] | None = None, *, truncate: bool = False
    ) -> list[Attention]:
        """The attention of several texts, as `attend` would give it.

        Texts of one length share a forward pass, so that no padding changes a number.
        Encoder-decoders run one pass a text, since each generates its own target.

        Raises:
            ValueError: as `attend`; or not one pair a text.
        """
        if isinstance(texts, (str, Mapping)):
            raise TypeError("attend_batch takes a list of texts; for one input use attend(text)")
        seconds = [None] * len(texts) if pairs is None else list(pairs)
        if len(seconds) != len(texts):
            raise ValueError(f"one pair a text, got {len(texts)} texts and {len(seconds)} pairs")
        if not texts:
            return []
        if self._encodes_apart:
            return [
                self.attend(text, pair, truncate=truncate)
                for text, pair in zip(texts, seconds, strict=True)
            ]
        encoded = [
            self._encoder(text, pair, truncate=truncate)
            for text, pair in zip(texts, seconds, strict=True)
        ]
        of_length: dict[int, list[int]] = {}
        for index, one in enumerate(encoded):
            of_length.setdefault(len(one.ids), []).append(index)
        found: dict[int, Attention] = {}
        with self.lock:
            for indices in of_length.values():
                inputs = padded_inputs([encoded[i] for i in indices], self.hf_model, self.tokenizer)
                attentions = self._attentions(inputs, [encoded[i].tokens for i in indices])
                found.update(zip(indices, attentions, strict=True))
        for index, attention in found.items():
            options = {"truncate": truncate or None}
            attention.made_by = self._call(texts[index], seconds[index], **options)
        return [found[index] for index in range(len(encoded))]

    def generate(self, text: Text, max_new_tokens: int = 40, **options: Any) -> Attention:
        """The attention over a prompt and what the model writes after it, greedily by default.

        One causal pass over the whole: the maps of every step of the generation, stacked. For an
        encoder-decoder, `text` is what the encoder reads. `n_prompt` of the result counts the
        tokens that were given to the generating stack.

        Args:
            text: as in `attend`.
            max_new_tokens: tokens to write at most.
            options: further options of transformers' `generate`, such as do_sample=True.

        Raises:
            ValueError: as `attend`; no generating model; prompt and new tokens exceed its limit.
            RuntimeError: the model was closed.
        """
        encoded = self._encoder(text)
        inputs = padded_inputs([encoded], self.hf_model, self.tokenizer)
        given = {"text": text, "max_new_tokens": max_new_tokens}
        made_by = self.made_by.then(call("generate", given, options))
        with self.lock:
            self._check_open()
            if self._encodes_apart:
                written = translation(self.hf_model, inputs, max_new_tokens, **options)
                inputs["decoder_input_ids"] = written
                attention = self._attentions(inputs, [encoded.tokens], n_prompt=1)[0]
                attention.made_by = made_by
                return attention
            limit = self._encoder.limit
            if limit is not None and len(encoded.ids) + max_new_tokens > limit:
                raise ValueError(
                    f"a prompt of {len(encoded.ids)} tokens and {max_new_tokens} new ones exceed "
                    f"the {limit} that {type(self.hf_model).__name__} takes: ask for fewer new ones"
                )
            ids = continuation(self.hf_model, self.tokenizer, inputs, max_new_tokens, **options)
            whole = Encoded(ids, None, self._encoder.axis(ids))
            inputs = padded_inputs([whole], self.hf_model, self.tokenizer)
            attention = self._attentions(inputs, [whole.tokens], len(encoded.ids))[0]
            attention.made_by = made_by
            return attention

    def close(self) -> None:
        """Give the model back in the mode (train or eval) that it came in."""
        for module, training in self._training.items():
            module.training = training
        self._training = {}

    def __enter__(self) -> AttentionModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        kind = type(self.hf_model).__name__
        name = "" if self.name == kind else f" {self.name!r}"
        return f"AttentionModel({kind}{name}, {self.n_layers}×{self.n_heads} heads, {self.device})"

    def _call(self, text: Text | Inputs, pair: Text | None, **options: Any) -> Call:
        """The call of `attend` that gives an attention, as Python writes it."""
        return self.made_by.then(call("attend", {"text": text, "pair": pair}, options))

    def _check_open(self) -> None:
        if not self._training:
            raise RuntimeError("this AttentionModel was closed: load_model(...) makes a new one")

    def _attentions(
        self,
        inputs: dict[str, Tensor],
        tokens: list[Tokens | None],
        n_prompt: int | None = None,
        loss: LossName | LossFunction | None = None,
        seed: int = 0,
    ) -> list[Attention]:
        self._check_open()
        options = {"use_cache": False} if "use_cache" in self._parameters else {}
        collected = Collected(self.hf_model, inputs, options, self._projections)
        losses: list[Loss] = []
        if loss is not None:
            task = task_for(self.hf_model, self.tokenizer, inputs, loss, seed)
            losses = collected.add_gradients(
                task, *attention_gradients(self.hf_model, task, options)
            )
        attentions = []
        for item, (layers, own) in enumerate(zip(collected.items, tokens, strict=True)):
            written = unpadded(inputs, "decoder_input_ids", "decoder_attention_mask", item)
            target = None if written is None else self._encoder.axis(written)
            axes = {}
            for name, kept in layers.items():
                query = own if name in _ENCODER_STACKS or target is None else target
                key = target if name == "decoder" else own
                if name == "cross" and target is None:
                    key = None
                axes[name] = (
                    fitting_axis(query, kept[0].n_query, inputs, self.hf_model.config),
                    fitting_axis(key, kept[0].n_key, inputs, self.hf_model.config),
                )
            # Layers are met in the order of computation; the cross-attention is read last.
            order = [name for name in ("self", "encoder", "decoder", "cross") if name in layers]
            attentions.append(
                Attention(
                    {name: layers[name] for name in order},
                    axes,
                    model_name=self.name,
                    n_prompt=n_prompt,
                    lock=self.lock,
                    no_norms=collected.no_norms,
                    loss=losses[item] if losses else None,
                )
            )
        return attentions

    def _decoder_inputs(
        self, inputs: dict[str, Tensor], target: Text | None, truncate: bool
    ) -> dict[str, Tensor]:
        if target is None:
            self._check_open()
            return {"decoder_input_ids": translation(self.hf_model, inputs, 40)}
        ids = self._encoder(target, truncate=truncate, target=True).ids
        ids = decoder_ids(self.hf_model, ids)
        return {"decoder_input_ids": torch.tensor([ids], device=self.device)}
