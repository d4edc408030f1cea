"""Test the names of heads on public corpora: which names stand, and what their rules replace.

    python docs/models/measure_names.py names --ewt en_ewt-ud-dev.conllu.gz --gum gum.conllu.gz
        --out names_on_other_texts.json
    python docs/models/measure_names.py rules --ewt en_ewt-ud-dev.conllu.gz --gum gum.conllu.gz
        --out rules_of_names.json --model smollm2 --texts 100

`names` makes the atlas of the bundled model from each corpus. `rules` names the heads of a model
with the texts of the package, and measures the names on sentences of EWT and passages of GUM. The
files have names and numbers, and no text. `names_table` and `rules_table` are the tables of the
page docs/pages/analyses/names-on-other-texts.md.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from attnwidget.behaviors import measure_rules
from attnwidget.behaviors.behavior_score import BehaviorScore
from attnwidget.behaviors.corpus_texts import corpus_texts, document_windows
from attnwidget.behaviors.effects.rule_coverage import RuleCoverage, RuleCoverages
from attnwidget.behaviors.effects.rule_effects import GROUPS, RuleEffect
from attnwidget.behaviors.effects.rule_links import links_of_texts
from attnwidget.behaviors.evidence import Evidence, Run
from attnwidget.behaviors.head_atlas.build_atlas import atlas
from attnwidget.behaviors.link_rule import LinkRule
from attnwidget.behaviors.pronouns import PRONOUN, PronounRule
from attnwidget.behaviors.registry import known_behaviors
from attnwidget.behaviors.relations import RelationRule, relation_of_name
from attnwidget.capture.default_method import is_causal_model
from attnwidget.capture.load import load_model
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.head import Head, HeadName
from attnwidget.corpus.segmenting import read_segments
from attnwidget.metrics.measure_heads import measure
from attnwidget.text.atomic_file import write_whole
from attnwidget.text.coreference import load_coreference
from attnwidget.text.mentions import Document
from attnwidget.text.percent import percent
from attnwidget.text.segments import Segment
from attnwidget.text.treebank import Sentence
from attnwidget.text.treebank_files import load_treebank
from attnwidget.words import explained_attention
from attnwidget.words.word_segments import WordSegmenter

#: Entry of a corpus that has no coreference, for names of pronouns.
WITHOUT = "no coreference"
#: Beginning of the names of heads that only rest.
RESTS = "rests on"
#: Number of segments of running text from each corpus.
SEGMENTS = 100
#: Every third document of GUM is read.
DOCUMENTS = slice(None, None, 3)
#: Smallest and largest number of words of a sentence for the rules.
WORDS = 5, 40
#: Parts of a head's attention, in the order of `explained_attention`.
SHARES = ("position", "grammar", "same word", "rest")


def treebank_of(path: Path, documents: Sequence[Document]) -> list[Sentence]:
    """Return the sentences of some documents of GUM."""
    names = {document.name for document in documents}
    return [s for s in load_treebank(path) if s.name.rpartition("-")[0] in names]


def paragraphs(sentences: Sequence[Sentence]) -> list[list[str]]:
    """Return the sentences of each document as paragraphs of running text."""
    by_document = groupby(sentences, key=lambda sentence: sentence.name.rpartition("-")[0])
    return [[sentence.text for sentence in document] for _, document in by_document]


def names_of(
    model: AttentionModel, sentences: Sequence[Sentence], documents: Sequence[Document]
) -> dict[str, Any]:
    """Return the names of an atlas of a corpus as JSON, by head."""
    segments = read_segments(paragraphs(sentences), model, limit=SEGMENTS)
    found = atlas(
        model,
        segments,
        treebank=sentences,
        documents=documents,
        examples=False,
        effects=False,
        progress=False,
    )
    return {
        "texts": f"{len(segments):,} segments, {len(sentences):,} sentences, "
        f"{len(documents):,} documents",
        "names": found.names.tolist(),
        "runners_up": found.table.runners_up.tolist(),
    }


def own_names(model: AttentionModel) -> dict[str, Any]:
    """Return the names of the atlas of the package's own texts as JSON."""
    found = atlas(model, examples=False, effects=False, progress=False)
    return {
        "texts": f"{found.table.n_segments:,} segments, "
        f"{found.provenance['n_sentences']:,} sentences, "
        f"{found.provenance['n_documents']:,} documents",
        "names": found.names.tolist(),
        "runners_up": found.table.runners_up.tolist(),
    }


