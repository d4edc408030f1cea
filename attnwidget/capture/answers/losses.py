"""Losses whose gradients measure how much each attention weight matters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from attnwidget.capture.answers.answer_places import answer_spans, labeled_places
from attnwidget.inputs.mask_token import mask_id_of
from attnwidget.model_facts.answer_heads import AnswerHead, answer_head
from attnwidget.model_facts.answer_logits import (
    answer_logits,
    predicts_masked_words,
    span_logits,
)
from attnwidget.text.counted import counted

LossName = Literal["auto", "masked", "causal"]
LossFunction = Callable[[Any], Tensor]

# Proportions of BERT training: some of the selected tokens become [MASK] or a random token.
_SELECTED = 0.15
_MASKED = 0.8
_RANDOM = 0.1
# Losses of models that predict no words: their own answer's negative log probability.
_OWN_ANSWERS = {"label": "own labels", "class": "own class", "span": "own span"}
# Models that write text about pictures or sounds; the names differ between transformers releases.
_BESIDE_MEDIA = (
    "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES",
    "MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES",
    "MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES",
    "MODEL_FOR_VISION_2_SEQ_MAPPING_NAMES",
)
_PLACEHOLDERS = ("image_token_id", "image_token_index", "video_token_id", "audio_token_id")
_IN_NATS = ("masked-LM", "causal-LM", *_OWN_ANSWERS.values())


@dataclass(frozen=True)
class Loss:
    """Loss whose gradients were computed for an input.

    Attributes:
        name: "masked-LM", "causal-LM", "own labels", "own class", "own span", "output", or the name
            of the user's function.
        value: Loss in nats, or the result of the user's function.
        masked: Positions selected for the masked-LM loss. The gradients belong to the input in
            which these tokens are masked (80 %), replaced (10 %) or unchanged (10 %).
    """

    name: str
    value: float
    masked: tuple[int, ...] = ()

    def __str__(self) -> str:
        if self.name not in _IN_NATS:
            return f"{self.name} {self.value:.3g}"
        count = f", {counted(len(self.masked), 'token')} masked" if self.masked else ""
        return f"{self.name} loss {self.value:.3g} nats{count}"


@dataclass(frozen=True, eq=False)
class LossTask:
    """Model inputs, with a loss function of the output.

    Attributes:
        name: Name as in `Loss`.
        inputs: Model inputs; masked for a masked-LM loss.
        losses: Function from the model's output to the loss per input, [B], or a scalar.
        selected: Tokens selected for the masked-LM loss, bool [B, n]; None for other losses.
    """

    name: str
    inputs: Mapping[str, Tensor]
    losses: Callable[[Any], Tensor]
    selected: Tensor | None = None


def task_for(
    hf_model: Any,
    tokenizer: Any,
    inputs: Mapping[str, Tensor],
    loss: LossName | LossFunction,
    seed: int,
) -> LossTask:
    """Return the task of a named or user-defined loss for a model and its inputs [B, n].

    Raises:
        TypeError: The model has no head for this loss.
        ValueError: The name is unknown, or the tokenizer has no mask token for a masked-LM loss.
    """
    if callable(loss):
        name = getattr(loss, "__name__", type(loss).__name__)
        return LossTask("loss" if name == "<lambda>" else name, inputs, loss)
    if loss not in ("auto", "masked", "causal"):
        raise ValueError(
            "loss must be 'auto', 'masked', 'causal' or a function of the model's output, got "
            f"{loss!r}"
        )
    if loss == "auto" and language_model_head(hf_model) is None:
        head = answer_head(hf_model)
        if head is not None:
            return _own_answer(head, tokenizer, inputs)
    kind = _kind(hf_model) if loss == "auto" else loss
    input_names = ("input_ids", "decoder_input_ids") if kind == "causal" else ("input_ids",)
    if inputs.keys().isdisjoint(input_names):
        raise ValueError(f"a {kind} loss is of token ids; the inputs are {', '.join(inputs)}")
    if kind == "causal":
        return _causal(hf_model, inputs)
    masked_input, selected = masked_ids(hf_model, tokenizer, inputs, seed)
    targets = inputs["input_ids"]
    return LossTask(
        "masked-LM",
        {**inputs, "input_ids": masked_input},
        lambda output: document_losses(_logits(output, hf_model), targets, selected),
        selected,
    )


def document_losses(logits: Tensor, targets: Tensor, counted: Tensor) -> Tensor:
    """Mean cross entropy of each document over its counted positions, in nats.

    `logits` [B, n, V], `targets` int64 [B, n], `counted` bool [B, n]. Returns float32 [B], 0 for a
    document without a counted position. Their sum, unlike a mean over the batch, has the same
    gradient in each document whatever it is batched with.

    Example:
        >>> import torch
        >>> from attnwidget.capture.answers.losses import document_losses
        >>> targets, counted = torch.tensor([[1, 0]]), torch.tensor([[True, False]])
        >>> document_losses(torch.zeros(1, 2, 4), targets, counted)
        tensor([1.3863])
    """
    flat = cross_entropy(logits.float().flatten(0, 1), targets.flatten(), reduction="none")
    losses = torch.where(counted, flat.view_as(targets), 0)
    return losses.sum(-1) / counted.sum(-1).clamp_min(1)


def _own_answer(head: AnswerHead, tokenizer: Any, inputs: Mapping[str, Tensor]) -> LossTask:
    """Return the negative log probability of the model's own answer, or a regression's output.

    The right answer is unknown, so the gradients belong to the model's answer: its class, its span,
    or the labels of all tokens (a mean).
    """
    if head == "numbers":
        return LossTask(
            "output", inputs, lambda output: answer_logits(output).float().flatten(1).sum(-1)
        )
    if head == "class":
        return LossTask(_OWN_ANSWERS[head], inputs, lambda output: _own_loss(answer_logits(output)))
    if "input_ids" not in inputs:
        raise ValueError(f"{head}s are of token ids; the inputs are {', '.join(inputs)}")
    rows = [
        [token for token, is_real in zip(ids, real, strict=True) if is_real]
        for ids, real in zip(inputs["input_ids"].tolist(), _real(inputs).tolist(), strict=True)
    ]
    starts = [int(real.int().argmax()) for real in _real(inputs)]
    if head == "span":
        spans = [
            tuple((start + first, start + last) for first, last in answer_spans(tokenizer, row))
            for start, row in zip(starts, rows, strict=True)
        ]
        if not all(spans):
            raise ValueError("an input has no context: pass the question and the context as a pair")

        def of_spans(output: Any) -> Tensor:
            losses = [
                _own_loss(span_logits(output, of_input)[item])
                for item, of_input in enumerate(spans)
            ]
            return torch.stack(losses)

        return LossTask(_OWN_ANSWERS[head], inputs, of_spans)
    is_labeled = torch.zeros_like(inputs["input_ids"], dtype=torch.bool)
    for item, (start, row) in enumerate(zip(starts, rows, strict=True)):
        is_labeled[item, [start + position for position in labeled_places(tokenizer, row)]] = True

    def of_labels(output: Any) -> Tensor:
        losses = _own_loss(answer_logits(output)).where(is_labeled, 0)
        return losses.sum(-1) / is_labeled.sum(-1)

    return LossTask(_OWN_ANSWERS[head], inputs, of_labels)


def _own_loss(logits: Tensor) -> Tensor:
    """Return the negative log probability of the likeliest answer, [...] from [..., V]."""
    best = logits.detach().argmax(-1, keepdim=True)
    return -torch.log_softmax(logits.float(), -1).gather(-1, best)[..., 0]


def masked_ids(
    hf_model: Any, tokenizer: Any, inputs: Mapping[str, Tensor], seed: int
) -> tuple[Tensor, Tensor]:
    """Return `input_ids` masked as in the training of BERT, and the selected positions.

    In each document, 15 % of the tokens that are not special are selected, at least one. Of these,
    80 % become the mask token, 10 % a random token, and 10 % stay. The choice depends only on the
    seed and the document, not on the batch. Both results are [B, n].
    """
    mask_id = mask_id_of(
        tokenizer,
        f"the masked-LM loss of {type(hf_model).__name__}",
        ', or loss="causal", or a function of the model\'s output',
    )
    special = set(tokenizer.all_special_ids)
    ordinary = np.array([i for i in range(len(tokenizer)) if i not in special])
    ids = inputs["input_ids"]
    real = _real(inputs)
    masked = ids.clone()
    selected = torch.zeros_like(ids, dtype=torch.bool)
    for item, row in enumerate(ids.tolist()):
        document = [(i, row[i]) for i in real[item].nonzero()[:, 0].tolist()]
        words = [i for i, token in document if token not in special]
        if not words:
            continue
        random = np.random.default_rng([seed, *(token for _, token in document)])
        selection = random.choice(words, max(1, round(_SELECTED * len(words))), replace=False)
        for position in sorted(int(i) for i in selection):
            selected[item, position] = True
            draw = random.random()
            if draw < _MASKED:
                masked[item, position] = mask_id
            elif draw < _MASKED + _RANDOM:
                masked[item, position] = int(random.choice(ordinary))
    return masked, selected


def _causal(hf_model: Any, inputs: Mapping[str, Tensor]) -> LossTask:
    """Return the next-token prediction task; in an encoder-decoder, for the decoder's tokens.

    The loss is the cross entropy. Placeholder tokens of pictures and sounds are not predicted.
    """
    prefix = "decoder_" if "decoder_input_ids" in inputs else ""
    ids = inputs[f"{prefix}input_ids"]
    real = _real(inputs, prefix)
    length = ids.shape[1]
    positions = torch.arange(length, dtype=torch.long, device=ids.device).masked_fill(
        ~real, length
    )  # [B, n]
    # At each position, the next token that is not padding, or `length` after the last token.
    next_positions = positions.flip(-1).cummin(-1).values.flip(-1).roll(-1, -1)
    next_positions[:, -1] = length
    targets = ids.gather(-1, next_positions.clamp_max(length - 1))
    has_target = real & (next_positions < length)
    for name in _PLACEHOLDERS:
        placeholder = getattr(hf_model.config, name, None)
        if isinstance(placeholder, int):
            has_target = has_target & (targets != placeholder)
    return LossTask(
        "causal-LM",
        inputs,
        lambda output: document_losses(_logits(output), targets, has_target),
    )


def _real(inputs: Mapping[str, Tensor], prefix: str = "") -> Tensor:
    """Return the ids that are not padding, as bool [B, n]; padding may be on either side."""
    ids = inputs[f"{prefix}input_ids"]
    mask = inputs.get(f"{prefix}attention_mask")
    if mask is None or mask.shape != ids.shape:
        return torch.ones_like(ids, dtype=torch.bool)
    return mask.ne(0)


def language_model_head(hf_model: Any) -> Literal["masked", "causal"] | None:
    """Return the kind of the model's language-modeling head, or None without this head."""
    from transformers.models.auto import modeling_auto as auto

    heads: dict[str, tuple[Mapping[str, str], ...]] = {
        "masked": (auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,),
        "causal": (
            auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
            auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
            *(getattr(auto, name) for name in _BESIDE_MEDIA if hasattr(auto, name)),
        ),
    }
    if not getattr(hf_model.config, "is_encoder_decoder", False):
        # Models that read pictures and text continue the text, as causal models do.
        reads_pictures = getattr(auto, "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES", {})
        heads["causal"] = (*heads["causal"], reads_pictures)
    names = {base.__name__ for base in type(hf_model).__mro__}
    # Some classes (BART's) are listed under both kinds; decoders are causal.
    kinds: tuple[Literal["causal"], Literal["masked"]] = ("causal", "masked")
    for kind in kinds:
        if any(names & set(mapping.values()) for mapping in heads[kind]):
            return kind
    return "masked" if predicts_masked_words(hf_model.__class__) else None


def _kind(hf_model: Any) -> Literal["masked", "causal"]:
    if (kind := language_model_head(hf_model)) is not None:
        return kind
    raise TypeError(
        f"{type(hf_model).__name__} has no language-modeling head for a loss: load the model as "
        "AutoModelForMaskedLM or AutoModelForCausalLM, or pass as loss= a function from the "
        "model's output to a number"
    )


def _logits(output: Any, hf_model: Any = None) -> Tensor:
    try:
        logits = answer_logits(output)
    except TypeError:
        logits = None
    if logits is not None and logits.ndim == 3:
        return logits
    raise TypeError(
        f"{type(hf_model or output).__name__} gives no logits over a vocabulary: load the model "
        "with its language-modeling head, or pass loss= a function of the model's output"
    )
