"""Test the names of heads on public corpora: which names stand, and what their rules replace.

    python docs/models/measure_names.py names --ewt en_ewt-ud-dev.conllu.gz --gum gum.conllu.gz
        --out names_on_other_texts.json
    python docs/models/measure_names.py rules --ewt en_ewt-ud-dev.conllu.gz --gum gum.conllu.gz
        --atlas attnwidget/demo/atlas.json
    python docs/models/measure_names.py rules --ewt en_ewt-ud-dev.conllu.gz --gum gum.conllu.gz
        --out rules_of_names.json --model smollm2 --texts 100

`names` makes the atlas of the bundled model from each corpus. `rules` measures the names of an
atlas, or of a new atlas of a model with the texts of the package. These corpora did not choose the
names. Rules of pronouns are measured on GUM, which has coreference; all other rules, and the shares
of position, grammar and equal words, on UD English EWT. The files have names and numbers, and no
text. `names_table`, `models_table` and `rules_table` are the tables of the page
docs/pages/analyses/names-on-other-texts.md.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import make_atlas
from attnwidget.behaviors import measure_rules
from attnwidget.behaviors.effects.known_rules import text_rules
from attnwidget.behaviors.effects.rule_coverage import RuleCoverages
from attnwidget.behaviors.effects.rule_effects import GROUPS, MeasuredRule, MeasuredRules
from attnwidget.behaviors.head_atlas.atlas_file import load_atlas
from attnwidget.behaviors.head_atlas.atlas_result import Atlas
from attnwidget.behaviors.head_atlas.build_atlas import atlas
from attnwidget.behaviors.link_rule import LinkRule
from attnwidget.behaviors.pronouns import PRONOUN, PronounRule
from attnwidget.behaviors.relations import RelationRule, relation_of_name
from attnwidget.capture.default_method import is_causal_model
from attnwidget.capture.load import load_model
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.head import Head
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
from attnwidget.words.coreference import probe_coreference
from attnwidget.words.word_segments import WordSegmenter

#: Entry of a corpus that has no coreference, for names of pronouns.
WITHOUT = "no coreference"
#: Beginning of the names of heads that only rest.
RESTS = "rests on"
#: End of the names of heads that repeat random tokens, whose rules apply to other texts too.
RANDOM = " (random tokens)"
#: Number of segments of running text from each corpus.
SEGMENTS = 100
#: Every third document of GUM is read for its names.
DOCUMENTS = slice(None, None, 3)
#: Number of documents of GUM for rules of pronouns.
N_DOCUMENTS = 30
#: Largest number of tokens of a passage.
MAX_TOKENS = 128
#: Numbers of words of a sentence for the rules.
WORDS = range(5, 41)

T = TypeVar("T")


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


def studied(
    model: AttentionModel,
    found: Atlas,
    sentences: Sequence[Sentence],
    documents: Sequence[Document],
    *,
    n_texts: int,
    n_passages: int,
    n_sentences: int,
    resume: Path | None = None,
) -> Iterator[Atlas]:
    """Yield the atlas after each study: rules on sentences, rules on passages, the four shares.

    Args:
        model: Model of the atlas.
        found: Atlas whose names are tested.
        sentences: Sentences of EWT.
        documents: Documents of GUM, for rules of pronouns.
        n_texts: Number of sentences for the rules; 0 = no rules.
        n_passages: Number of passages for rules of pronouns; 0 = no such rules.
        n_sentences: Number of sentences for the shares; 0 = no shares.
        resume: Folder for the losses of finished texts.
    """
    sentences = [sentence for sentence in sentences if len(sentence) in WORDS]
    rules_of_names = named_rules(found)
    if n_texts and rules_of_names:
        texts = evenly(sentences, n_texts)
        rules = measured_rules(model, texts, rules_of_names, _file(resume, "rules"))
        # The name of a rule is the name of its head, also if it was found in random tokens.
        names = found.names_by_head
        renamed = [replace(rule, rule=names[rule.head]) for rule in rules.rules]
        rules = replace(rules, rules=renamed)
        found = found.with_measured(rules, texts=f"{rules.n_texts} sentences of UD English EWT")
        yield found
    heads = [head for head, name in found.names_by_head.items() if name == PRONOUN]
    if n_passages and heads:
        passages, rule = pronoun_passages(model, evenly(documents, N_DOCUMENTS))
        of_heads = dict.fromkeys(heads, rule)
        few = evenly(passages, n_passages)
        rules = measured_rules(model, few, of_heads, _file(resume, "pronouns"))
        found = found.with_measured(rules, texts=f"{rules.n_texts} passages of GUM")
        yield found
    if n_sentences:
        chosen = evenly(sentences, n_sentences)
        explained = explained_attention(model, chosen, skip_unaligned=True)
        texts_said = f"{explained.n_sentences} sentences of UD English EWT"
        yield found.with_measured(explained=explained, texts=texts_said)


def named_rules(found: Atlas) -> dict[Head, LinkRule | str]:
    """Return the rules of names, with the rules that were found in random tokens.

    Example:
        >>> from attnwidget.demo import demo_atlas
        >>> from measure_names import named_rules
        >>> len(named_rules(demo_atlas()))
        37
    """
    known = text_rules()
    in_random_tokens: dict[Head, LinkRule | str] = {
        head: name.removesuffix(RANDOM)
        for head, name in found.names_by_head.items()
        if name.endswith(RANDOM) and name.removesuffix(RANDOM) in known
    }
    return found.named_rules | in_random_tokens


def _file(folder: Path | None, study: str) -> Path | None:
    """Return the resume file of a study."""
    return None if folder is None else folder / f"{study}.npz"


def measured_rules(
    model: AttentionModel,
    texts: Sequence[Any],
    rules: Mapping[Head, LinkRule | str],
    resume: Path | None,
) -> MeasuredRules:
    """Return coverage and effects of rules; only the coverage if the model predicts no words."""
    if model.hf_model.get_output_embeddings() is not None:
        return measure_rules(model, texts, dict(rules.items()), resume=resume)
    segments = texts
    if isinstance(texts[0], Sentence):
        segments, _ = WordSegmenter(model).segments([text.running for text in texts], True)
    known = text_rules()
    link_rules: dict[Head, LinkRule] = {}
    for head, rule in rules.items():
        if isinstance(rule, str):
            relation = relation_of_name(rule)
            rule = known[rule] if relation is None else RelationRule(rule, texts, *relation)
        link_rules[head] = rule
    metric = RuleCoverages(link_rules, causal=is_causal_model(model.hf_model))
    coverages = measure(model, segments, [metric])[metric.name]
    return MeasuredRules(
        rules=[
            MeasuredRule(head=head, rule=rule.name, coverage=coverages[head], effects=())
            for head, rule in link_rules.items()
        ],
        n_texts=len(segments),
        model_name=model.name,
        complete=True,
    )


def pronoun_passages(
    model: AttentionModel, documents: Sequence[Document]
) -> tuple[list[Segment], PronounRule]:
    """Return all passages of some documents, and the rule of pronouns in them."""
    found = probe_coreference(
        model, documents, windows="all", max_tokens=MAX_TOKENS, skip_unaligned=True
    )
    texts = [
        documents[window.document].running.part(window.start, window.end)
        for window in found.windows
    ]
    segments, _ = WordSegmenter(model).segments(texts, True)
    return list(segments), PronounRule(PRONOUN, documents, found.windows)


def rows_of(found: Atlas) -> dict[str, Any]:
    """Return the rules and shares of all named heads of an atlas as JSON."""
    rows = []
    for head, name in found.names_by_head.items():
        card = found.card(head)
        row: dict[str, Any] = {
            "head": str(head),
            "name": name,
            "strength": float(found.table[name].strength[head.layer, head.head]),
            "shares": list(card.shares.values()),
            "has_rule": card.rule is not None,
        }
        if card.rule is not None:
            coverage = card.rule.coverage
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
                for effect in card.rule.effects
            ]
        rows.append(row)
    return {
        "n_heads": int(found.names.size),
        "texts": list(dict.fromkeys(rule.texts for rule in found.rules.values())),
        "shares_texts": found.explained_texts,
        "heads": rows,
    }


def evenly(items: Sequence[T], n: int) -> list[T]:
    """Return at most n items at equal distances, because neighbors come from the same document.

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


