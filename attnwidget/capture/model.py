"""AttentionModel: a Hugging Face model with its tokenizer and readable attention."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from attnwidget.capture.answers.losses import LossFunction, LossName
from attnwidget.capture.answers.predictions import Predictions
from attnwidget.capture.cut_inputs import cut_to
from attnwidget.capture.default_method import default_method
from attnwidget.capture.disabled import HeadChoice, disabled, intact_edits, rules_in_place
from attnwidget.capture.forward_passes import ForwardPasses
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.input_reading import Reading
from attnwidget.capture.maps.python_call import Call, call
from attnwidget.capture.maps.readable_stacks import refuse_several_texts
from attnwidget.capture.model_inputs import Inputs, ModelInputs
from attnwidget.capture.model_lock import ModelLock
from attnwidget.capture.predict import predictions_of, question_of
from attnwidget.capture.scaled_links import LayerNames, link_edit, scaled_links
from attnwidget.capture.tapping.attention_sites import find_sites, text_parts
from attnwidget.capture.tapping.edit_methods import EditMethod
from attnwidget.capture.tapping.edits import Edits
from attnwidget.capture.tapping.head import Head
from attnwidget.capture.tapping.head_rule import HeadRule
from attnwidget.capture.tapping.layer_numbers import LayerNumbers
from attnwidget.capture.tapping.link_edit import LinkEdit
from attnwidget.capture.tapping.numbered_layers import layer_numbers
from attnwidget.capture.tapping.output_check import OutputCheck
from attnwidget.capture.tapping.stack_names import default_stack
from attnwidget.capture.tapping.tap import open_edits
from attnwidget.capture.tapping.text_positions import growing_text
from attnwidget.hidden_frames import hides_frames
from attnwidget.inputs.chat_text import Chat, as_chat
from attnwidget.inputs.continued_inputs import continuable, continued
from attnwidget.inputs.example import ReadExample
from attnwidget.inputs.generate import (
    check_generates,
    continuation,
    decoder_ids,
    translation,
)
from attnwidget.inputs.input_list import has_roles
from attnwidget.inputs.length_limit import LengthLimit
from attnwidget.inputs.listed_ids import is_array, listed
from attnwidget.inputs.model_tensors import ModelBatch
from attnwidget.inputs.pad_id import reads_single_texts
from attnwidget.inputs.processor import MadeInputs, Processor
from attnwidget.inputs.replayed_text import check_log_probabilities, generated_ids
from attnwidget.inputs.text_encoder import Encoded, Text
from attnwidget.inputs.text_ids import TextIds
from attnwidget.inputs.vocabulary import Vocabulary
from attnwidget.kernels.plain_torch import in_plain_torch, plain_torch
from attnwidget.model_facts.pickled_model import SentModel, received_model
from attnwidget.model_facts.plain_forward import uncompiled
from attnwidget.model_facts.weight_placement import check_has_weights, device_of
from attnwidget.text.counted import counted
from attnwidget.text.link_ends import LinkName
from attnwidget.text.missing_names import MissingNames
from attnwidget.text.option_names import other_options
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
    """Heads of the model layers during a study.

    Attributes:
        modules: Id and stated number of heads for every attention module. If these values differ
            later, the model was changed.
        n_heads: Number of heads per layer.
    """

    modules: list[tuple[int, int | None]]
    n_heads: list[int]


class AttentionModel(MissingNames):
    """Model with readable attention, in eval mode until `close()`. Made by `load_model`.

    Modules that are in training mode or compiled run in eval mode and uncompiled during a read, and
    are restored afterwards. A pickled `AttentionModel` stores the call of `load_model` and is
    loaded again when it is unpickled. If a model was passed as an object, its pickle contains the
    whole model.

    Attributes:
        hf_model: Transformers model; if the model is wrapped (compiled, parallel, with peft
            adapters), the model inside.
        tokenizer: Tokenizer of the model, or None.
        processor: Processor for pictures and sounds, as `load_model` received or found it, or
            None.
        name: Name of the model in figures, captions and results; in a block of `disabled` with the
            disabled heads.
        own_name: Name without disabled heads.
        source: Name by which `load_model` finds the model on any machine: a hub name, or a bundled
            model ("embedded", "attnwidget/genre"). None for a model from a folder or an object.
        random_parts: Modules whose weights were not in the model files, and were initialized at
            random.
        remark: Remark about the model files for readers of figures, for example a tokenizer from a
            different folder; "" if there is none.
        made_by: Call of `load_model` that made the model, as Python code.
        lock: Lock that is held during forward passes, and while an `Attention` of this model
            computes maps.
        length_limit: Limit on the number of input tokens.
        inputs: Maker of input tensors, with the text encoder.
        passes: Forward passes that return attentions.

    Example:
        >>> from attnwidget import load_model
        >>> with load_model() as model:
        ...     attention = model.attend("The cat sat.", "It slept.")
        >>> attention.stacks["self"].query.segments
        (0, 0, 0, 0, 0, 0, 1, 1, 1, 1)
    """

    _other_names: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "ablate": "ablate(model, examples), or with model.disabled(heads)",
            "config": "hf_model.config",
            "encode": "attend(text), or tokenizer.encode",
            "eval": "model: it is in eval mode until close()",
            "explore": "explore(model, text)",
            "forward": "attend(text)",
            "heads": "n_heads, the number of heads per layer",
            "layers": "n_layers, the number of layers",
            "measure": "measure(model, texts)",
            "model": "hf_model",
            "model_name": "name",
            "run": "attend(text)",
            "scaled": "disabled(heads) for heads, or scaled_links(links, factor, heads) for links",
            "to": "load_model(hf_model.to(device), tokenizer), or load_model(name, device=device)",
            "tokenize": "attend(text).tokens",
            "without": "disabled(heads)",
        }
    )

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
        reader = {"tokenizer": tokenizer} if processor is None else {"processor": processor}
        self.made_by = call("load_model", {"model": hf_model, **reader})
        # Function that loads the model in a worker process; None for a model passed as an object.
        self._load_again: Callable[[], AttentionModel] | None = None
        self.lock = ModelLock()
        self.length_limit = LengthLimit(hf_model, tokenizer, max_tokens, text_parts(hf_model))
        # Compares the first tapped output with the output of a plain pass.
        self._output_check = OutputCheck()
        self.inputs = ModelInputs(hf_model, tokenizer, self.length_limit, processor)
        self._vocabulary: Vocabulary | None = None
        # Heads of the layers in the last study; None before the first study.
        self._heads_seen: HeadsSeen | None = None
        self._default_method: EditMethod | None = None
        self.passes = ForwardPasses(hf_model)
        self._training = {module: module.training for module in hf_model.modules()}
        hf_model.eval()

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the tokenizer, reused by later studies."""
        if self._vocabulary is None or self._vocabulary.tokenizer is not self.tokenizer:
            self._vocabulary = Vocabulary(self.tokenizer)
        return self._vocabulary

    @property
    def texts(self) -> TextIds:
        """The conversion of texts to vocabulary ids, for single texts and for studies."""
        if self.inputs.encoder.texts.tokenizer is not self.tokenizer:
            return TextIds(self.tokenizer)
        return self.inputs.encoder.texts

    @property
    def edits(self) -> Edits:
        """The edits of the enclosing `disabled` and `scaled_links` blocks."""
        return open_edits(self.hf_model)

    @property
    def name(self) -> str:
        """The name of the model in figures, captions and results, with any disabled heads."""
        return ", ".join(filter(None, [self.own_name, str(self.edits)]))

    @property
    def _hybrid_layers(self) -> dict[str, LayerNumbers]:
        """Layers with attention, for each stack that also has layers without attention; or {}.

        Hybrid models such as Jamba, Qwen3-Next and LFM2 have attention in some layers only. The
        layers keep the model's own numbers everywhere in the package.
        """
        hf_model = uncompiled(self.hf_model)
        return layer_numbers(hf_model, find_sites(hf_model))

    @property
    def n_layers(self) -> int:
        """Number of layers in the model, or in the encoder of an encoder-decoder."""
        return len(self._heads_of_layers)

    @property
    def n_heads(self) -> int:
        """Largest number of attention heads per layer; with stages, in the first stage."""
        return max(self._heads_of_layers)

    @property
    def _heads_of_layers(self) -> tuple[int, ...]:
        """Number of heads per layer, counted in the modules.

        The configuration of a pruned model may still state the former number.
        """
        heads_of = intact_edits(uncompiled(self.hf_model)).heads_of
        return heads_of[default_stack(heads_of) or next(iter(heads_of))]

    @property
    def default_method(self) -> EditMethod:
        """Default replacement of disabled heads.

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
        """Return the attention of one input.

        Above 1,024 tokens, no whole map is computed and `Attention.is_long` is True. Queries and
        keys are stored with row sums, and any part of a map can be computed exactly.

        A chat is a list of messages, such as {"role": "user", "content": "Hi"}. The tokenizer's
        chat template writes the text once, with all special tokens. `Tokens.roles` and
        `Tokens.turns` give the message of each token.

        Args:
            text: String, list of words, vocabulary ids (a list, a tensor or an array), chat, or
                dict of model inputs (pixel_values, input_ids...) for a single input. The model
                reads words with spaces between them. Special tokens that a string begins or ends
                with are not added again. Tokens hidden by the dict's attention_mask are in no map
                and no loss. Padding around a text is removed before the model reads the text, so
                that positions count from the first token. Together with `images` or `audio`: a
                string, a chat, a dict, or None for models without text.
            pair: Second sentence, for models trained on sentence pairs.
            images: Picture or list of pictures, which the model's processor prepares: PIL images,
                paths, or arrays [height, width, 3] of bytes or numbers from 0 to 1. If the text has
                no placeholders, the chat template, if there is one, writes them. The messages of a
                chat may contain pictures too.
            audio: Sound or list of sounds: pairs (samples, rate), or paths to WAV files.
            target: Text that the decoder of an encoder-decoder reads; None generates up to 40
                tokens greedily.
            truncate: Whether to cut inputs that are too long for the model; otherwise they raise
                an error.
            loss: Loss whose gradients a second pass computes: "masked" (15 % of the tokens, masked
                as in BERT training), "causal" (each next token), "auto" (a language model's
                training task; for a tagger, a classifier or a question-answering model the loss of
                its own answer, and for a regression head the summed outputs), or a function from a
                model output to a scalar tensor. The gradients need the memory of all maps. None
                computes no gradients.
            seed: Seed of the masking.
            long: Whether to read the input row by row, without whole maps; None does so above 1,024
                tokens of a text, a picture or a sound. Whole maps are always read with a loss, with
                padding, with disabled heads, and for models that expose only their weights.
            tools: Tools that the chat template describes to the model: functions or JSON schemas,
                as for `tokenizer.apply_chat_template`.
            add_generation_prompt: Whether the chat template writes the beginning of the assistant's
                answer after the messages; None does so unless the last message is the assistant's.

        Raises:
            ValueError: The text is empty or too long, a word of a list has no tokens, ids are not
                in the vocabulary, the mask hides every token, there is no tokenizer, or maps or
                gradients cannot be read. Also if the first input shows that reading the attention
                changes the model's outputs. For a chat, if the chat template is missing, refuses
                the messages, or mixes several messages.
            TypeError: The input has another form, a target was passed to a model without a
                decoder, or the model has no head for the loss.
            RuntimeError: The model was closed.

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
        model_input = self.inputs.given(text, images, audio, tools, add_generation_prompt)
        batch = self.inputs.encode(model_input, pair, target=target, truncate=truncate)
        with self.lock.in_turn():
            self.check_open()
            batch = self.inputs.with_decoder(batch, target, truncate)
            attention = self.passes.attentions(self, batch, loss=loss, seed=seed, long=long)[0]
        attention.source_text = _source_text(model_input, pair)
        arguments = {"text": text if batch.media else model_input, "pair": pair}
        options: dict[str, Any] = {"images": images, "audio": audio, "target": target}
        options |= {"truncate": truncate or None, "loss": loss, "long": long, "seed": seed or None}
        attention.made_by = self._chat_call("attend", arguments, options)
        return attention

    @in_plain_torch
    def attend_batch(
        self, texts: Sequence[Text], pairs: Sequence[Text] | None = None, *, truncate: bool = False
    ) -> list[Attention]:
        """Return the attention of several texts, as `attend` would.

        Texts of equal length share a forward pass, so padding never changes a number.
        Encoder-decoders run a pass per text, because every text has a different target.

        Args:
            texts: Texts, in the forms that `attend` takes.
            pairs: Second sentence of each text; None for single texts.
            truncate: Whether to cut texts that are too long.

        Raises:
            ValueError: As in `attend`; or the numbers of texts and pairs differ.
            TypeError: As in `attend`; or `texts` is a single text, or a tensor of several texts.

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
        second_texts = [None] * len(texts) if pairs is None else list(pairs)
        if len(second_texts) != len(texts):
            raise ValueError(
                f"one pair a text, got {len(texts)} texts and {len(second_texts)} pairs"
            )
        if not texts:
            return []
        if self.inputs.encodes_apart:
            return [
                self.attend(text, pair, truncate=truncate)
                for text, pair in zip(texts, second_texts, strict=True)
            ]
        encoded = [
            self.inputs.encoder(text, pair, truncate=truncate)
            for text, pair in zip(texts, second_texts, strict=True)
        ]
        indices_by_length: dict[int, list[int]] = {}
        for index, item in enumerate(encoded):
            indices_by_length.setdefault(len(item.ids), []).append(index)
        by_index: dict[int, Attention] = {}
        with self.lock.in_turn():
            n_at_once = 1 if reads_single_texts(self.hf_model) else len(encoded)
            batches = [
                same_length[start : start + n_at_once]
                for same_length in indices_by_length.values()
                for start in range(0, len(same_length), n_at_once)
            ]
            for indices in batches:
                inputs = self.inputs.padded([encoded[i] for i in indices])
                batch = ModelBatch(inputs, [encoded[i].tokens for i in indices])
                attentions = self.passes.attentions(self, batch)
                by_index.update(zip(indices, attentions, strict=True))
        for index, attention in by_index.items():
            arguments = {"text": texts[index], "pair": second_texts[index]}
            attention.made_by = self._chat_call("attend", arguments, {"truncate": truncate or None})
            attention.source_text = _source_text(texts[index], second_texts[index])
        return [by_index[index] for index in range(len(encoded))]

    @in_plain_torch
    @other_options(
        answers="predict(...).probability('her')",
        candidates="predict(...).probability('her')",
        targets="predict(...).probability('her')",
        words="predict(...).probability('her')",
    )
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
        that is not special, a classifier the class. A question-answering model, with the question
        as `text` and the context as `pair`, predicts the context span with the answer: there is a
        probability for every span of up to 30 tokens, and for "no answer". All probabilities, also
        for the intact model, come from the attention implementation whose maps are read.

        If `positions` names a piece of a word, a masked language model also masks the later pieces,
        because these pieces would give the word away. The pieces' log probabilities therefore sum
        to the log probability of the word (Kauf and Ivanova 2023, PLL-word-l2r).

        Args:
            text: Input as in `attend`; for a masked language model, with its mask token.
            pair: Second sentence, as in `attend`.
            images: Pictures, as in `attend`.
            audio: Sounds, as in `attend`.
            top: Number of answers per question in the result's table and chart.
            positions: Token positions to predict, counted from 0; None = the default described
                above. A masked language model predicts each token with masks in its position and in
                the rest of its word, a causal model from the tokens before it, and a tagger labels
                these tokens.
            target: Text that the decoder of an encoder-decoder has written so far; None for no
                text.
            truncate: Whether to cut inputs that are too long for the model.

        Raises:
            TypeError: The model has no head that predicts words, labels, classes or spans;
                otherwise as in `attend`.
            ValueError: The text has no mask token and `positions` is None, or a token does not
                exist; otherwise as in `attend`.
            RuntimeError: The model was closed.

        Example:
            >>> from attnwidget import load_model
            >>> model = load_model(device="cpu")
            >>> model.predict("The woman washed [MASK] hands.")
            Predictions(small BERT (in the package), masked: her 0.824)
        """
        if images is not None or audio is not None:
            text = self.inputs.given(text, images, audio)
        batch = self.inputs.encode(text, pair, target=target, truncate=truncate)
        return self._predictions(batch.tensors, batch.tokens[0], target, positions, top)

    @in_plain_torch
    def _predict_again(
        self, reading: Reading[Attention], *, at: Iterable[int] | None, top: int
    ) -> Predictions:
        """Return the predictions for an input under the current edits."""
        inputs = self.inputs.encode(reading.inputs).tensors
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

        One causal pass reads prompt and continuation, and its maps have the attention for every
        generation step. For an encoder-decoder, `text` is the encoder's text. The result's
        `n_prompt` is the number of tokens that the generating stack received, so the new tokens are
        `tokens[n_prompt:]`.

        The answer to a chat is a message of the assistant, and its tokens have this role. If the
        last message is the assistant's, the model continues this message.

        Args:
            text: Input as in `attend`. A dict needs input_ids, for an encoder-decoder the inputs of
                the encoder.
            max_new_tokens: Largest number of new tokens.
            images: Pictures, as in `attend`.
            audio: Sounds, as in `attend`.
            tools: Tools that the chat template describes to the model: functions or JSON schemas.
            add_generation_prompt: Whether the chat template writes the beginning of the assistant's
                answer; None does so unless the last message is the assistant's.
            options: Further options of transformers' `generate`, such as do_sample=True.

        Raises:
            ValueError: As in `attend`; the model does not generate text; prompt and new tokens
                exceed its limit; or a dict cannot be continued.
            RuntimeError: The model was closed.

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
        original_text = text
        text = self.inputs.given(text, images, audio, tools, add_generation_prompt, continues=True)
        encoded = None if isinstance(text, Mapping) else self.inputs.encoder(text)
        made_inputs = text if isinstance(text, MadeInputs) else MadeInputs()
        arguments = {
            "text": original_text if made_inputs.media else text,
            "max_new_tokens": max_new_tokens,
        }
        call_options = {"images": images, "audio": audio, **options}
        made_by = self._chat_call("generate", arguments, call_options)
        # Edits may name tokens that the model has not written yet, or never writes.
        with self.lock.in_turn(), growing_text():
            self.check_open()
            if encoded is None:
                batch = self.inputs.encode(text)
                tokens = batch.tokens[0]
                check_generates(self.hf_model, "attend(text) reads a text as it is")
                inputs = continuable(batch.tensors, apart=self.inputs.encodes_apart)
            else:
                inputs = self.inputs.padded([encoded])
                tokens = encoded.tokens
            is_encoder_decoder = self.inputs.encodes_apart
            n_prompt = 1 if is_encoder_decoder else inputs["input_ids"].shape[1]
            limit = self.inputs.encoder.limit
            if limit is not None and n_prompt + max_new_tokens > limit:
                raise ValueError(
                    f"a prompt of {counted(n_prompt, 'token')} and {max_new_tokens} new ones "
                    f"exceed the {limit} that {type(self.hf_model).__name__} takes: ask for fewer "
                    "new ones"
                )
            if is_encoder_decoder:
                target_ids, n_prompt = translation(self.hf_model, inputs, max_new_tokens, **options)
                inputs["decoder_input_ids"] = target_ids
                batch = ModelBatch(inputs, [tokens], made_inputs.media, n_prompt)
                attention = self.passes.attentions(self, batch)[0]
                attention.made_by = made_by
                return attention
            prompt = inputs
            if encoded is not None:
                names = ("input_ids", "attention_mask")
                prompt = {name: inputs[name] for name in names if name in inputs}
            ids = continuation(self.hf_model, self.tokenizer, prompt, max_new_tokens, **options)
            all_tokens = self.inputs.encoder.axis(ids)
            if encoded is None:
                inputs = continued(inputs, ids)
                if made_inputs.chat is not None and tokens is not None and tokens.roles:
                    all_tokens = made_inputs.chat.text.continued(tokens, all_tokens)
            else:
                inputs = self.inputs.padded([Encoded(ids, None, all_tokens)])
                all_tokens = encoded.continued(all_tokens)
            batch = ModelBatch(inputs, [all_tokens], made_inputs.media, n_prompt)
            attention = self.passes.attentions(self, batch)[0]
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
        in the same way: `n_prompt` is the number of prompt tokens. For an encoder-decoder, `text`
        is the encoder's text. With log probabilities from the server, a second pass checks that
        this model gives the same values.

        Args:
            text: Prompt, as in `attend`, with the special tokens that the server added. A list of
                vocabulary ids is not changed. A chat is written as in `generate`.
            generated: Generated text, or the vocabulary ids of its tokens. Ids are safer, because
                different tokens may spell the same text.
            log_probabilities: Log probability of each generated token given all tokens before it,
                in nats, without temperature and penalties; None skips the check.
            tolerance: Largest accepted difference of a log probability, in nats. The default allows
                for a server in half precision; 0.001 is enough for float32 on both sides.
            long: Whether to read the input row by row, without whole maps; None does so above 1,024
                tokens.
            tools: Tools that the chat template describes to the model: functions or JSON schemas.
            add_generation_prompt: Whether the chat template writes the beginning of the assistant's
                answer; None does so unless the last message is the assistant's.

        Raises:
            ValueError: As in `attend`; the model does not generate text; prompt and generated text
                exceed its limit; it is not known which tokens were generated; or the model gives a
                token another log probability. The error names the first such token.
            TypeError: `generated` has another form; or with `log_probabilities`, the model has no
                head that predicts tokens.
            RuntimeError: The model was closed.

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
        prompt_text = encoded
        if self.inputs.encodes_apart:
            if isinstance(generated, str):
                generated = self.inputs.encoder(generated, target=True).ids
            start = decoder_ids(self.hf_model, [])
            prompt_text = Encoded(start, None, self.inputs.encoder.axis(start))
        prompt = prompt_text.ids
        new_ids = generated_ids(self.inputs.encoder, text, prompt_text, generated)
        full_text = self.inputs.encoder([*prompt, *new_ids])
        inputs = self.inputs.padded([encoded if self.inputs.encodes_apart else full_text])
        decoder_tokens = torch.tensor([full_text.ids], dtype=torch.long, device=self.device)
        if self.inputs.encodes_apart:
            inputs["decoder_input_ids"] = decoder_tokens
        with self.lock.in_turn():
            self.check_open()
            if log_probabilities is not None:
                names = full_text.tokens.text[len(prompt) :]
                check_log_probabilities(
                    self.hf_model, inputs, decoder_tokens, names, log_probabilities, tolerance
                )
            tokens = (
                encoded.tokens if self.inputs.encodes_apart else encoded.continued(full_text.tokens)
            )
            batch = ModelBatch(inputs, [tokens], n_prompt=len(prompt))
            attention = self.passes.attentions(self, batch, long=long)[0]
        attention.made_by = self._chat_call("replay", arguments, {"long": long})
        return attention

    @hides_frames
    @other_options(edges="scaled_links(links, 0, heads)", links="scaled_links(links, 0, heads)")
    @contextmanager
    def disabled(
        self,
        heads: HeadChoice | None = None,
        *,
        method: EditMethod | None = None,
        layers: Iterable[int | str] | None = None,
        stack: str | None = None,
        reference: object = None,
        kv_group: bool = False,
    ) -> Iterator[AttentionModel]:
        """Switch heads off in the block, by replacing their outputs before the output projection.

        The edit affects every use of the model in the block: `attend`, `generate`, `predict`,
        `measure`, every probe and calls of `hf_model`. The edit ends with the block, even after an
        exception, and never affects other threads. Blocks nest: the inner block decides about a
        head that both blocks name. An attention made in the block names the edit in its model name.
        `scaled_links` cuts single links in place of whole heads.

        Args:
            heads: Head or list of heads, each as (1, 3), "L1 H3" or a `Head`.
            method: Replacement of a head's output. "uniform": the mean over the values that each
                query may see, all weights 1/L (Kovaleva et al. 2019, section 4.3). "zero": zeros
                (Michel et al. 2019). "first": the value of the first token that the query may see.
                "mean": the head's mean output over all tokens of `reference`. "patch": the head's
                outputs on `reference`, token by token; tokens that `generate` writes keep their own
                outputs. None: "mean" with a `reference`; otherwise `default_method`, which is
                "zero" in causal models and encoder-decoders, and "uniform" in other models.
            layers: Layers whose heads are all switched off as well, by number or name, such as
                [3] or "L3".
            stack: Stack of `layers`, and of heads without a stack name: "encoder", "decoder" or
                "cross".
            reference: For "mean", an input or a list of inputs; for "patch", one input with the
                same number of tokens. An input is a text, a list of words or ids, a chat, an
                `Attention` of this model, a `Segment` or a dict of inputs. The intact model reads
                it.
            kv_group: Whether to include all heads that share keys and values with the named heads.

        Raises:
            ValueError: A head, layer, stack or method does not exist; a head is named twice; a
                reference is missing or does not fit; or, in the block, the model or an input does
                not allow the edit.
            TypeError: A reference is not an input.
            RuntimeError: The model was closed.

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
                kv_group=kv_group,
            )
        with block:
            yield self

    @hides_frames
    @other_options(strength="factor", scale="factor", window="layers=range(3, 12)")
    @contextmanager
    def scaled_links(
        self,
        links: Iterable[LinkName],
        factor: float,
        heads: HeadChoice | None = None,
        *,
        layers: LayerNames | None = None,
        stack: str | None = None,
        text: object = None,
        keeps_sum: bool = False,
    ) -> Iterator[AttentionModel]:
        """Cut, weaken or strengthen links between tokens in the block.

        The weight a[i, j] of a link becomes factor * a[i, j], and the row is divided by its new
        sum. This equals a score plus log(factor): 0 is a score of minus infinity, which cuts the
        link ("attention knockout", Geva et al. 2023), and a factor above 1 strengthens it.

        The edit affects every use of the model in the block, as `disabled` does, and ends with it.
        Blocks nest: factors of the same link are multiplied, and heads that are off stay off.
        Positions count tokens of the text, without padding, also while `generate` writes.

        Args:
            links: Pairs (query, key): the token that looks, and the token that it looks at. Each
                end is a position from 0, a word that occurs once with all its tokens, ("he", 2) for
                the second "he", "role=system" or "system" for the messages of a chat, a `Box` of a
                picture, a `Span` of a sound, a set of tokens such as {"a", "the"}, a function from
                the `Tokens` to one bool per token, "first token", "last token", "special tokens",
                "other tokens", "all", or a list of these. "all before" is the key of all tokens
                before the query, and "all after" the query of all tokens after the key.
            factor: Factor of the weights: 0 cuts the links, 4 gives them 4 times the weight
                relative to the other keys of their query.
            heads: Head, layer name or list of these, each as (1, 3), "L1 H3", "L1" or a `Head`.
                None for the heads of `layers`, or all heads of the stack.
            layers: Layers in whose heads the links are scaled, by number or name: range(3, 12) is a
                window of nine layers.
            stack: Stack of the heads: "encoder", "decoder" or "cross". Needed only if there are
                several.
            text: Input in which words, roles and regions are looked up, when the block begins: an
                `Attention` of this model, or an input of `attend`. None looks them up in every text
                that the model reads, which has no roles and regions.
            keeps_sum: Whether a row keeps its sum in models with attention sinks. By default, the
                sink is a key as any other and gets its share of a cut link, as under a mask.

        Raises:
            ValueError: There are no links, or a head, layer, stack or end of a link does not exist;
                the factor is negative; or, in the block, a text has no such token, or the model
                does not allow the edit.
            TypeError: An end of a link or the factor has another form.
            RuntimeError: The model was closed.

        Example:
            >>> from attnwidget import load_model
            >>> model = load_model(device="cpu")
            >>> text = "The captain told his men that [MASK] would not leave the ship."
            >>> model.predict(text)
            Predictions(small BERT (in the package), masked: he 0.726)
            >>> with model.scaled_links([("[MASK]", "that")], 0):
            ...     model.predict(text)
            Predictions(small BERT (in the package), [MASK]→that cut in all heads, masked: he 0.398)
        """
        axes = None if text is None else self._axes_of(text)
        with self.lock.in_turn(), plain_torch():
            self.check_open()
            block = scaled_links(
                self.hf_model,
                links,
                factor,
                heads,
                layers=layers,
                stack=stack,
                axes=axes,
                keeps_sum=keeps_sum,
                spell=self.inputs.encoder.axis,
            )
        with block:
            yield self

    def _link_edit(
        self,
        links: Iterable[LinkName],
        factor: float,
        heads: HeadChoice | None,
        *,
        layers: LayerNames | None,
        stack: str | None,
        axes: Mapping[str, tuple[Tokens, Tokens]],
        keeps_sum: bool,
    ) -> LinkEdit:
        """Return links of one input by position, with names looked up in its tokens.

        Args:
            links: Links, as in `scaled_links`.
            factor: Factor of their weights.
            heads: Heads in which they are scaled, as in `scaled_links`.
            layers: Layers in which they are scaled.
            stack: Stack of the heads.
            axes: Tokens of the queries and keys of each stack.
            keeps_sum: Whether each row keeps its sum next to an attention sink.
        """
        return link_edit(
            self.hf_model,
            links,
            factor,
            heads,
            layers=layers,
            stack=stack,
            axes=axes,
            keeps_sum=keeps_sum,
        )

    def _axes_of(self, text: object) -> dict[str, tuple[Tokens, Tokens]]:
        """Return the tokens of queries and keys of each stack in an input."""
        attention = text if isinstance(text, Attention) else self.attend(text)  # type: ignore[arg-type]
        return {name: (stack.query, stack.key) for name, stack in attention.stacks.items()}

    def _edited(
        self,
        heads: Sequence[Head],
        method: EditMethod | None,
        link_edits: Sequence[LinkEdit],
    ) -> AbstractContextManager[object]:
        """Return a block with heads off and with links of one input scaled."""
        blocks = ExitStack()
        if heads:
            blocks.enter_context(self.disabled(heads, method=method))
        for member in link_edits:
            blocks.enter_context(
                scaled_links(
                    self.hf_model,
                    member.links,
                    member.factor,
                    member.heads,
                    layers=None,
                    stack=None,
                    axes=None,
                    keeps_sum=member.keeps_sum,
                    spell=self.inputs.encoder.axis,
                    said=member.said,
                )
            )
        return blocks

    def _ruled(
        self, rules: Mapping[Head, HeadRule], text: Mapping[str, Tensor]
    ) -> AbstractContextManager[object]:
        """Return a block with rules in the place of heads, for one text."""
        return rules_in_place(self.hf_model, self.inputs, rules, text)

    @hides_frames
    def close(self) -> None:
        """Restore the mode (train or eval) that the model had before `load_model`.

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
        create_again = partial(
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
        return received_model, (SentModel.from_model(self, self._load_again or create_again),)

    def __dir__(self) -> list[str]:
        names = {name for name in super().__dir__() if not name.startswith("_")}
        return sorted(names - _OF_THE_PACKAGE)

    def __repr__(self) -> str:
        kind = type(self.hf_model).__name__
        name = "" if self.name == kind else f" {self.name!r}"
        return f"AttentionModel({kind}{name}, {self.n_layers}×{self.n_heads} heads, {self.device})"

    def _chat_call(
        self, name: str, first: Mapping[str, Any], options: Mapping[str, Any]
    ) -> Call | None:
        """Return the Python call of a method that reads a text; None if heads are switched off."""
        if self.edits:
            return None
        if isinstance(chat := first["text"], Chat):
            first = {**first, "text": list(chat.messages)}
            tools = None if chat.tools is None else list(chat.tools)
            chat_options = {"tools": tools, "add_generation_prompt": chat.add_generation_prompt}
            options = {**options, **chat_options}
        return self.made_by.then(call(name, first, options))

    @in_plain_torch
    def _read_again(self, reading: Reading[Attention]) -> Attention:
        """Return the attention of an input that was read before, under the current edits.

        Layers below the edits are not run again if the model gives the same output without them.
        """
        return self.passes.again(self, reading)

    @in_plain_torch
    def question(
        self, inputs: Mapping[str, Tensor], position: int, tokens: Tokens | None = None
    ) -> ReadExample:
        """Return the question at a predicted position.

        Args:
            inputs: Tensors of the input by name, a batch of one.
            position: Position that `predict` answers.
            tokens: Tokens of the input; None = derive them from the ids.
        """
        self.check_open()
        return question_of(self.hf_model, self.inputs, self.tokenizer, inputs, position, tokens)

    @hides_frames
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
    """Return one or two texts as strings; "" for words, chats and other inputs."""
    inputs = [text for text in texts if text is not None]
    strings = [text for text in inputs if isinstance(text, str)]
    return " ".join(strings) if len(strings) == len(inputs) else ""