def rules(
    model: AttentionModel,
    sentences: Sequence[Sentence],
    documents: Sequence[Document],
    *,
    n_texts: int,
    n_sentences: int,
    resume: Path | None,
) -> dict[str, Any]:
    """Return coverage, recovered shares and the four shares of all named heads as JSON."""
    folder = None if resume is None else resume / "atlas"
    found = atlas(model, examples=False, effects=False, resume=folder)
    readable = [sentence for sentence in sentences if WORDS[0] <= len(sentence) <= WORDS[1]]
    texts = evenly(readable, n_texts)
    named = [
        (Head(int(layer), int(head)), found.table[str(found.names[layer, head])])
        for layer, head in np.argwhere(found.names != "")
    ]
    explained = explained_attention(model, evenly(readable, n_sentences), skip_unaligned=True)
    rows = [
        {
            "head": str(head),
            "name": score.name,
            "strength": float(score.strength[head.layer, head.head]),
            "shares": explained.shares[:, head.layer, head.head].tolist(),
        }
        for head, score in named
    ]
    measured = _measured(model, named, texts, documents, n_texts, resume)
    for row in rows:
        row["has_rule"] = row["head"] in measured
        if not row["has_rule"]:
            continue
        coverage, effects = measured[row["head"]]
        row |= {"coverage": coverage.coverage, "applied": coverage.applied}
        row["effects"] = [
            {
                "group": effect.group,
                "off": [effect.off.mean, effect.off.low, effect.off.high],
                "rule": [effect.rule.mean, effect.rule.low, effect.rule.high],
                "wrong": [effect.wrong.mean, effect.wrong.low, effect.wrong.high],
                "recovered": [effect.recovered, effect.recovered_low, effect.recovered_high],
                "work": effect.work,
                "n_texts": effect.n_texts,
                "n_predictions": effect.n_predictions,
            }
            for effect in effects
        ]
    return {
        "n_heads": int(found.names.size),
        "n_texts": len(texts),
        "n_sentences": explained.n_sentences,
        "heads": rows,
    }


def _measured(
    model: AttentionModel,
    named: Sequence[tuple[Head, BehaviorScore]],
    texts: Sequence[Sentence],
    documents: Sequence[Document],
    n_texts: int,
    resume: Path | None,
) -> dict[str, tuple[RuleCoverage, Sequence[RuleEffect]]]:
    """Measure rules on sentences, and the rule of pronouns on passages with coreference."""
    by_corpus: dict[str, dict[Head, Any]] = {"treebank": {}, "documents": {}}
    for head, score in named:
        if score.rule is not None:
            is_pronoun = score.name == PRONOUN
            corpus = "documents" if is_pronoun else "treebank"
            by_corpus[corpus][head] = score.name
    windows, rule = pronoun_windows(model, documents) if by_corpus["documents"] else ([], None)
    studies: dict[str, tuple[Sequence[Any], dict[Head, Any]]] = {
        "rules": (texts, by_corpus["treebank"]),
        "pronouns": (evenly(windows, n_texts), dict.fromkeys(by_corpus["documents"], rule)),
    }
    has_words = model.hf_model.get_output_embeddings() is not None
    measured: dict[str, Any] = {}
    for study, (chosen, heads) in studies.items():
        if heads and not has_words:
            for head, coverage in rule_coverages(model, chosen, heads).items():
                measured[str(head)] = coverage, ()
        elif heads:
            file = None if resume is None else resume / f"{study}.npz"
            rules: dict[HeadName, Any] = dict(heads.items())
            for rule_of_head in measure_rules(model, chosen, rules, resume=file).rules:
                measured[str(rule_of_head.head)] = rule_of_head.coverage, rule_of_head.effects
    return measured


