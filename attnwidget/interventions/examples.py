"""Examples of the user as inputs of the model, with the places and answers of their questions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from attnwidget.capture.answers.answer_places import labeled_places
from attnwidget.capture.answers.losses import masked_ids
from attnwidget.capture.predict import prediction_task
from attnwidget.corpus.argument_checks import each_of
from attnwidget.corpus.segmenting import make_segments
from attnwidget.inputs.example import (
    Example,
    ExampleBatch,
    StudyExample,
    TextExample,
)
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
    """Return the inputs of the model with their questions, the shortest first.

    Args:
        model: The model.
        examples: The user's examples.
        answered: Whether the model's head answers; if not, no token of the input is masked.
        words: The scored words of minimal pairs, as in `measure_minimal_pairs`.
        stack: Stack whose heads are studied; None = the default stack.

    Raises:
        TypeError: texts for an encoder-decoder, a model without a prediction head, or examples of
            an unknown kind.
        ValueError: no examples, examples of several kinds, or a label that does not fit.
    """
    listed = _with_segments(model, each_of(examples, HOW))
    if not listed:
        raise ValueError(f"there are no examples: {HOW}")
    name = type(model.hf_model).__name__
    kinds = {_kind(example, index) for index, example in enumerate(listed)}
    if len(kinds) > 1:
        raise ValueError(f"the examples are of several kinds: {HOW}")
    if kinds == {MediaInput}:
        of_media: list[StudyExample] = [*media_examples(model, listed, answered, stack)]
        return _sorted(of_media)
    if model.inputs.encodes_apart:
        raise texts_refused(model)
    pairs = kinds == {MinimalPair}
    if pairs and not answered:
        raise ValueError(
            "a score that is a function takes no minimal pairs: pass scoring='minimal pair' or 'kl'"
        )
    if pairs:
        inputs: list[StudyExample] = [*sentences_of(model, listed, words)]
    else:
        task = prediction_task(model.hf_model) if answered else None
        if task == "span":
            raise TypeError(
                f"{name} answers with spans, which have no score here: pass a function of the "
                "output as score, or use predict and the effects of PredictionView"
            )
        read = _of_segment if kinds == {Segment} else _of_label
        inputs = [
            replace(read(model, task, index, example), index=index, original=example)
            for index, example in enumerate(listed)
        ]
    return _sorted(inputs)


def _with_segments(model: AttentionModel, examples: Iterable[Any]) -> list[Any]:
    """Return the examples, with a segment in place of each text without a label."""
    listed = list(examples)
    texts = [example for example in listed if isinstance(example, str)]
    if not texts:
        return listed
    segments = iter(make_segments(texts, model))
    return [next(segments) if isinstance(example, str) else example for example in listed]


def _sorted(examples: Iterable[StudyExample]) -> list[StudyExample]:
    """Return the shortest first, with inputs of one shape side by side."""
    return sorted(
        examples, key=lambda example: (example.encoded.n_tokens, repr(example.encoded.shape))
    )


def originals_of(examples: Iterable[StudyExample]) -> list[Any]:
    """Return the user's examples in their order, each once."""
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
    changed, selected = masked_ids(model.hf_model, model.tokenizer, inputs, seed=0)
    places = tuple(selected[0].nonzero()[:, 0].tolist())
    if not places:
        raise ValueError(f"segment {index} has no token that could be masked: leave it out")
    targets = tuple(ids[place] for place in places)
    return Example(replace(encoded, ids=changed[0].tolist()), places, targets)


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
    places = tuple(mask_places(model.tokenizer, encoded.ids))
    if len(places) != 1:
        raise ValueError(
            f"example {index} has {len(places)} mask tokens: a label of a masked language model is "
            "the word in the place of one, ('The woman washed [MASK] hands.', 'her')"
        )
    return Example(encoded, places, (target,))


def _of_labels(model: AttentionModel, index: int, encoded: Encoded, labels: Any) -> TextExample:
    """Return a text with a label for each token between the special tokens."""
    places = labeled_places(model.tokenizer, encoded.ids)
    if isinstance(labels, str) or not isinstance(labels, Sequence) or len(labels) != len(places):
        got = f"{len(labels)}" if isinstance(labels, Sequence) else repr(labels)
        raise ValueError(
            f"example {index} needs a list of {len(places)} labels for the tokens "
            f"in model.predict(text).positions, got {got}"
        )
    targets = tuple(answer_id(model, "class", label, index) for label in labels)
    return Example(encoded, tuple(places), targets)
