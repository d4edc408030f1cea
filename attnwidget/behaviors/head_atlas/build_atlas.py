"""Atlas of a model: a description of every head, with the evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from attnwidget.behaviors.behavior import Behavior
from attnwidget.behaviors.behavior_score import BehaviorScore
from attnwidget.behaviors.corpus_texts import CORPORA, corpus_texts
from attnwidget.behaviors.effects.measure_effects import MeasuredEffects, measure_effects
from attnwidget.behaviors.effects.named_rules import NamedRules, measure_named_rules
from attnwidget.behaviors.evidence import Evidence, Run
from attnwidget.behaviors.examples.example_link import ExampleLink
from attnwidget.behaviors.examples.example_links import ExampleLinks
from attnwidget.behaviors.examples.example_results import KINDS, OF_RULE, HeadExamples
from attnwidget.behaviors.examples.link_distances import LinkDistanceSums
from attnwidget.behaviors.head_atlas.atlas_result import Atlas
from attnwidget.behaviors.head_atlas.head_writes_and_feeds import feeds_of, writes_of
from attnwidget.behaviors.registry import chosen_behaviors
from attnwidget.behaviors.scores.behavior_table import BehaviorTable, refuse_thresholds
from attnwidget.behaviors.scores.measure_behaviors import evidence_of, scored
from attnwidget.capture.cut_inputs import says_cuts
from attnwidget.capture.tapping.head import Head
from attnwidget.corpus.progress_bar import OnProgress
from attnwidget.corpus.resume_file import digest_of
from attnwidget.corpus.resume_from import resume_from
from attnwidget.corpus.worker import study_versions
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.metrics.measure_heads import measure
from attnwidget.model_facts.pickled_model import weights_digest
from attnwidget.text.mentions import Document
from attnwidget.text.treebank import Sentence
from attnwidget.text.whole_number import whole_number

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

#: Number of texts in which links are searched that a rule predicts and the head does not make.
MISSED_TEXTS = 64
#: Number of texts per corpus for the head effects of a masked language model.
EFFECT_TEXTS = 64
#: The same number for a causal model, which predicts six times as many tokens of a text.
CAUSAL_EFFECT_TEXTS = 16

Examples = dict[Head, dict[str, tuple[ExampleLink, ...]]]


@in_plain_torch
@says_cuts
def atlas(
    model: AttentionModel,
    segments: Iterable[Any] | None = None,
    *,
    treebank: Iterable[Sentence] | None = None,
    documents: Iterable[Document] | None = None,
    behaviors: Iterable[str | Behavior] | None = None,
    examples: bool = True,
    effects: bool = True,
    rules: bool = False,
    n_examples: int = 20,
    n_effect_texts: int | None = None,
    alpha: float = 0.05,
    min_strength: float = 0.25,
    n_random_models: int | None = None,
    seed: int = 0,
    batch_size: int = 8,
    resume: str | Path | None = None,
    progress: bool | OnProgress = True,
) -> Atlas:
    """Describe the function of every head of a model, with the evidence.

    Every head gets a score for each behavior, with a control in the same row. A behavior names a
    head only if the score exceeds the control after Holm's correction over all heads and behaviors
    (`measure_behaviors`). The held-out half of the data gives the held-out scores and the effect of
    each named head: the rise of the loss without the head where its behavior applies, compared with
    other tokens and with other heads of the same layer.

    Args:
        model: Model from `load_model`.
        segments: Texts, segments or pictures, as in `measure`; None = the bundled prose. Pictures
            have their own behaviors and no effects; `ablate` measures effects over pictures.
        treebank: Sentences for the relations; None = the bundled treebank, () = no relations.
        documents: Documents for pronouns and coreference (`load_coreference`); None = the bundled
            passages (`demo_documents`), which have no coreference of nouns, () = neither.
        behaviors: Behaviors, as in `measure_behaviors`; None = all.
        examples: Whether to collect example links of every head (`head_examples`).
        effects: Whether to measure the effects of named heads. The model needs a
            language-modeling head.
        rules: Whether to measure how much of each named head its rule covers and replaces
            (`measure_rules`, on the texts of the effects), and what decides where every head looks
            (`explained_attention`, on the treebank). This takes about as long as the effects.
        n_examples: Largest number of examples of each kind.
        n_effect_texts: Largest number of texts of each corpus for the effects and the rules; None =
            64, or 16 for a causal model, which predicts every token of a text.
        alpha: Largest corrected p-value of a name, as in `measure_behaviors`.
        min_strength: Smallest strength of a name, as in `measure_behaviors`.
        n_random_models: Number of models with random weights; None = 2 or more.
        seed: Seed of all random numbers.
        batch_size: Number of texts in a forward pass.
        resume: Folder for finished work; a repeated call continues from it.
        progress: Whether to show progress bars; or a function that is called with the number of
            processed inputs and the total (None if unknown).

    Returns:
        Atlas of the model. After Ctrl-C during the examples, effects or rules, the missing parts
        are left out and `complete` is False.

    Raises:
        ValueError, TypeError, RuntimeError, OSError, WorkersError: As in `measure_behaviors`.
        KeyboardInterrupt: If Ctrl-C was pressed before all heads had scores. The folder has the
            finished work.

    Example:
        >>> from attnwidget import atlas, load_model, make_segments
        >>> model = load_model()
        >>> texts = make_segments(["The cat sat on the mat.", "It slept there."] * 4, model)
        >>> names = ["previous token", "rests on [SEP]"]
        >>> found = atlas(model, texts, treebank=(), behaviors=names,
        ...     effects=False, n_random_models=0, progress=False)
        >>> found.find("previous")[0]
        Head(layer=0, head=2, stack='self')
    """
    refuse_thresholds(alpha, min_strength)
    n_examples = whole_number("n_examples", n_examples, 1, "example")
    if n_effect_texts is not None:
        n_effect_texts = whole_number("n_effect_texts", n_effect_texts, 1, "text")
    run = Run.from_arguments(batch_size, resume, progress)
    with resume_from(None):
        evidence = evidence_of(model, segments, treebank, documents, seed, n_random_models, run)
        selected_behaviors = chosen_behaviors(behaviors, evidence.of_pictures)
        example_metrics = (
            [ExampleLinks(n_examples, seed=seed)] if examples and evidence.segments else []
        )
        distance_sums = (
            LinkDistanceSums(causal=evidence.causal)
            if evidence.segments and not evidence.of_pictures
            else None
        )
        beside = [*example_metrics, *([distance_sums] if distance_sums else [])]
        scores, left_out = scored(evidence, selected_behaviors, beside)
        table = BehaviorTable(
            scores=tuple(scores),
            left_out=left_out,
            alpha=alpha,
            min_strength=min_strength,
            n_segments=len(evidence.segments),
            model_name=model.name,
        )
        names = _names(table)
        links: Examples = _examples(example_metrics[0].compute()) if example_metrics else {}
        default_n_texts = CAUSAL_EFFECT_TEXTS if evidence.causal else EFFECT_TEXTS
        n_texts = default_n_texts if n_effect_texts is None else n_effect_texts
        complete = True
        if links:
            complete = _add_examples_of_names(links, evidence, names, n_examples)
        measured_effects = MeasuredEffects({}, "", True)
        if evidence.of_pictures:
            reason = (
                "effects are measured over texts: ablate(model, labeled pictures, scoring='loss')"
            )
            measured_effects = MeasuredEffects({}, reason if effects else "", True)
        elif effects and complete:
            measured_effects = measure_effects(evidence, names, n_texts=n_texts)
        measured_rules = NamedRules({}, None, {}, True)
        if rules and complete and measured_effects.complete:
            measured_rules = measure_named_rules(evidence, names, n_texts=n_texts)
        strongest = {head: links[head]["strongest"] for head in names if head in links}
        writes, no_writes = writes_of(model, {} if evidence.of_pictures else strongest)
        feeds, no_feeds = feeds_of(model, {} if evidence.of_pictures else names)
        parts = {"effects": measured_effects.without, "writes": no_writes, "feeds": no_feeds}
        parts |= measured_rules.without
        return Atlas(
            table=table,
            examples=links,
            effects=measured_effects.effects,
            writes=writes,
            feeds=feeds,
            reasons={part: reason for part, reason in parts.items() if reason} | left_out,
            provenance=_provenance(evidence),
            complete=complete and measured_effects.complete and measured_rules.complete,
            rules=measured_rules.rules,
            explained=measured_rules.explained,
            explained_texts=measured_rules.explained_texts,
            distances=None if distance_sums is None else distance_sums.compute(),
        )


def _names(table: BehaviorTable) -> dict[Head, BehaviorScore]:
    """Return the behavior of each named head."""
    return {
        Head(int(layer), int(head)): table[str(table.names[layer, head])]
        for layer, head in np.argwhere(table.names != "")
    }


def _examples(found: HeadExamples) -> Examples:
    kinds = [kind for kind in KINDS if kind not in OF_RULE]
    shape = found.arrays["heaviest rank"].shape[:2]
    return {
        Head(layer, head): {kind: tuple(found.links(layer, head, kind)) for kind in kinds}
        for layer, head in np.ndindex(*shape)
    }


def _add_examples_of_names(
    links: Examples, evidence: Evidence, names: Mapping[Head, BehaviorScore], k: int
) -> bool:
    """Add the right, wrong and missed links of the rule of each named head.

    Returns:
        False if the pass was interrupted.
    """
    model = evidence.model
    run = evidence.run
    for corpus in CORPORA:
        named_scores = {head: score for head, score in names.items() if score.corpus == corpus}
        rules = {
            score.name: score.rule for score in named_scores.values() if score.rule is not None
        }
        if not rules:
            continue
        texts = [text for _, text in corpus_texts(evidence, corpus)][:MISSED_TEXTS]
        rule_of = np.full((model.n_layers, model.n_heads), -1)
        for head, score in named_scores.items():
            rule_of[head.layer, head.head] = list(rules).index(score.name)
        metric = ExampleLinks(k, seed=evidence.seed, rules=list(rules.values()), rule_of=rule_of)
        try:
            with run.keeping(f"missed-{corpus}", f"missed links in the {corpus}"):
                measurements = measure(
                    model, texts, [metric], batch_size=run.batch_size, progress=run.progress
                )
        except KeyboardInterrupt:
            return False
        examples = cast("HeadExamples", measurements[metric.name])
        for head in named_scores:
            for kind in OF_RULE:
                links[head][kind] = tuple(examples.links(head.layer, head.head, kind))
        if not measurements.complete:
            return False
    return True


def _provenance(evidence: Evidence) -> dict[str, Any]:
    model = evidence.model
    tokenizer = model.tokenizer
    vocabulary = [] if tokenizer is None else sorted(tokenizer.get_vocab().items())
    return {
        "model": model.name,
        "class": type(model.hf_model).__name__,
        "weights": weights_digest(model.hf_model),
        "edits": model.edits.digest,
        "tokenizer": "" if tokenizer is None else type(tokenizer).__name__,
        "vocabulary": digest_of([vocabulary]),
        "texts": digest_of((text.first, text.second) for text in evidence.segments),
        "n_texts": len(evidence.segments),
        "treebank": digest_of(
            (sentence.words, sentence.governors, sentence.relations)
            for sentence in evidence.treebank
        ),
        "n_sentences": len(evidence.treebank),
        "n_documents": len(evidence.documents),
        "seed": evidence.seed,
        "n_random_models": evidence.n_random_models,
        "versions": study_versions(),
    }