def models_table(measured: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return a Markdown table of models: texts of rules and shares, and number of named heads."""
    lines = ["| model | texts for the rules | texts for the shares | named heads |"]
    lines.append("|---|---|---|---|")
    for title, found in measured.items():
        named = f"{len(found['heads'])} of {found['n_heads']}"
        texts = ", ".join(found["texts"])
        lines.append(f"| {title} | {texts} | {found['shares_texts']} | {named} |")
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure names or rules, and write the files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("study", choices=("names", "rules"))
    parser.add_argument("--ewt", type=Path, required=True, help="the dev part of UD English EWT")
    parser.add_argument("--gum", type=Path, required=True, help="GUM with coreference")
    parser.add_argument("--out", type=Path, help="the JSON file of the tables")
    parser.add_argument("--atlas", type=Path, help="the file of an atlas, which gets the rules")
    parser.add_argument("--model", help="a model; the bundled model by default")
    parser.add_argument("--gguf", help="the GGUF file in the folder of the model")
    parser.add_argument("--title", help="the title of the model in the file")
    parser.add_argument("--texts", type=int, default=600, help="sentences for the rules, 0 = none")
    parser.add_argument(
        "--passages", type=int, default=300, help="passages for rules of pronouns, 0 = none"
    )
    parser.add_argument(
        "--sentences", type=int, default=240, help="sentences for the shares, 0 = none"
    )
    parser.add_argument("--resume", type=Path, help="a folder that keeps finished work")
    options = parser.parse_args(arguments)
    if options.out is None and (options.study == "names" or options.atlas is None):
        parser.error("the results have no file: pass --out, or --atlas for the rules of an atlas")
    ewt, documents = load_treebank(options.ewt), load_coreference(options.gum)
    if options.study == "names":
        model = load_model(options.model, device="cpu")
        third = documents[DOCUMENTS]
        tables = {
            "package": own_names(model),
            "EWT": names_of(model, ewt, ()),
            "GUM": names_of(model, treebank_of(options.gum, third), third),
        }
    else:
        model = loaded(options.model, options.gguf)
        if options.atlas is None:
            folder = None if options.resume is None else options.resume / "atlas"
            found = atlas(model, examples=False, effects=False, resume=folder)
        else:
            found = load_atlas(options.atlas)
        states = studied(
            model,
            found,
            ewt,
            documents,
            n_texts=options.texts,
            n_passages=options.passages,
            n_sentences=options.sentences,
            resume=options.resume,
        )
        measured = found
        for measured in states:
            if options.atlas is not None:
                measured.save(options.atlas)
                stored_atlas = json.loads(options.atlas.read_text("utf-8"))
                write_json(options.atlas, make_atlas.rounded(stored_atlas))
        tables = {options.title or model.name: rows_of(measured)}
    if options.out is not None:
        stored = json.loads(options.out.read_text("utf-8")) if options.out.exists() else {}
        write_json(options.out, rounded(stored | tables))


def write_json(path: Path, value: Any) -> None:
    """Write JSON without spaces."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    write_whole(path, (text + "\n").encode("utf-8"))


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
