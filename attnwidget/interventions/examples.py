"""Encoding of user examples as model inputs, with the positions and answers of their questions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from attnwidget.capture.answers.answer_places import labeled_places
from attnwidget.capture.answers.losses import masked_ids
from attnwidget.capture.predict import prediction_task
from attnwidget.corpus.segmenting import make_segments
from attnwidget.inputs.example import (
    Example,
    ExampleBatch,
    StudyExample,
    TextExample,
)
from attnwidget.inputs.input_list import each_of
from attnwidget.inputs.mask_token import mask_places
from attnwidget.inputs.media_input import MediaInput, is_media
from attnwidget.inputs.text_encoder import Encoded
from attnwidget.interventions.answer_ids import answer_id
from attnwidget.interventions.media_examples import media_examples
from attnwidget.interventions.pair_sentences import PairWords, sentences_of
from attnwidget.interventions.units import texts_refused
from attnwidget.text.minimal_pairs import MinimalPair
from attnwidget.text.segments import Segment

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

HOW = (
    "examples are a list of texts, (text, label), (text, text, label), (picture, label), "
    "(sound, label), MinimalPair or Segment, all of one kind; for one text pass [text]"
)


def encode_examples(
    model: AttentionModel,
    examples: Iterable[Any],
    *,
    answered: bool = True,
    words: PairWords | None = None,
    stack: str | None = None,
) -> list[StudyExample]:
    """Return the model inputs with their questions, shortest first.

    Args:
        model: Model from `load_model`.
        examples: Examples of the user.
        answered: Whether the model's head answers; otherwise, no token of the input is masked.
        words: Scored words of minimal pairs, as in `measure_minimal_pairs`.
        stack: Stack whose heads are studied; None = the default stack.

    Raises:
        TypeError: If the examples are texts for an encoder-decoder or of an unknown kind, or the
            model has no prediction head.
        ValueError: If there are no examples or several kinds of examples, or a label does not fit.
    """
    if (
        isinstance(examples, tuple)
        and 2 <= len(examples) <= 3
        and all(isinstance(e, str) for e in examples)
    ):
        # Read as texts, (text, label) would have a score that answers another question.
        raise TypeError(
            f"{examples!r} is one example or {len(examples)} texts: pass [{examples!r}] for the "
            f"example, or list(texts); {HOW}"
        )
    user_examples = _with_segments(model, each_of(examples, HOW))
    if not user_examples:
        raise ValueError(f"there are no examples: {HOW}")
    name = type(model.hf_model).__name__
    kinds = {_kind(example, index) for index, example in enumerate(user_examples)}
    if len(kinds) > 1:
        raise ValueError(f"the examples are of several kinds: {HOW}")
    if kinds == {MediaInput}:
        media_inputs: list[StudyExample] = [*media_examples(model, user_examples, answered, stack)]
        return _sorted(media_inputs)
    if model.inputs.encodes_apart:
        raise texts_refused(model)
    pairs = kinds == {MinimalPair}
    if pairs and not answered:
        raise ValueError(
            "a score that is a function takes no minimal pairs: pass scoring='minimal pair' or 'kl'"
        )
    if pairs:
        inputs: list[StudyExample] = [*sentences_of(model, user_examples, words)]
    else:
        task = prediction_task(model.hf_model) if answered else None
        if task == "span":
            raise TypeError(
                f"{name} answers with spans, which have no score here: pass a function of the "
                "output as score, or use predict and the effects of PredictionView"
            )
        encode = _of_segment if kinds == {Segment} else _of_label
        inputs = [
            replace(encode(model, task, index, example), index=index, original=example)
            for index, example in enumerate(user_examples)
        ]
    return _sorted(inputs)


def _with_segments(model: AttentionModel, examples: Iterable[Any]) -> list[Any]:
    """Return the examples, with a segment instead of each text without a label."""
    user_examples = list(examples)
    texts = [example for example in user_examples if isinstance(example, str)]
    if not texts:
        return user_examples
    segments = iter(make_segments(texts, model))
    return [next(segments) if isinstance(example, str) else example for example in user_examples]


def _sorted(examples: Iterable[StudyExample]) -> list[StudyExample]:
    """Return the shortest examples first, with inputs of the same shape next to each other."""
    return sorted(
        examples, key=lambda example: (example.encoded.n_tokens, repr(example.encoded.shape))
    )


def originals_of(examples: Iterable[StudyExample]) -> list[Any]:
    """Return the user's examples in their order, without repetition."""
    originals = {example.index: example.original for example in examples}
    return [originals[index] for index in sorted(originals)]


def batch_of(model: AttentionModel, examples: Sequence[StudyExample]) -> ExampleBatch:
    """Return examples of one shape as a batch."""
    inputs = model.inputs.batch([example.encoded for example in examples])
    return ExampleBatch(inputs, tuple(examples))


def _kind(example: Any, index: int) -> type:
    if isinstance(example, (MinimalPair, Segment)):
        return type(example)
    is_labeled = isinstance(example, tuple) and len(example) == 2
    if is_media(example) or (is_labeled and is_media(example[0])):
        return MediaInput
    if isinstance(example, tuple) and len(example) in (2, 3):
        return tuple
    raise TypeError(f"example {index} is {example!r:.80}: {HOW}")


def _of_segment(
    model: AttentionModel, task: str | None, index: int, segment: Segment
) -> TextExample:
    encoded = model.inputs.encoded_segment(segment)
    ids = encoded.ids
    if task in ("class", None):
        return Example(encoded)
    if task == "label":
        return Example(encoded, tuple(labeled_places(model.tokenizer, ids)))
    if task == "next":
        return Example(encoded, tuple(range(len(ids) - 1)), tuple(ids[1:]))
    inputs = model.inputs.padded([encoded])
    masked, selected = masked_ids(model.hf_model, model.tokenizer, inputs, seed=0)
    positions = tuple(selected[0].nonzero()[:, 0].tolist())
    if not positions:
        raise ValueError(f"segment {index} has no token that could be masked: leave it out")
    targets = tuple(ids[position] for position in positions)
    return Example(replace(encoded, ids=masked[0].tolist()), positions, targets)


def _of_label(
    model: AttentionModel, task: str | None, index: int, example: tuple[Any, ...]
) -> TextExample:
    *texts, label = example
    encoded = model.inputs.encoder(*texts)
    if task is None:
        return Example(encoded)
    if task == "label":
        return _of_labels(model, index, encoded, label)
    target = answer_id(model, task, label, index)
    if task == "class":
        return Example(encoded, (), (target,))
    if task == "next":
        return Example(encoded, (len(encoded.ids) - 1,), (target,))
    masks = tuple(mask_places(model.tokenizer, encoded.ids))
    if len(masks) != 1:
        raise ValueError(
            f"example {index} has {len(masks)} mask tokens: a label of a masked language model is "
            "the word in the place of one, ('The woman washed [MASK] hands.', 'her')"
        )
    return Example(encoded, masks, (target,))


def _of_labels(model: AttentionModel, index: int, encoded: Encoded, labels: Any) -> TextExample:
    """Return a text with a label for each token between the special tokens."""
    positions = labeled_places(model.tokenizer, encoded.ids)
    if isinstance(labels, str) or not isinstance(labels, Sequence) or len(labels) != len(positions):
        description = f"{len(labels)}" if isinstance(labels, Sequence) else repr(labels)
        raise ValueError(
            f"example {index} needs a list of {len(positions)} labels for the tokens "
            f"in model.predict(text).positions, got {description}"
        )
    targets = tuple(answer_id(model, "class", label, index) for label in labels)
    return Example(encoded, tuple(positions), targets)