def rule_coverages(
    model: AttentionModel, texts: Sequence[Any], heads: Mapping[Head, Any]
) -> dict[Head, RuleCoverage]:
    """Return the coverage of rules in a model that predicts no words."""
    causal = is_causal_model(model.hf_model)
    segments = texts
    if isinstance(texts[0], Sentence):
        segments, _ = WordSegmenter(model).segments([text.running for text in texts], True)
    known: dict[str, Any] = {behavior.name: behavior for behavior in known_behaviors()}
    rules: dict[Head, LinkRule] = {}
    for head, rule in heads.items():
        relation = relation_of_name(rule) if isinstance(rule, str) else None
        if relation is not None:
            rule = RelationRule(rule, texts, *relation)
        rules[head] = known[rule] if isinstance(rule, str) else rule
    metric = RuleCoverages(rules, causal=causal)
    return measure(model, segments, [metric])[metric.name]


def pronoun_windows(
    model: AttentionModel, documents: Sequence[Document]
) -> tuple[list[Segment], PronounRule]:
    """Return the passages in which the rule of pronouns predicts a link, and the rule."""
    causal = is_causal_model(model.hf_model)
    evidence = Evidence(model, causal, [], documents=documents, run=Run(progress=False))
    rule = PronounRule(PRONOUN, documents, document_windows(evidence))
    texts = [text for _, text in corpus_texts(evidence, "documents")]
    links = links_of_texts(model, rule, texts, causal=causal, seed=0)
    return [text for text, link in zip(texts, links, strict=True) if link.right.any()], rule


