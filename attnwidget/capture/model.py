"""AttentionModel: a Hugging Face model and its tokenizer, whose attention can be read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnwidget.capture.answers.losses import LossFunction, LossName
from attnwidget.capture.answers.predictions import Predictions
from attnwidget.capture.cut_inputs import cut_to
from attnwidget.capture.default_method import default_method
from attnwidget.capture.disabled import HeadChoice, disabled, intact_edits
from attnwidget.capture.forward_passes import ForwardPasses
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.input_reading import Reading
from attnwidget.capture.maps.python_call import Call, call
from attnwidget.capture.maps.readable_stacks import refuse_several_texts
from attnwidget.capture.model_inputs import Inputs, ModelInputs
from attnwidget.capture.model_lock import ModelLock
from attnwidget.capture.predict import predictions_of, question_of
from attnwidget.capture.tapping.attention_sites import find_sites, text_parts
from attnwidget.capture.tapping.edit_methods import EditMethod
from attnwidget.capture.tapping.edits import Edits
from attnwidget.capture.tapping.layer_numbers import LayerNumbers
from attnwidget.capture.tapping.numbered_layers import layer_numbers
from attnwidget.capture.tapping.output_check import OutputCheck
from attnwidget.capture.tapping.stack_names import default_stack
from attnwidget.capture.tapping.tap import open_edits
from attnwidget.capture.tapping.text_positions import growing_text
from attnwidget.inputs.chat_text import Chat, as_chat, has_roles
from attnwidget.inputs.continued_inputs import continuable, continued
from attnwidget.inputs.example import ReadExample
from attnwidget.inputs.generate import (
    check_generates,
    continuation,
    decoder_ids,
    translation,
)
from attnwidget.inputs.length_limit import LengthLimit
from attnwidget.inputs.listed_ids import is_array, listed
from attnwidget.inputs.media_input import refuse_unnamed
from attnwidget.inputs.pad_id import reads_single_texts
from attnwidget.inputs.processor import MadeInputs, Processor, given_media
from attnwidget.inputs.replayed_text import check_log_probabilities, generated_ids
from attnwidget.inputs.text_encoder import Encoded, Text
from attnwidget.inputs.text_ids import TextIds
from attnwidget.inputs.vocabulary import Vocabulary
from attnwidget.kernels.plain_torch import in_plain_torch, plain_torch
from attnwidget.model_facts.pickled_model import SentModel, received_model
from attnwidget.model_facts.plain_forward import uncompiled
from attnwidget.model_facts.weight_placement import check_has_weights, device_of
from attnwidget.text.counted import counted
from attnwidget.text.places import Media
from attnwidget.text.tokens import Tokens
from attnwidget.text.whole_number import whole_number

#: What `dir` of a model does not list: other modules of the package read it, and users do not.
_OF_THE_PACKAGE = {
    "check_open",
    "edits",
    "inputs",
    "lock",
    "made_by",
    "own_name",
    "passes",
    "question",
    "remark",
    "texts",
    "vocabulary",
}


class HeadsSeen(NamedTuple):
    """The heads that the layers of a model had in a study.

    Attributes:
        modules: The id of every attention module, and the number of heads that the module states.
            Other values now mean that the model was changed.
        n_heads: Number of heads of each layer.
    """

    modules: list[tuple[int, int | None]]
    n_heads: list[int]


class AttentionModel:
    """A model whose attention can be read, in eval mode until `close()`; made by `load_model`.

    Modules that are in training mode or compiled run in eval mode and uncompiled during a read, and
    are restored afterwards. A pickled `AttentionModel` stores the call of `load_model` and is
    loaded again when it is unpickled. The pickle of a model that was passed as an object contains
    the whole model.

    Attributes:
        hf_model: The transformers model; if the model is wrapped (compiled, parallel, with adapters
            of peft), the model inside.
        tokenizer: The tokenizer of the model, or None.
        processor: The processor of pictures and sounds, as `load_model` received or found it, or
            None.
        name: Name of the model in figures, captions and results; in a block of `disabled` with the
            disabled heads.
        own_name: The name without disabled heads.
        source: The name by which `load_model` finds the model on any machine: a hub name, or a
            model of the package ("embedded", "attnwidget/genre"). None for a model from a folder or
            an object.
        random_parts: Modules whose weights were not in the files of the model, and were initialized
            at random.
        remark: Facts about the files of the model for readers of figures, for example a tokenizer
            from a different folder; "" for nothing.
        made_by: The call of `load_model` that made the model, as Python code.
        lock: Lock that is held during forward passes, and while an `Attention` of this model
            computes maps.
        length_limit: The number of tokens that an input may have.
        inputs: Maker of the input tensors of texts, with the encoder of texts.
        passes: The forward passes that give attentions.

    Example:
        >>> from attnwidget import load_model
        >>> with load_model() as model:
        ...     attention = model.attend("The cat sat.", "It slept.")
        >>> attention.stacks["self"].query.segments
        (0, 0, 0, 0, 0, 0, 1, 1, 1, 1)
    """

    def __init__(
        self,
        hf_model: Any,
        tokenizer: Any,
        name: str,
        source: str | None = None,
        max_tokens: int | None = None,
        random_parts: Sequence[str] = (),
        remark: str = "",
        processor: Processor | None = None,
    ) -> None:
        if not find_sites(hf_model):
            raise TypeError(
                f"{type(hf_model).__name__} has no softmax attention whose weights could be read"
            )
        _refuse_choices(hf_model)
        refuse_several_texts(hf_model)
        check_has_weights(hf_model)
        self.hf_model = hf_model
        self.tokenizer = tokenizer
        self.processor = None if processor is None else processor.given
        self.own_name = name
        self.source = source
        self.random_parts = tuple(random_parts)
        self.remark = remark
        beside = {"tokenizer": tokenizer} if processor is None else {"processor": processor}
        self.made_by = call("load_model", {"model": hf_model, **beside})
        # A function that loads the model in a worker process; None for a model passed as an object.
        self._load_again: Callable[[], AttentionModel] | None = None
        self.lock = ModelLock()
        self.length_limit = LengthLimit(hf_model, tokenizer, max_tokens, text_parts(hf_model))
        # Compares the first output of a tapped pass with the output of a plain pass.
        self._output_check = OutputCheck()
        self.inputs = ModelInputs(hf_model, tokenizer, self.length_limit, processor)
        self._vocabulary: Vocabulary | None = None
        # The heads that the layers had in the last study; None before the first study.
        self._heads_seen: HeadsSeen | None = None
        self._default_method: EditMethod | None = None
        self.passes = ForwardPasses(hf_model)
        self._training = {module: module.training for module in hf_model.modules()}
        hf_model.eval()

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the tokenizer, kept from one study to the next."""
        if self._vocabulary is None or self._vocabulary.tokenizer is not self.tokenizer:
            self._vocabulary = Vocabulary(self.tokenizer)
        return self._vocabulary

    @property
    def texts(self) -> TextIds:
        """How texts become vocabulary ids, for single texts and for studies."""
        if self.inputs.encoder.texts.tokenizer is not self.tokenizer:
            return TextIds(self.tokenizer)
        return self.inputs.encoder.texts

    @property
    def edits(self) -> Edits:
        """The edits of the enclosing blocks of `disabled`."""
        return open_edits(self.hf_model)

    @property
    def name(self) -> str:
        """The name of the model in figures, captions and results, with any disabled heads."""
        return ", ".join(filter(None, [self.own_name, str(self.edits)]))

    @property
    def _hybrid_layers(self) -> dict[str, LayerNumbers]:
        """The layers with attention, for each stack with some layers without attention; else {}.

        Hybrid models such as Jamba, Qwen3-Next and LFM2 have attention in some layers only. The
        layers keep the model's own numbers everywhere in the package.
        """
        hf_model = uncompiled(self.hf_model)
        return layer_numbers(hf_model, find_sites(hf_model))

    @property
    def n_layers(self) -> int:
        """Number of layers of the model, or of its encoder in an encoder-decoder."""
        return len(self._heads_of_layers)

    @property
    def n_heads(self) -> int:
        """Largest number of attention heads of a layer; with stages, of the first stage."""
        return max(self._heads_of_layers)

    @property
    def _heads_of_layers(self) -> tuple[int, ...]:
        """Number of heads of each layer, counted in the modules.

        The configuration of a model whose layers were taken out still states the former number.
        """
        heads_of = intact_edits(uncompiled(self.hf_model)).heads_of
        return heads_of[default_stack(heads_of) or next(iter(heads_of))]

    @property
    def default_method(self) -> EditMethod:
        """What stands in the place of heads that are off, if no method is chosen.

        "zero" in causal models and encoder-decoders, "uniform" in other models. See `disabled`.
        """
        if self._default_method is None:
            with self.lock.in_turn():
                self._default_method = default_method(self.hf_model)
        return self._default_method

    @property
    def device(self) -> torch.device:
        """The device of the model's inputs."""
        return device_of(self.hf_model)

    @in_plain_torch
    def attend(
        self,
        text: Text | Inputs | None = None,
        pair: Text | None = None,
        *,
        images: Any = None,
        audio: Any = None,
        target: Text | None = None,
        truncate: bool = False,
        loss: LossName | LossFunction | None = None,
        seed: int = 0,
        long: bool | None = None,
        tools: Sequence[Any] | None = None,
        add_generation_prompt: bool | None = None,
    ) -> Attention:
        """The attention of one input.

        Above 1,024 tokens, no whole map is computed and `Attention.is_long` is True. Queries and
        keys are kept with the sum of each row, and any part of a map can be computed exactly.

        A chat is a list of messages, such as {"role": "user", "content": "Hi"}. The tokenizer's
        chat template writes the text once, with all special tokens. `Tokens.roles` and
        `Tokens.turns` tell the message of each token.

        Args:
            text: A string, a list of words, vocabulary ids (a list, a tensor or an array), a chat,
                or a dict of the model's inputs (pixel_values, input_ids...) with a batch of one.
                The model reads words with spaces between them. Special tokens that a string begins
                or ends with are not added again. Tokens that the attention_mask of the dict hides
                are in no map and no loss. Padding around a text is removed before the model reads
                the text, so that positions count from the first token. Beside `images` or `audio`,
                a string, a chat, a dict, or None for models without text.
            pair: Second sentence, for models trained on pairs.
            images: A picture or a list of pictures, which the model's processor prepares: PIL
                images, paths, or arrays [height, width, 3] of bytes or of numbers from 0 to 1. The
                chat template, if there is one, writes the placeholders of a text without
                placeholders. The messages of a chat may hold pictures too.
            audio: A sound or a list of sounds: pairs (samples, rate), or paths of WAV files.
            target: The text that the decoder of an encoder-decoder reads; None = a greedy
                generation of up to 40 tokens.
            truncate: Whether to cut inputs that are too long for the model; otherwise they are an
                error.
            loss: Loss whose gradients a second pass computes: "masked" (15 % of the tokens, masked
                as in the training of BERT), "causal" (each next token), "auto" (the training task
                of a language model; for a tagger, a classifier or a model for questions the loss of
                its own answer, and for a head with numbers their sum), or a function from a model
                output to a scalar tensor. The gradients need the memory of all maps. None = no
                gradients.
            seed: Seed of the masking.
            long: Whether to read the input without whole maps; None = above 1,024 tokens of a text,
                a picture or a sound. Whole maps are always read with a loss, with padding, with
                disabled heads, and for models that show only their weights.
            tools: Tools that the chat template describes to the model: functions or JSON schemas,
                as for `tokenizer.apply_chat_template`.
            add_generation_prompt: Whether the chat template writes the beginning of the assistant's
                answer after the messages; None = unless the last message is the assistant's.

        Raises:
            ValueError: if the text is empty or too long, listed words have no tokens, ids are not
                in the vocabulary, the mask hides every token, there is no tokenizer, or maps or
                gradients cannot be read. Also if the first input shows that reading the attention
                changes the model's outputs. For a chat, if the chat template is missing, refuses
                the messages, or mixes several messages.
            TypeError: an input of another form, a target for a model without a decoder, or a loss
                for which the model has no head.
            RuntimeError: the model was closed.

        Example:
            >>> from attnwidget import load_model
            >>> model = load_model()
            >>> attention = model.attend("The cat sat.")
            >>> attention
            Attention(small BERT (in the package), self 6×12, 6 tokens)
            >>> attention.tokens
            ['[CLS]', 'the', 'cat', 'sat', '.', '[SEP]']
            >>> attention.weights(2, 8).shape
            (6, 6)
        """
        read, media = self._with_media(text, images, audio, tools, add_generation_prompt)
        inputs, tokens = self.inputs.encode(read, pair, target=target, truncate=truncate)
        with self.lock.in_turn():
            self.check_open()
            inputs = self.inputs.with_decoder(inputs, target, truncate)
            attention = self.passes.attentions(
                self,
                inputs,
                [tokens],
                loss=loss,
                seed=seed,
                long=long,
                media=media,
                n_cut_of_target=self._n_cut_of_target(target) if truncate else 0,
            )[0]
        options = {"target": target, "truncate": truncate or None, "loss": loss, "long": long}
        said = text if media else read
        options = {"images": images, "audio": audio, **options}
        attention.made_by = self._call(said, pair, **options, seed=seed or None)
        attention.source_text = _source_text(read, pair)
        return attention

    def _n_cut_of_target(self, target: Text | None) -> int:
        """Return the number of tokens that are cut off a text for the decoder."""
        return 0 if target is None else self.inputs.target_ids(target, truncate=True)[1]

    def _with_media(
        self,
        text: Any,
        images: Any,
        audio: Any,
        tools: Sequence[Any] | None = None,
        add_generation_prompt: bool | None = None,
        *,
        continues: bool = False,
    ) -> tuple[Any, Media]:
        """Return the text, or the dict of inputs of a text with pictures and sounds, and these."""
        media = given_media(text, images, audio)
        if media:
            made = self.inputs.of_media(
                text, media, tools=tools, add_generation_prompt=add_generation_prompt
            )
            return made, media
        refuse_unnamed(text)
        return as_chat(listed(text), tools, add_generation_prompt, continues=continues), media

    @in_plain_torch
    def attend_batch(
        self, texts: Sequence[Text], pairs: Sequence[Text] | None = None, *, truncate: bool = False
    ) -> list[Attention]:
        """Return the attention of several texts, as `attend` would.

        Texts of equal length share a forward pass, so padding never changes a number.
        Encoder-decoders run a pass per text, because every text has a different target.

        Raises:
            ValueError: as `attend`; or the numbers of texts and pairs differ.
            TypeError: as `attend`; or one text, or a tensor of several texts, is given.

        Example:
            >>> from attnwidget import load_model
            >>> attentions = load_model().attend_batch(["The cat sat.", "The dog slept outside."])
            >>> [len(attention.tokens) for attention in attentions]
            [6, 7]
        """
        if isinstance(texts, (str, Mapping)) or has_roles(texts):
            raise TypeError("attend_batch takes a list of texts; for one input use attend(text)")
        if hasattr(texts, "columns"):
            raise TypeError(
                "attend_batch takes a list of texts, and a table is a list of the names of its "
                "columns: pass list(table['text'])"
            )
        if is_array(texts):
            raise TypeError(
                "attend_batch takes a list of texts, and rows of a tensor or an array may end with "
                "padding: pass a list with the ids of each text, without padding; for one text use "
                "attend(ids)"
            )
        self.inputs.refuse_text()
        texts = [as_chat(listed(text)) for text in texts]
        seconds = [None] * len(texts) if pairs is None else list(pairs)
        if len(seconds) != len(texts):
            raise ValueError(f"one pair a text, got {len(texts)} texts and {len(seconds)} pairs")
        if not texts:
            return []
        if self.inputs.encodes_apart:
            return [
                self.attend(text, pair, truncate=truncate)
                for text, pair in zip(texts, seconds, strict=True)
            ]
        encoded = [
            self.inputs.encoder(text, pair, truncate=truncate)
            for text, pair in zip(texts, seconds, strict=True)
        ]
        of_length: dict[int, list[int]] = {}
        for index, encoded_text in enumerate(encoded):
            of_length.setdefault(len(encoded_text.ids), []).append(index)
        by_index: dict[int, Attention] = {}
        with self.lock.in_turn():
            at_once = 1 if reads_single_texts(self.hf_model) else len(encoded)
            batches = [
                alike[start : start + at_once]
                for alike in of_length.values()
                for start in range(0, len(alike), at_once)
            ]
            for indices in batches:
                inputs = self.inputs.padded([encoded[i] for i in indices])
                attentions = self.passes.attentions(
                    self, inputs, [encoded[i].tokens for i in indices]
                )
                by_index.update(zip(indices, attentions, strict=True))
        for index, attention in by_index.items():
            options = {"truncate": truncate or None}
            attention.made_by = self._call(texts[index], seconds[index], **options)
            attention.source_text = _source_text(texts[index], seconds[index])
        return [by_index[index] for index in range(len(encoded))]

    @in_plain_torch
    def predict(
        self,
        text: Text | Inputs | None = None,
        pair: Text | None = None,
        *,
        images: Any = None,
        audio: Any = None,
        top: int = 10,
        positions: Iterable[int] | None = None,
        target: Text | None = None,
        truncate: bool = False,
    ) -> Predictions:
        """Return the model's predictions, with the probability of every answer.

        A masked language model predicts each mask token of the text. A causal model predicts the
        next token, and computes the probability of the text. An encoder-decoder does the same for
        the text that its decoder writes after `target`. A tagger predicts the label of each token
        that is not special, a classifier the class. A model for questions, with the question as
        `text` and the context as `pair`, predicts the span of the context with the answer: the
        probabilities are of all spans of up to 30 tokens, and of "no answer". All probabilities,
        also of the intact model, come from the attention implementation whose maps are read.

        If `positions` names a piece of a word, a masked language model also masks the later pieces,
        because these pieces would give the word away. The log probabilities of all pieces therefore
        sum to the log probability of the word (Kauf and Ivanova 2023, PLL-word-l2r).

        Args:
            text: Input as in `attend`; for a masked language model, with its mask token.
            pair: Second sentence, as in `attend`.
            images: Pictures, as in `attend`.
            audio: Sounds, as in `attend`.
            top: Number of answers per question in the table and the chart of the result.
            positions: Tokens to predict instead, counted from 0. A masked language model predicts each
                token with masks in its place and in the rest of its word, a causal model from the
                tokens before it, and a tagger labels these tokens.
            target: Text that the decoder of an encoder-decoder has written so far; None = no text.
            truncate: As in `attend`.

        Raises:
            TypeError: the model has no head that predicts words, labels, classes or spans;
                otherwise as `attend`.
            ValueError: no mask token in the text and no `positions`, or a token that does not exist;
                otherwise as `attend`.
            RuntimeError: the model was closed.

        Example:
            >>> from attnwidget import load_model
            >>> model = load_model(device="cpu")
            >>> model.predict("The woman washed [MASK] hands.")
            Predictions(small BERT (in the package), masked: her 0.824)
        """
        if images is not None or audio is not None:
            text, _ = self._with_media(text, images, audio)
        inputs, tokens = self.inputs.encode(text, pair, target=target, truncate=truncate)
        return self._predictions(inputs, tokens, target, positions, top)

    @in_plain_torch
    def _predict_again(
        self, reading: Reading[Attention], *, at: Iterable[int] | None, top: int
    ) -> Predictions:
        """Return the predictions for an input under the edits that are in force now."""
        inputs, _ = self.inputs.encode(reading.inputs)
        return self._predictions(inputs, reading.tokens, None, at, top)

    def _predictions(
        self,
        inputs: Mapping[str, Tensor],
        tokens: Tokens | None,
        target: Text | None,
        at: Iterable[int] | None,
        top: int,
    ) -> Predictions:
        with self.lock.in_turn():
            self.check_open()
            predictions = predictions_of(
                self.hf_model,
                self.inputs,
                self.tokenizer,
                inputs,
                target=target,
                at=at,
                top=top,
                model_name=self.name,
                tokens=tokens,
            )
        if tokens is not None and tokens.n_cut:
            predictions.add_cut(cut_to(len(tokens), len(tokens) + tokens.n_cut))
        return predictions

    @in_plain_torch
    def generate(
        self,
        text: Text | Inputs | None = None,
        max_new_tokens: int = 40,
        *,
        images: Any = None,
        audio: Any = None,
        tools: Sequence[Any] | None = None,
        add_generation_prompt: bool | None = None,
        **options: Any,
    ) -> Attention:
        """Return the attention over a prompt and its continuation by the model, greedy by default.

        One causal pass reads prompt and continuation, and its maps have the attention of every step
        of the generation. For an encoder-decoder, `text` is the encoder's text. `n_prompt` of the
        result is the number of tokens that the generating stack received, so the new tokens are
        `tokens[n_prompt:]`.

        The answer to a chat is a message of the assistant, and its tokens have this role. A chat
        whose last message is the assistant's goes on with this message.

        Args:
            text: as in `attend`. A dict needs input_ids, for an encoder-decoder the inputs of the
                encoder.
            max_new_tokens: Largest number of new tokens.
            images: Pictures, as in `attend`.
            audio: Sounds, as in `attend`.
            tools: As in `attend`.
            add_generation_prompt: As in `attend`.
            options: Further options of transformers' `generate`, such as do_sample=True.

        Raises:
            ValueError: as `attend`; the model does not generate; prompt and new tokens exceed its
                limit; a dict that cannot be continued.
            RuntimeError: the model was closed.

        Example:
            >>> from transformers import GPT2Config, GPT2LMHeadModel
            >>> from attnwidget import load_model
            >>> tokenizer = load_model().tokenizer
            >>> config = GPT2Config(n_layer=2, n_head=4, n_embd=32, vocab_size=len(tokenizer))
            >>> model = load_model(GPT2LMHeadModel(config), tokenizer)
            >>> attention = model.generate("The cat sat", max_new_tokens=3)
            >>> attention.n_prompt, len(attention.tokens)
            (5, 8)
        """
        max_new_tokens = whole_number("max_new_tokens", max_new_tokens, 1)
        said = text
        text, media = self._with_media(
            text, images, audio, tools, add_generation_prompt, continues=True
        )
        encoded = None if isinstance(text, Mapping) else self.inputs.encoder(text)
        chat = text.chat if isinstance(text, MadeInputs) else None
        arguments = {
            "text": said if media else text,
            "max_new_tokens": max_new_tokens,
        }
        shown = {"images": images, "audio": audio, **options}
        made_by = self._chat_call("generate", arguments, shown)
        # Edits may name tokens that the model has not written yet, or never writes.
        with self.lock.in_turn(), growing_text():
            self.check_open()
            if encoded is None:
                inputs, tokens = self.inputs.encode(text)
                check_generates(self.hf_model, "attend(text) reads a text as it is")
                inputs = continuable(inputs, apart=self.inputs.encodes_apart)
            else:
                inputs = self.inputs.padded([encoded])
                tokens = encoded.tokens
            apart = self.inputs.encodes_apart
            n_prompt = 1 if apart else inputs["input_ids"].shape[1]
            limit = self.inputs.encoder.limit
            if limit is not None and n_prompt + max_new_tokens > limit:
                raise ValueError(
                    f"a prompt of {counted(n_prompt, 'token')} and {max_new_tokens} new ones "
                    f"exceed the {limit} that {type(self.hf_model).__name__} takes: ask for fewer "
                    "new ones"
                )
            if apart:
                written, n_prompt = translation(self.hf_model, inputs, max_new_tokens, **options)
                inputs["decoder_input_ids"] = written
                attention = self.passes.attentions(self, inputs, [tokens], n_prompt, media=media)[0]
                attention.made_by = made_by
                return attention
            prompt = inputs
            if encoded is not None:
                names = ("input_ids", "attention_mask")
                prompt = {name: inputs[name] for name in names if name in inputs}
            ids = continuation(self.hf_model, self.tokenizer, prompt, max_new_tokens, **options)
            whole = self.inputs.encoder.axis(ids)
            if encoded is None:
                inputs = continued(inputs, ids)
                if chat is not None and tokens is not None and tokens.roles:
                    whole = chat.text.continued(tokens, whole)
            else:
                inputs = self.inputs.padded([Encoded(ids, None, whole)])
                whole = encoded.continued(whole)
            attention = self.passes.attentions(self, inputs, [whole], n_prompt, media=media)[0]
            attention.made_by = made_by
            return attention

    @in_plain_torch
    def replay(
        self,
        text: Text,
        generated: Text,
        *,
        log_probabilities: Sequence[float] | None = None,
        tolerance: float = 0.1,
        long: bool | None = None,
        tools: Sequence[Any] | None = None,
        add_generation_prompt: bool | None = None,
    ) -> Attention:
        """Return the attention over a prompt and the text that a server generated from it.

        One causal pass reads prompt and generated text, as in `generate`, and the result is marked
        in the same way: `n_prompt` is the number of tokens of the prompt. For an encoder-decoder,
        `text` is the encoder's text. With log probabilities of the server, a second pass checks
        that this model gives the same.

        Args:
            text: Prompt, as in `attend`, with the special tokens that the server added. A list of
                vocabulary ids is taken as it is. A chat is written as in `generate`.
            generated: Generated text, or the vocabulary ids of its tokens. Ids are safer, because a
                server may join other tokens to the same text.
            log_probabilities: Log probability of each generated token given all tokens before it,
                in nats, without temperature and penalties; None = no check.
            tolerance: Largest accepted difference of a log probability, in nats. The default allows
                for a server in half precision; 0.001 is enough for float32 on both sides.
            long: As in `attend`.
            tools: As in `attend`.
            add_generation_prompt: As in `attend`.

        Raises:
            ValueError: as `attend`; the model does not generate; prompt and generated text exceed
                its limit; it is not known which tokens were generated; the model gives a token
                another log probability. The error names the first such token.
            TypeError: `generated` is of another form; with `log_probabilities`, the model has no
                head that predicts tokens.
            RuntimeError: the model was closed.

        Example:
            >>> from attnwidget import load_model
            >>> model = load_model("attnwidget/induction")
            >>> attention = model.replay("The cat sat. The cat", " sat.")
            >>> attention.n_prompt, attention.tokens[attention.n_prompt :]
            (13, ['s', '##a', '##t', '.'])
        """
        check_generates(self.hf_model, "attend(text) reads a text as it is")
        text = as_chat(listed(text), tools, add_generation_prompt, continues=True)
        encoded = self.inputs.encoder(text)
        arguments = {"text": text, "generated": listed(generated)}
        before = encoded
        if self.inputs.encodes_apart:
            if isinstance(generated, str):
                generated = self.inputs.encoder(generated, target=True).ids
            start = decoder_ids(self.hf_model, [])
            before = Encoded(start, None, self.inputs.encoder.axis(start))
        prompt = before.ids
        new = generated_ids(self.inputs.encoder, text, before, generated)
        whole = self.inputs.encoder([*prompt, *new])
        inputs = self.inputs.padded([encoded if self.inputs.encodes_apart else whole])
        written = torch.tensor([whole.ids], dtype=torch.long, device=self.device)
        if self.inputs.encodes_apart:
            inputs["decoder_input_ids"] = written
        with self.lock.in_turn():
            self.check_open()
            if log_probabilities is not None:
                names = whole.tokens.text[len(prompt) :]
                check_log_probabilities(
                    self.hf_model, inputs, written, names, log_probabilities, tolerance
                )
            tokens = (
                encoded.tokens if self.inputs.encodes_apart else encoded.continued(whole.tokens)
            )
            attention = self.passes.attentions(self, inputs, [tokens], len(prompt), long=long)[0]
        attention.made_by = self._chat_call("replay", arguments, {"long": long})
        return attention

    @contextmanager
    def disabled(
        self,
        heads: HeadChoice | None = None,
        *,
        method: EditMethod | None = None,
        layers: Iterable[int] | None = None,
        stack: str | None = None,
        reference: object = None,
        edges: Iterable[tuple[int, int]] | None = None,
        kv_group: bool = False,
    ) -> Iterator[AttentionModel]:
        """Switch heads off in the block: their outputs, before the projection, are replaced.

        All uses of the model in the block are edited: `attend`, `generate`, `predict`, `measure`,
        every probe and calls of `hf_model`. The edit ends with the block, even after an exception,
        and never affects other threads. Blocks nest: the inner block decides about a head that both
        blocks name, and edges add up. An attention made in the block names the edit in its model
        name.

        Args:
            heads: A head or a list of heads, each as (1, 3), "L1 H3" or a `Head`.
            method: Replacement of a head's output. "uniform": the mean of the values that each
                query may see, all weights 1/L (Kovaleva et al. 2019, section 4.3). "zero": zeros
                (Michel et al. 2019). "first": the value of the first token that the query may see.
                "mean": the mean of the head's output over all tokens of `reference`. "patch": the
                head's outputs on `reference`, token by token; tokens that `generate` writes keep
                their own. None: "mean" with a `reference`;
                otherwise `default_method`, which is "zero" in causal models and
                encoder-decoders, and "uniform" in other models.
            layers: Layers whose heads are all switched off as well.
            stack: Stack of `layers` and of heads without a stack: "encoder", "decoder" or "cross".
            reference: For "mean", an input or a list of inputs; for "patch", one input with the
                same number of tokens. An input is a text, a list of words or ids, a chat, an
                `Attention` of this model, a `Segment` or a dict of inputs. The intact model reads
                it.
            edges: Weights to remove in place of whole heads: [(query, key), ...], positions in the
                text, counted from 0. The score of an edge becomes minus infinity. The other keys
                of the query get its weight, and so does an attention sink. Edges stay removed
                while `generate` writes, also the edges of new tokens.
            kv_group: Whether to include all heads that share keys and values with the named heads.

        Raises:
            ValueError: no such head, layer, stack or method; a head named twice; a reference that
                is missing or does not fit; in the block, an edit that the model or an input does
                not allow.
            TypeError: a reference that is not an input.
            RuntimeError: the model was closed.

        Example:
            >>> from attnwidget import load_model
            >>> model = load_model()
            >>> with model.disabled([(5, 8), (2, 3)]):
            ...     attention = model.attend("The cat sat.")
            >>> attention.model_name
            'small BERT (in the package), without L5 H8, L2 H3 (uniform)'
        """
        with self.lock.in_turn(), plain_torch():
            self.check_open()
            block = disabled(
                self.hf_model,
                self.inputs,
                heads,
                method=method,
                layers=layers,
                stack=stack,
                reference=reference,
                edges=edges,
                kv_group=kv_group,
            )
        with block:
            yield self

    def close(self) -> None:
        """Restore the mode (train or eval) in which the model came.

        Example:
            >>> from attnwidget import load_model
            >>> with load_model() as model:
            ...     attention = model.attend("The cat sat.")
            >>> attention.weights(0, 0).shape
            (6, 6)
        """
        for module, training in self._training.items():
            module.training = training
        self._training = {}

    def __enter__(self) -> AttentionModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        whole = partial(
            type(self),
            self.hf_model,
            self.tokenizer,
            self.own_name,
            self.source,
            self.length_limit.chosen,
            self.random_parts,
            self.remark,
            self.inputs.processor,
        )
        return received_model, (SentModel.from_model(self, self._load_again or whole),)

    def __dir__(self) -> list[str]:
        names = {name for name in super().__dir__() if not name.startswith("_")}
        return sorted(names - _OF_THE_PACKAGE)

    def __repr__(self) -> str:
        kind = type(self.hf_model).__name__
        name = "" if self.name == kind else f" {self.name!r}"
        return f"AttentionModel({kind}{name}, {self.n_layers}×{self.n_heads} heads, {self.device})"

    def _call(self, text: Text | Inputs | None, pair: Text | None, **options: Any) -> Call | None:
        """Return the Python call of `attend` that makes an attention; None in a block."""
        return self._chat_call("attend", {"text": text, "pair": pair}, options)

    def _chat_call(
        self, name: str, first: Mapping[str, Any], options: Mapping[str, Any]
    ) -> Call | None:
        """Return the Python call of a method that reads a text or a chat; None in a block."""
        if self.edits:
            return None
        if isinstance(chat := first["text"], Chat):
            first = {**first, "text": list(chat.messages)}
            tools = None if chat.tools is None else list(chat.tools)
            asked = {"tools": tools, "add_generation_prompt": chat.add_generation_prompt}
            options = {**options, **asked}
        return self.made_by.then(call(name, first, options))

    @in_plain_torch
    def _read_again(self, reading: Reading[Attention]) -> Attention:
        """Return the attention of an input that was read before, under the edits in force.

        Layers below the edits are not run again, if the model gives the same output without them.
        """
        return self.passes.again(self, reading)

    @in_plain_torch
    def question(
        self, inputs: Mapping[str, Tensor], position: int, tokens: Tokens | None = None
    ) -> ReadExample:
        """Return the question at a predicted position; `tokens` if the words are known."""
        self.check_open()
        return question_of(self.hf_model, self.inputs, self.tokenizer, inputs, position, tokens)

    def check_open(self) -> None:
        """Raise an error if the model was closed.

        Raises:
            RuntimeError: The model was closed.

        Example:
            >>> from attnwidget import load_model
            >>> load_model().check_open()
        """
        if not self._training:
            raise RuntimeError("this AttentionModel was closed: load_model(...) makes a new one")


def _refuse_choices(hf_model: Any) -> None:
    """Raise TypeError for a model that compares several texts of an input."""
    name = type(hf_model).__name__
    if name.endswith("ForMultipleChoice"):
        raise TypeError(
            f"{name} reads several texts at once: load its encoder, "
            "load_model(hf_model.base_model, tokenizer), and read each choice with "
            "attend(question, choice)"
        )


def _source_text(*texts: object) -> str:
    """Return one or two texts as a reader wrote them; "" for words, chats and other inputs."""
    given = [text for text in texts if text is not None]
    written = [text for text in given if isinstance(text, str)]
    return " ".join(written) if len(written) == len(given) else ""
