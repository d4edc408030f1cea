"""Rules of heads: how much attention they predict, and whether they can replace the heads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from attnwidget.behaviors.effects.known_rules import text_rules
from attnwidget.behaviors.effects.measure_effects import REFERENCE_TEXTS
from attnwidget.behaviors.effects.rule_coverage import RuleCoverages
from attnwidget.behaviors.effects.rule_effects import MeasuredRule, MeasuredRules, rule_effects
from attnwidget.behaviors.effects.rule_links import links_of_texts
from attnwidget.behaviors.effects.rule_losses import rule_losses
from attnwidget.behaviors.link_rule import LinkRule
from attnwidget.behaviors.relations import RelationRule, relation_of_name
from attnwidget.capture.cut_inputs import says_cuts
from attnwidget.capture.default_method import is_causal_model
from attnwidget.capture.tapping.head import Head
from attnwidget.corpus.argument_checks import refuse_no_model
from attnwidget.corpus.progress_bar import OnProgress, progress_label
from attnwidget.corpus.resume_from import resume_from, resume_path
from attnwidget.corpus.segmenting import make_segments
from attnwidget.inputs.input_list import each_of
from attnwidget.interventions.units import units_of
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.metrics.measure_heads import measure
from attnwidget.text.near_names import among
from attnwidget.text.segments import Segment
from attnwidget.text.treebank import Sentence
from attnwidget.words.word_segments import WordSegmenter

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

#: A rule, or the name of a known rule.
RuleChoice: TypeAlias = LinkRule | str

_TEXTS = "texts are a list of texts, Segment or Sentence, all of one kind; for one text pass [text]"


@in_plain_torch
@says_cuts
def measure_rules(
    model: AttentionModel,
    texts: Iterable[Any],
    rules: Mapping[Any, RuleChoice],
    *,
    reference: Iterable[str | Segment] | None = None,
    seed: int = 0,
    batch_size: int = 8,
    progress: bool | OnProgress = True,
    resume: str | Path | None = None,
) -> MeasuredRules:
    """Measure how much of a head its rule covers, and how well the rule replaces the head.

    Coverage is the share of the head's attention on the links that the rule predicts. Attention
    from and to special tokens does not count, nor attention to the first token of a causal model,
    unless the rule predicts it.

    For the loss, one head at a time is replaced in three ways:

    - off: the output of the head is its mean output over reference texts, at every token;
    - rule: the weights of the head are equal over the links of its rule, without any other
      attention. A token without a predicted link has the mean output, as in "off";
    - wrong rule: as many links from the same tokens, to other ordinary tokens drawn at random.

    Masked language models predict 15 % of the tokens, and causal models every next token. The rule
    reads the original text, also where a token is masked. Losses are compared in two groups: at
    tokens to which the rule applies ("the word itself"), and at all other tokens. Use texts that
    did not choose the rule.

    Args:
        model: Language model from `load_model`, with a tokenizer and a single stack.
        texts: Texts, `Segment`s, or sentences of a treebank (`load_treebank`).
        rules: Rule of each head: a `LinkRule`, or the name of a behavior with a rule, such as
            "previous token" or, with sentences of a treebank, "determiner to its noun".
        reference: Texts over which the outputs of the heads are averaged; None = the first 16 of
            `texts`.
        seed: Seed of the wrong links.
        batch_size: Number of texts in a forward pass.
        progress: Whether to show a progress bar; or a function that is called with the number of
            processed inputs and the total (None if unknown).
        resume: File (.npz) for the losses, as in `measure`.

    Raises:
        TypeError: If the model predicts no words, or the texts are of several kinds.
        ValueError: If there are no texts or no rules, a head or a rule does not exist, a rule
            needs a treebank, or the values of the heads are unknown.
        RuntimeError: If the model was closed.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.behaviors import measure_rules
        >>> from attnwidget.demo import demo_treebank
        >>> rules = {"L0 H2": "previous token"}
        >>> found = measure_rules(load_model(), demo_treebank()[:8], rules, progress=False)
        >>> [effect.group for effect in found["L0 H2"].effects]
        ['the word itself', 'the other words']
    """
    refuse_no_model(model)
    segments, sentences = _segments(model, each_of(texts, _TEXTS))
    heads = _heads(model, rules, sentences)
    causal = is_causal_model(model.hf_model)
    reference_texts: Sequence[str | Segment] = (
        segments[:REFERENCE_TEXTS] if reference is None else list(reference)
    )
    # The resume file belongs to the losses, which take most of the time.
    with resume_from(None), progress_label("coverage"):
        coverages = measure(
            model,
            segments,
            [RuleCoverages(heads, causal=causal)],
            batch_size=batch_size,
            progress=progress,
        )["rule coverage"]
    links = {
        head: links_of_texts(model, rule, segments, causal=causal, seed=seed)
        for head, rule in heads.items()
    }
    with resume_from(resume_path(resume)), progress_label("losses"):
        losses = rule_losses(
            model, segments, links, reference_texts, batch_size=batch_size, progress=progress
        )
    measured = []
    for number, head in enumerate(losses.heads):
        at_rule = np.zeros(losses.places.shape, bool)
        for column, text in enumerate(losses.texts):
            is_question = losses.places[:, column] >= 0
            has_link = links[head][text].right.any(-1)
            at_rule[is_question, column] = has_link[losses.places[is_question, column]]
        measured.append(
            MeasuredRule(
                head=head,
                rule=heads[head].name,
                coverage=coverages[head],
                effects=rule_effects(losses.intact, losses.replaced[number], at_rule),
            )
        )
    return MeasuredRules(
        rules=tuple(measured),
        n_texts=len(segments),
        model_name=model.name,
        complete=losses.complete,
    )


def _segments(model: AttentionModel, texts: Iterable[Any]) -> tuple[list[Segment], list[Sentence]]:
    """Return the segments of texts, and their sentences if they come from a treebank.

    Raises:
        TypeError: If the texts are of several kinds.
        ValueError: If there are no texts.
    """
    items = list(texts)
    if not items:
        raise ValueError(f"there are no texts: {_TEXTS}")
    kinds = [
        next((kind for kind in (str, Sentence, Segment) if isinstance(item, kind)), None)
        for item in items
    ]
    if None in kinds or len(set(kinds)) > 1:
        names = ", ".join(sorted({type(item).__name__ for item in items}))
        raise TypeError(f"got texts of the types {names}: {_TEXTS}")
    if kinds[0] is Sentence:
        segments, _ = WordSegmenter(model).segments([item.running for item in items], True)
        return list(segments), items
    return (make_segments(items, model) if kinds[0] is str else items), []


def _heads(
    model: AttentionModel, rules: Mapping[Any, RuleChoice], sentences: Sequence[Sentence]
) -> dict[Head, LinkRule]:
    """Return the rule of each head.

    Raises:
        ValueError: As in `measure_rules`.
    """
    if not rules:
        raise ValueError("there are no rules: pass {'L0 H2': 'previous token'}")
    heads: dict[Head, LinkRule] = {}
    for name, rule in rules.items():
        units, _ = units_of(model, [name])
        heads[units[0].heads[0]] = _rule(rule, sentences)
    return heads


def _rule(rule: RuleChoice, sentences: Sequence[Sentence]) -> LinkRule:
    """Return a rule, or the rule of a name."""
    if isinstance(rule, LinkRule):
        return rule
    known = text_rules()
    if rule in known:
        return known[rule]
    relation = relation_of_name(rule) if isinstance(rule, str) else None
    if relation is None:
        raise ValueError(
            f"there is no rule {rule!r}: {among(str(rule), known)}; a relation is named as "
            "'determiner to its noun', and your own rule is a LinkRule"
        )
    if not sentences:
        raise ValueError(
            f"the rule {rule!r} needs a parse: pass the sentences of a treebank as texts"
        )
    return RelationRule(rule, sentences, *relation)