def evenly(items: Sequence[Any], n: int) -> list[Any]:
    """Return at most n items, at equal distances.

    Example:
        >>> from measure_names import evenly
        >>> evenly("abcdef", 3)
        ['a', 'c', 'e']
    """
    n = min(n, len(items))
    return [items[len(items) * number // n] for number in range(n)]


def verdict(names: Sequence[str], runners_up: Sequence[str]) -> str:
    """Return whether the first name stands on the other corpora, where it is a name or runner-up.

    Example:
        >>> from measure_names import verdict
        >>> verdict(["next token", "next token", ""], ["", "", "next token"])
        'stands'
        >>> verdict(["", "next token"], ["", ""])
        'added'
    """
    name, *others = names
    says_more = [
        other for other in others if other and other != WITHOUT and not other.startswith(RESTS)
    ]
    if not name or (name.startswith(RESTS) and says_more):
        return "added" if says_more else "no name"
    found = [
        name in pair for pair in zip(others, runners_up[1:], strict=True) if pair[0] != WITHOUT
    ]
    if all(found):
        return "stands"
    return "falls in part" if any(found) else "falls"


def names_table(stored: Mapping[str, Any]) -> list[str]:
    """Return a Markdown table of the heads with a name that is not only about resting."""
    corpora = list(stored)
    lines = [f"| head | {' | '.join(corpora)} | |", "|---|" + "---|" * (len(corpora) + 1)]
    n_layers, n_heads = np.shape(stored[corpora[0]]["names"])
    for layer, head in np.ndindex(n_layers, n_heads):
        names = [stored[corpus]["names"][layer][head] for corpus in corpora]
        runners_up = [stored[corpus]["runners_up"][layer][head] for corpus in corpora]
        if names[0] == PRONOUN:
            names = [
                WITHOUT if stored[corpus]["texts"].endswith(" 0 documents") else name
                for corpus, name in zip(corpora, names, strict=True)
            ]
        if not any(name and not name.startswith(RESTS) for name in names):
            continue
        cells = [
            name + (f" ({runner_up})" if runner_up else "")
            for name, runner_up in zip(names, runners_up, strict=True)
        ]
        said = verdict(names, runners_up)
        lines.append(f"| L{layer} H{head} | {' | '.join(cells)} | {said} |".replace("  ", " – "))
    return lines


def rules_table(measured: Mapping[str, Any]) -> list[str]:
    """Return a Markdown table of coverage, recovered shares and the four shares of named heads."""
    has_effects = any(row.get("effects") for row in measured["heads"])
    columns = ["head", "name", "coverage"]
    columns += ["recovered, the word itself", "recovered, other words"] if has_effects else []
    columns.append("position / grammar / same / rest")
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    for row in measured["heads"]:
        cells = [row["head"], row["name"]]
        covers = "no rule"
        if row["has_rule"]:
            covers = f"{percent(row['coverage'])}, rule at {percent(row['applied'])} of tokens"
        cells.append(covers)
        if has_effects:
            effects = {effect["group"]: effect for effect in row.get("effects", [])}
            cells += [recovered(effects.get(group)) for group in GROUPS]
        cells.append(" / ".join("–" if s is None else f"{100 * s:.0f}" for s in row["shares"]))
        lines.append(f"| {' | '.join(cells)} |".replace("-0 /", "0 /").replace("/ -0", "/ 0"))
    return lines


def recovered(effect: Mapping[str, Any] | None) -> str:
    """Return the recovered share of a rule with its interval, or the conclusion without one."""
    if effect is None or not effect["work"]:
        return "–"
    if effect["work"] == "head not needed":
        return "not needed"
    if effect["work"] == "not shown":
        return "not shown"
    share, low, high = ("∞" if end is None else percent(end) for end in effect["recovered"])
    said = f"{share} ({low} to {high})".replace("-", "−")
    return f"**recovers nothing**: {said}" if effect["work"] == "recovers nothing" else said


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure names or rules, and add them to the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("study", choices=("names", "rules"))
    parser.add_argument("--ewt", type=Path, required=True, help="the dev part of UD English EWT")
    parser.add_argument("--gum", type=Path, required=True, help="GUM with coreference")
    parser.add_argument("--out", type=Path, required=True, help="the JSON file")
    parser.add_argument("--model", help="a model; the bundled model by default")
    parser.add_argument("--gguf", help="the GGUF file in the folder of the model")
    parser.add_argument("--title", help="the title of the model in the file")
    parser.add_argument("--texts", type=int, default=100, help="the number of texts for the rules")
    parser.add_argument(
        "--sentences", type=int, default=200, help="the number of sentences for the shares"
    )
    parser.add_argument("--resume", type=Path, help="a folder that keeps finished work")
    options = parser.parse_args(arguments)
    ewt, documents = load_treebank(options.ewt), load_coreference(options.gum)[DOCUMENTS]
    if options.study == "names":
        model = load_model(options.model, device="cpu")
        found = {
            "package": own_names(model),
            "EWT": names_of(model, ewt, ()),
            "GUM": names_of(model, treebank_of(options.gum, documents), documents),
        }
    else:
        model = loaded(options.model, options.gguf)
        found = {
            options.title or model.name: rules(
                model,
                ewt,
                documents,
                n_texts=options.texts,
                n_sentences=options.sentences,
                resume=options.resume,
            )
        }
    stored = json.loads(options.out.read_text("utf-8")) if options.out.exists() else {}
    text = json.dumps(rounded(stored | found), separators=(",", ":"), ensure_ascii=False)
    write_whole(options.out, (text + "\n").encode("utf-8"))


def loaded(name: str | None, gguf: str | None) -> AttentionModel:
    """Load a model, also from a GGUF file in its folder."""
    if gguf is None:
        return load_model(name, device="cpu")
    from transformers import AutoModelForCausalLM, AutoTokenizer

    hf_model = AutoModelForCausalLM.from_pretrained(name, gguf_file=gguf, dtype="float32")
    return load_model(hf_model, AutoTokenizer.from_pretrained(name, gguf_file=gguf))


def rounded(value: Any) -> Any:
    """Return JSON with four decimals per number, and None for numbers that are not finite."""
    if isinstance(value, float):
        return round(value, 4) if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: rounded(inner) for name, inner in value.items()}
    return [rounded(inner) for inner in value] if isinstance(value, list) else value


if __name__ == "__main__":
    main()
