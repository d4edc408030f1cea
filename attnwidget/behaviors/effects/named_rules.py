"""Rules of the names of an atlas, measured on the held-out half of the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from attnwidget.behaviors.behavior_score import BehaviorScore
from attnwidget.behaviors.corpus_texts import CORPORA, Corpus
from attnwidget.behaviors.effects.measure_effects import held_out_texts
from attnwidget.behaviors.effects.measure_rules import measure_rules
from attnwidget.behaviors.effects.rule_effects import MeasuredRule
from attnwidget.behaviors.evidence import Evidence
from attnwidget.capture.tapping.head import Head
from attnwidget.corpus.resume_file import ResumeFileError
from attnwidget.corpus.resume_from import resume_path
from attnwidget.text.counted import counted
from attnwidget.words.explained_attention import explained_attention
from attnwidget.words.explained_attention_result import ExplainedAttention

_KINDS: Mapping[Corpus, str] = {"segments": "text", "treebank": "sentence", "documents": "passage"}


@dataclass(frozen=True, eq=False)
class NamedRules:
    """Rules and shares of an atlas.

    Attributes:
        rules: Measured rule of each head whose name has a rule.
        explained: Shares of attention of all heads; None without a treebank.
        without: Reason for each missing part, by "rules" or "shares".
        complete: False if a study was interrupted.
        explained_texts: Description of the texts of `explained`.
    """

    rules: Mapping[Head, MeasuredRule]
    explained: ExplainedAttention | None
    without: Mapping[str, str]
    complete: bool
    explained_texts: str = ""


def measure_named_rules(
    evidence: Evidence, names: Mapping[Head, BehaviorScore], *, n_texts: int
) -> NamedRules:
    """Return the rules of the names, and what decides where all heads look.

    The rules are measured on the held-out half of their corpus, and the mean outputs come from the
    other half. `explained_attention` holds out sentences itself.

    Args:
        evidence: Model and data.
        names: Behavior of each head.
        n_texts: Largest number of texts of each corpus for the rules.

    Raises:
        ValueError: If a resume file belongs to another study.
        RuntimeError, OSError, WorkersError: As in `measure_rules`.
    """
    rules: dict[Head, MeasuredRule] = {}
    without: dict[str, str] = {}
    for corpus in CORPORA:
        heads = {
            head: score.rule
            for head, score in names.items()
            if score.corpus == corpus and score.rule is not None
        }
        if not heads:
            continue
        texts, reference = held_out_texts(evidence, corpus, n_texts)
        if not texts or not reference:
            without["rules"] = f"there are too few texts in the {corpus}"
            continue
        try:
            with evidence.run.keeping(f"rules-{corpus}", f"rules in the {corpus}"):
                measured = measure_rules(
                    evidence.model,
                    texts,
                    heads,
                    reference=reference,
                    seed=evidence.seed,
                    batch_size=evidence.run.batch_size,
                    progress=evidence.run.progress,
                    resume=resume_path(),
                )
        except KeyboardInterrupt:
            return NamedRules(rules, None, without, False)
        except ResumeFileError:
            raise  # This ValueError is about the resume file, not about the model.
        except (TypeError, ValueError) as error:
            # The model has no language-modeling head, or does not expose its values.
            without["rules"] = str(error)
            continue
        said = f"{counted(len(texts), _KINDS[corpus])} that did not choose the name"
        rules |= {
            rule.head: replace(rule, rule=names[rule.head].name, texts=said)
            for rule in measured.rules
        }
        if not measured.complete:
            return NamedRules({}, None, without, False)
    return _with_shares(evidence, rules, without)


def _with_shares(
    evidence: Evidence, rules: Mapping[Head, MeasuredRule], without: dict[str, str]
) -> NamedRules:
    """Return the rules with the shares of all heads, which need a treebank."""
    if not evidence.treebank:
        without["shares"] = "there is no treebank"
        return NamedRules(rules, None, without, True)
    try:
        with evidence.run.keeping("shares", "what decides where heads look"):
            explained = explained_attention(
                evidence.model,
                evidence.treebank,
                seed=evidence.seed,
                skip_unaligned=True,
                batch_size=evidence.run.batch_size,
                progress=evidence.run.progress,
            )
    except KeyboardInterrupt:
        return NamedRules(rules, None, without, False)
    except ResumeFileError:
        raise
    except ValueError as error:
        without["shares"] = str(error)
        return NamedRules(rules, None, without, True)
    if not explained.complete:
        return NamedRules(rules, None, without, False)
    said = f"{counted(explained.n_sentences, 'sentence')} of the treebank"
    return NamedRules(rules, explained, without, True, said)
