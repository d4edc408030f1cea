"""Models over the same segments, head by head: what fine-tuning changed, for one."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from attnwidget.capture.advice import AdvisedError, on_page
from attnwidget.capture.special_token_template import Template
from attnwidget.studies.accumulator import Accumulator
from attnwidget.studies.argument_checks import all_of, each_of, one_of, refuse_no_model
from attnwidget.studies.compare_results import ModelComparison, SeveralComparisons
from attnwidget.studies.map_changes import KeptMaps, MapChanges, NumberedSegment, Other, Unit
from attnwidget.studies.measure import accumulators_of, read_all
from attnwidget.studies.model_reader import ModelReader
from attnwidget.studies.word_segments import WordSegmenter
from attnwidget.text.segments import Segment
from attnwidget.text.treebank import Sentence

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

    Metrics = Sequence[str | Accumulator[Any]]

_HOW = "read segments with read_segments(path, model), or cut texts with make_segments"
# Each comparison locks several models: two at once, of the same in turn, could wait for ever.
_comparing = threading.Lock()


@overload
def compare(
    a: AttentionModel,
    b: AttentionModel,
    segments: Iterable[Segment] | Iterable[Sentence | Sequence[str]],
    *,
    metrics: Metrics = (),
    seeds: bool = False,
    unit: Unit = "tokens",
    matches: bool = False,
    across_layers: bool = False,
    padded: int | None = None,
    batch_size: int = 8,
    progress: bool = True,
    checkpoint: str | Path | None = None,
) -> ModelComparison: ...
@overload
def compare(
    a: AttentionModel,
    b: Sequence[AttentionModel],
    segments: Iterable[Segment] | Iterable[Sentence | Sequence[str]],
    *,
    metrics: Metrics = (),
    seeds: bool = False,
    unit: Unit = "tokens",
    matches: bool = False,
    across_layers: bool = False,
    padded: int | None = None,
    batch_size: int = 8,
    progress: bool = True,
    checkpoint: str | Path | None = None,
) -> SeveralComparisons: ...
def compare(
    a: AttentionModel,
    b: AttentionModel | Sequence[AttentionModel],
    segments: Iterable[Segment] | Iterable[Sentence | Sequence[str]],
    *,
    metrics: Metrics = (),
    seeds: bool = False,
    unit: Unit = "tokens",
    matches: bool = False,
    across_layers: bool = False,
    padded: int | None = None,
    batch_size: int = 8,
    progress: bool = True,
    checkpoint: str | Path | None = None,
) -> ModelComparison | SeveralComparisons:
    """Compare every head of a model with the same head of others, over the same segments.

    For a model and its fine-tuned copy, two seeds, or steps of one training (Kovaleva et al. 2019,
    section 4.3). Every number is of the tokens of a segment without padding, and a mean over
    segments; intervals are over documents where segments know theirs, as those of `read_segments`
    do. It takes 1.3 to 1.6 times as long as the forward passes of the models.

    With several seeds the change beyond their spread is the mean over seeds of the distance of `a`
    from each, minus the mean over pairs of seeds of the distance between the two; a distance is
    1 - cosine, or the divergence. It is 0 where seeds differ from each other as much as from `a`.

    The maps of one batch of `a` are in memory at a time, and one layer of `b`'s: 4 L B H n^2 bytes,
    75 MB for 8 segments of 128 tokens in 12 layers of 12 heads. With `seeds` or `across_layers` so
    are all of `b`'s. Ctrl-C ends the pass and returns what is done.

    Args:
        a: what `load_model` gave.
        b: a model with as many layers and heads, whose tokenizer has the same tokens; or a list of
            them.
        segments: cut with one of the models (`read_segments`, `make_segments`); of words, sentences
            of a treebank or lists of words.
        metrics: of `measure`, by name or accumulators that were not used yet: each model is
            measured by them, too, and the result has the difference, `b`'s number minus `a`'s.
        seeds: the models of `b` are seeds of one training: compare them with each other, too.
        unit: "words" compares maps between words, so that tokenizers may differ: weights to a
            word's tokens are summed, those from them averaged, and all special tokens together are
            one more that is attended to and attends to nothing.
        matches: also compare each head with every other one of its layer, which `match()` needs:
            two to three times as slow.
        across_layers: also compare heads of different layers, which `match(across_layers=True)`
            needs: several times as slow.
        padded: also the cosine of maps padded to so many tokens, rows of padding included, as in
            the released code, where it is 200.
        batch_size: segments that go through the models together.
        progress: show a progress bar.
        checkpoint: an .npz file that keeps the sums. Where it exists already, the pass goes on
            after its last batch, with the same result to the last bit.

    Raises:
        TypeError: no model, or no segments.
        ValueError: models that differ in layers, heads or tokens; no segments; a segment too long
            for one of them or for `padded`; a word without tokens; `padded` words; `seeds` of a
            single model; a metric as in `measure`; a checkpoint of another study.
        KeyboardInterrupt: before the first batch was done.

    Example:
        >>> from attnwidget import compare, load_model, make_segments
        >>> model, tuned = load_model(), load_model("attnwidget/genre")
        >>> segments = make_segments(["The cat sat on the mat.", "She washed her hands."], model)
        >>> found = compare(model, tuned, segments, progress=False)
        >>> found.cosine.shape, bool((found.cosine < 1).all())
        ((6, 12), True)
        >>> compare(model, model, segments, progress=False).cosine.min()
        np.float64(1.0)
        >>> compare(model, [tuned, model], segments, progress=False).names
        ['small BERT for genres (in the package)', 'small BERT (in the package)']
    """
    several = isinstance(b, Sequence)
    models = [a, *b] if isinstance(b, Sequence) else [a, b]
    for model in models:
        refuse_no_model(model)
    if len(models) < (3 if seeds else 2):
        raise ValueError(
            "seeds are compared with each other: pass a list of two models or more as b"
            if seeds
            else "b is a model, or a list of one model or more; got an empty list"
        )
    one_of("unit", unit, ("tokens", "words"))
    if padded is not None and padded < 1:
        raise ValueError(f"padded is a number of tokens, such as 200, or None; got {padded}")
    if padded is not None and unit == "words":
        raise ValueError("maps between words have no padding: leave padded out, or compare tokens")
    if unit == "words":
        texts = _word_segments(models, segments)
    else:
        texts = [_numbered(models, segments)] * len(models)
    known = [one.document for one in texts[0] if one.document is not None]
    documents = np.array(known, np.int64) if len(known) == len(texts[0]) else None

    options = {"segments": len(texts[0]), "unit": unit, "padded": padded}
    options |= {"matches": matches, "across_layers": across_layers, "seeds": seeds}
    measures = [accumulators_of(metrics) if metrics else [] for _ in models]
    measures[1:] = [deepcopy(one) for one in measures[1:]]
    kept = KeptMaps(unit, measures[0], options, several=several)
    for number, model in enumerate(models[1:], 1):
        firsts: list[KeptMaps | MapChanges] = [kept]
        firsts += [one.changes for one in kept.others] if seeds else []
        changes = [
            MapChanges(
                first,
                documents,
                len(texts[0]),
                unit,
                padded=padded,
                matches=matches and first is kept,
                across_layers=across_layers and first is kept,
                keep=seeds and first is kept,
                number=place,
            )
            for place, first in enumerate(firsts)
        ]
        reader = ModelReader(model, [*measures[number], *changes], None, padded)
        kept.others.append(Other(reader, texts[number], measures[number], changes[0]))
        kept.between += changes[1:]
    with _comparing:
        read_all(
            ModelReader(a, [*measures[0], kept], None, padded),
            texts[0],
            batch_size=batch_size,
            checkpoint=checkpoint,
            progress=progress,
        )
    return kept.compute()


def _numbered(models: Sequence[AttentionModel], segments: Iterable[Any]) -> Sequence[Segment]:
    """The segments, which all models read as the same ids."""
    given = all_of(Segment, segments, _HOW)
    if not given:
        raise ValueError("there are no segments to compare models over")
    for other in models[1:]:
        _check_tokens(models[0], other, given)
    return [
        NumberedSegment(one.first, one.second, index, document=one.document)
        for index, one in enumerate(given)
    ]


def _word_segments(
    models: Sequence[AttentionModel], sentences: Iterable[Any]
) -> list[Sequence[Segment]]:
    """The same words in the tokens of each model."""
    how = "words are compared over sentences of a treebank, or lists of words"
    given = list(each_of(sentences, how))
    texts = []
    for number, one in enumerate(given):
        words = one.words if isinstance(one, Sentence) else one
        if isinstance(one, Segment) or not all_of(str, words, how):
            raise TypeError(f"expected a list of words at {number}, got {one!r}: {how}")
        texts.append((words, one.label if isinstance(one, Sentence) else f"sentence {number}"))
    try:
        return [WordSegmenter(model).segments(texts, False)[0] for model in models]
    except AdvisedError as error:
        raise ValueError(f"{on_page(error)}: leave the sentence out") from None


def _check_tokens(a: AttentionModel, b: AttentionModel, segments: Sequence[Segment]) -> None:
    """ValueError where the two would not read the same ids, special tokens included."""
    tokens = sorted({token for one in segments for token in (*one.first, *one.second)})
    pairs = {bool(one.second) for one in segments}
    seen = []
    for model in (a, b):
        if model.tokenizer is None:
            raise ValueError(
                f"{model.name} has no tokenizer that could put special tokens around segments: "
                "pass one to load_model(model, tokenizer)"
            )
        ids = model.tokenizer.convert_tokens_to_ids(tokens)
        templates = [Template.of(model.tokenizer, pair=pair) for pair in sorted(pairs)]
        seen.append((ids, templates))
    advice = (
        "compare models that share a tokenizer, such as a model and its fine-tuned copy, or pass "
        'sentences, lists of words, and unit="words", which compares maps between words'
    )
    differing = [t for t, i, j in zip(tokens, seen[0][0], seen[1][0], strict=True) if i != j]
    if differing:
        shown = ", ".join(map(repr, differing[:3]))
        raise ValueError(
            f"{a.name} and {b.name} do not have the same tokens: {len(differing)} of the "
            f"segments' {len(tokens)}, {shown} among them, have other ids or none in one of them; "
            f"{advice}"
        )
    if seen[0][1] != seen[1][1]:
        raise ValueError(
            f"{a.name} and {b.name} put different special tokens or token types around a text: "
            f"{advice}"
        )
