"""Examples with an answer as model inputs, and the positions of the questions in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from attnwidget.capture.hub_model.answer_places import labelled_places
from attnwidget.capture.hub_model.losses import masked_ids
from attnwidget.capture.hub_model.text_encoder import Encoded
from attnwidget.capture.predict import prediction_task
from attnwidget.corpus.argument_checks import each_of
from attnwidget.interventions.minimal_pairs import PairWords, sentences_of
from attnwidget.text.minimal_pairs import MinimalPair
from attnwidget.text.segments import Segment

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

HOW = "examples are (text, label), (text, text, label), MinimalPair or Segment, all of one kind"


@dataclass(frozen=True)
class Asked:
    """One input, and the questions about it.

    Attributes:
        example: Index of the example.
        encoded: The input with its mask tokens.
        places: Tokens whose logits have the answers; empty = the class of the whole input.
        targets: The right answer for each position, or for the whole input; empty without right
            answers.
        sign: 1, or -1 for the unacceptable sentence of a minimal pair.
    """

    example: int
    encoded: Encoded
    places: tuple[int, ...] = ()
    targets: tuple[int, ...] = ()
    sign: int = 1


@dataclass(frozen=True, eq=False)
class ExampleBatch:
    """Examples of equal length in one pass of the model.

    Attributes:
        examples: The user's examples, one for each of the B inputs.
        inputs: Inputs of the model, [B, n].
        asked: The inputs with their questions.
    """

    examples: tuple[Any, ...]
    inputs: dict[str, Tensor]
    asked: tuple[Asked, ...] = field(repr=False)

    @property
    def rows(self) -> Tensor:
        """The index of the input of each question, [P]."""
        counts = [max(1, len(question.places)) for question in self.asked]
        return torch.repeat_interleave(torch.tensor(counts, dtype=torch.long, device="cpu")).to(
            self._device
        )

    @property
    def columns(self) -> Tensor | None:
        """For each question, the index of the token with the answer, [P]; None for classes."""
        places = [place for question in self.asked for place in question.places]
        return torch.tensor(places, dtype=torch.long, device=self._device) if places else None

    @property
    def targets(self) -> Tensor | None:
        """The right answers [P], or None without right answers."""
        targets = [target for question in self.asked for target in question.targets]
        return torch.tensor(targets, dtype=torch.long, device=self._device) if targets else None

    @property
    def _device(self) -> torch.device:
        return next(iter(self.inputs.values())).device

    def answers(self, logits: Tensor) -> Tensor:
        """Return log probabilities [P, V] in nats, from logits [B, n, V], or [B, V] of classes."""
        rows = self.rows
        columns = self.columns
        chosen = logits[rows] if columns is None else logits[rows, columns]
        return torch.log_softmax(chosen.float(), -1)

    def per_input(self, values: Tensor) -> Tensor:
        """Return the sum over the questions of each input: [B] from [P]."""
        sums = torch.zeros(len(self.asked), dtype=values.dtype, device=values.device)
        return sums.index_add(0, self.rows, values)


def asked_of(
    model: AttentionModel,
    examples: Iterable[Any],
    *,
    answered: bool = True,
    words: PairWords | None = None,
) -> tuple[list[Any], list[Asked]]:
    """Return the examples as a list, and the inputs with questions, the shortest first.

    Args:
        model: the model.
        examples: The examples.
        answered: Whether the model's head answers; if not, no token of the input is masked.
        words: The scored words of minimal pairs, as in `score_pairs`.

    Raises:
        TypeError: an encoder-decoder, a model without a prediction head, or examples of an unknown
            kind.
        ValueError: no examples, examples of several kinds, or a label that does not fit.
    """
    listed = list(each_of(examples, HOW))
    if not listed:
        raise ValueError(f"there are no examples: {HOW}")
    name = type(model.hf_model).__name__
    if model.inputs.encodes_apart:
        raise TypeError(f"models of one stack are studied so, {name} is an encoder-decoder")
    kinds = {_kind(example, index) for index, example in enumerate(listed)}
    if len(kinds) > 1:
        raise ValueError(f"the examples are of several kinds: {HOW}")
    pairs = kinds == {MinimalPair}
    if pairs and not answered:
        raise ValueError(
            "a score that is a function takes no minimal pairs: pass score='minimal pair' or 'kl'"
        )
    if pairs:
        questions = [
            Asked(
                sentence.pair,
                sentence.changed,
                sentence.places,
                sentence.targets,
                1 - 2 * sentence.side,
            )
            for sentence in sentences_of(model, listed, words)
        ]
    else:
        task = prediction_task(model.hf_model) if answered else None
        if task == "span":
            raise TypeError(
                f"{name} answers with spans, which have no score here: pass a function of the "
                "output as score, or use predict and the effects of PredictionView"
            )
        read = _of_segment if kinds == {Segment} else _of_label
        questions = [read(model, task, index, example) for index, example in enumerate(listed)]
    return listed, sorted(questions, key=lambda question: len(question.encoded.ids))


def batch_of(
    model: AttentionModel, examples: Iterable[Any], questions: Sequence[Asked]
) -> ExampleBatch:
    """Return the questions about inputs of equal length, and the example of each question."""
    inputs = model.inputs.padded([question.encoded for question in questions])
    return ExampleBatch(tuple(examples), inputs, tuple(questions))


def _kind(example: Any, index: int) -> type:
    if isinstance(example, (MinimalPair, Segment)):
        return type(example)
    if isinstance(example, tuple) and len(example) in (2, 3):
        return tuple
    raise TypeError(f"example {index} is {example!r:.80}: {HOW}")


def _of_segment(model: AttentionModel, task: str | None, index: int, segment: Segment) -> Asked:
    encoded = model.inputs.encoded_segment(segment)
    ids = encoded.ids
    if task in ("class", None):
        return Asked(index, encoded)
    if task == "label":
        return Asked(index, encoded, tuple(labelled_places(model.tokenizer, ids)))
    if task == "next":
        return Asked(index, encoded, tuple(range(len(ids) - 1)), tuple(ids[1:]))
    inputs = model.inputs.padded([encoded])
    changed, selected = masked_ids(model.hf_model, model.tokenizer, inputs, seed=0)
    places = tuple(selected[0].nonzero()[:, 0].tolist())
    if not places:
        raise ValueError(f"segment {index} has no token that could be masked: leave it out")
    targets = tuple(ids[place] for place in places)
    return Asked(index, replace(encoded, ids=changed[0].tolist()), places, targets)


def _of_label(
    model: AttentionModel, task: str | None, index: int, example: tuple[Any, ...]
) -> Asked:
    *texts, label = example
    encoded = model.inputs.encoder(*texts)
    if task is None:
        return Asked(index, encoded)
    if task == "label":
        return _of_labels(model, index, encoded, label)
    target = _label(model, task, label, index)
    if task == "class":
        return Asked(index, encoded, (), (target,))
    if task == "next":
        return Asked(index, encoded, (len(encoded.ids) - 1,), (target,))
    mask_id = getattr(model.tokenizer, "mask_token_id", None)
    places = tuple(i for i, token in enumerate(encoded.ids) if token == mask_id)
    if len(places) != 1:
        raise ValueError(
            f"example {index} has {len(places)} mask tokens: a label of a masked language model is "
            "the word in the place of one, ('The woman washed [MASK] hands.', 'her')"
        )
    return Asked(index, encoded, places, (target,))


def _of_labels(model: AttentionModel, index: int, encoded: Encoded, labels: Any) -> Asked:
    """Return a text with a label for each token between the special tokens."""
    places = labelled_places(model.tokenizer, encoded.ids)
    if isinstance(labels, str) or not isinstance(labels, Sequence) or len(labels) != len(places):
        got = f"{len(labels)}" if isinstance(labels, Sequence) else repr(labels)
        raise ValueError(
            f"example {index} needs a list of {len(places)} labels for the tokens "
            f"in model.predict(text).positions, got {got}"
        )
    targets = tuple(_label(model, "class", label, index) for label in labels)
    return Asked(index, encoded, tuple(places), targets)


def _label(model: AttentionModel, task: str, label: object, index: int) -> int:
    """Return the index of an answer, from its name or number."""
    config = model.hf_model.config
    if task == "class":
        names = [str(config.id2label.get(i, i)) for i in range(config.num_labels)]
        allowed = f"a class, {', '.join(map(repr, names[:12]))}, or its number"
        count = len(names)
        answer = names.index(label) if label in names else None
    else:
        allowed = "a vocabulary entry, as the vocabulary spells it, or its id"
        count = int(config.get_text_config().vocab_size)
        known = model.tokenizer.get_vocab() if isinstance(label, str) else {}
        answer = known.get(label)
    if answer is None and hasattr(label, "__index__") and not isinstance(label, bool):
        answer = label.__index__()
    if answer is None or not 0 <= answer < count:
        raise ValueError(f"example {index} has the label {label!r}: a label is {allowed}")
    return answer
