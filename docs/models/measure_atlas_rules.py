"""Measure the rules of a bundled atlas on public corpora, and add them to its file.

    python docs/models/measure_atlas_rules.py --ewt en_ewt-ud-dev.conllu.gz --gum gum.conllu.gz
        --atlas attnwidget/demo/atlas.json

The names come from the texts of the package, so these corpora did not choose them. Rules of
pronouns are measured on GUM, which has coreference; all other rules, and the shares of position,
grammar and equal words, on UD English EWT. The file has numbers only, and no text of these corpora.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from attnwidget.behaviors.effects.measure_rules import measure_rules
from attnwidget.behaviors.effects.rule_effects import MeasuredRules
from attnwidget.behaviors.head_atlas.atlas_file import load_atlas
from attnwidget.behaviors.head_atlas.atlas_result import Atlas
from attnwidget.behaviors.pronouns import PRONOUN, PronounRule
from attnwidget.capture.load import load_model
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.head import Head
from attnwidget.text.atomic_file import write_whole
from attnwidget.text.coreference import load_coreference
from attnwidget.text.mentions import Document
from attnwidget.text.treebank import Sentence
from attnwidget.text.treebank_files import load_treebank
from attnwidget.words.coreference import probe_coreference
from attnwidget.words.explained_attention import explained_attention
from attnwidget.words.word_segments import WordSegmenter
from make_atlas import rounded

#: Numbers of sentences, documents and passages, and lengths of sentences in words.
N_RULES = 600
N_SHARES = 240
N_DOCUMENTS = 30
N_PASSAGES = 300
LENGTHS = range(5, 41)
MAX_TOKENS = 128


T = TypeVar("T")


def evenly(items: Sequence[T], count: int) -> list[T]:
    """Return items at equal distances, because neighbors come from the same document.

    Example:
        >>> from measure_atlas_rules import evenly
        >>> evenly("abcdef", 3)
        ['a', 'c', 'e']
    """
    step = max(1.0, len(items) / count)
    return [items[int(number * step)] for number in range(min(count, len(items)))]


def of_sentences(
    atlas: Atlas, model: AttentionModel, sentences: Sequence[Sentence]
) -> MeasuredRules | None:
    """Return the measured rules of all names except pronouns; None without such names."""
    rules = atlas.named_rules
    return measure_rules(model, sentences, rules) if rules else None


def of_documents(
    atlas: Atlas, model: AttentionModel, documents: Sequence[Document]
) -> MeasuredRules | None:
    """Return the measured rules of pronoun heads in windows of documents."""
    heads = [Head(layer, head) for layer, head in np.argwhere(atlas.names == PRONOUN).tolist()]
    if not heads:
        return None
    found = probe_coreference(
        model, documents, windows="all", max_tokens=MAX_TOKENS, skip_unaligned=True
    )
    rule = PronounRule(PRONOUN, documents, found.windows)
    texts = [
        documents[window.document].running.part(window.start, window.end)
        for window in found.windows
    ]
    segments, _ = WordSegmenter(model).segments(texts, True)
    return measure_rules(model, evenly(segments, N_PASSAGES), dict.fromkeys(heads, rule))


def written(atlas: Atlas, path: Path) -> Atlas:
    """Write an atlas with rounded numbers, after each study, and return it."""
    atlas.save(path)
    stored = rounded(json.loads(path.read_text("utf-8")))
    text = json.dumps(stored, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    write_whole(path, (text + "\n").encode("utf-8"))
    return atlas


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the rules and shares, and write them into the file of the atlas."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--ewt", type=Path, required=True, help="the dev part of UD English EWT")
    parser.add_argument("--gum", type=Path, required=True, help="GUM with coreference")
    parser.add_argument("--atlas", type=Path, required=True, help="the JSON file")
    parser.add_argument("--model", help="a model of the package; the embedded model by default")
    parser.add_argument(
        "--rules", type=int, default=N_RULES, help="number of sentences for the rules, 0 = none"
    )
    parser.add_argument(
        "--shares", type=int, default=N_SHARES, help="number for the shares, 0 = none"
    )
    options = parser.parse_args(arguments)
    model = load_model(options.model, device="cpu")
    atlas = load_atlas(options.atlas)
    sentences = [s for s in load_treebank(options.ewt) if len(s.words) in LENGTHS]
    if options.rules and not atlas.reasons.get("effects"):
        found = of_sentences(atlas, model, evenly(sentences, options.rules))
        if found is not None:
            texts = f"{found.n_texts} sentences of UD English EWT"
            atlas = written(atlas.with_measured(found, texts=texts), options.atlas)
        documents = evenly(load_coreference(options.gum), N_DOCUMENTS)
        found = of_documents(atlas, model, documents)
        if found is not None:
            texts = f"{found.n_texts} passages of GUM"
            atlas = written(atlas.with_measured(found, texts=texts), options.atlas)
    if options.shares:
        chosen = evenly(sentences, options.shares)
        explained = explained_attention(model, chosen, skip_unaligned=True)
        texts = f"{explained.n_sentences} sentences of UD English EWT"
        written(atlas.with_measured(explained=explained, texts=texts), options.atlas)


if __name__ == "__main__":
    main()
