"""Measure the embedded model on public corpora: the numbers "on other texts" of the package.

    python docs/models/measure_other_texts.py --ewt en_ewt-ud-dev.conllu.gz --gum gum.conllu.gz
        --out other_texts.json

The file has numbers of all heads, and fingerprints of the texts; it has no text.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attnwidget.behaviors.pronouns import PRONOUN, right_pronouns
from attnwidget.capture.load import load_model
from attnwidget.capture.model import AttentionModel
from attnwidget.corpus.other_texts import text_digest
from attnwidget.model_facts.pickled_model import weights_digest
from attnwidget.text.atomic_file import write_whole
from attnwidget.text.coreference import load_coreference
from attnwidget.text.mentions import Document
from attnwidget.text.treebank import Sentence
from attnwidget.text.treebank_files import load_treebank
from attnwidget.words.coreference import probe_coreference
from attnwidget.words.coreference_results import KINDS, CoreferenceAccuracies
from attnwidget.words.relations import probe_relations


def relations(model: AttentionModel, sentences: Sequence[Sentence]) -> dict[str, Any]:
    """Return the counts of `probe_relations` on EWT as JSON."""
    found = probe_relations(model, sentences, skip_unaligned=True, progress=False)
    return {
        "corpus": "EWT",
        "description": f"UD English EWT, dev part, {found.n_sentences:,} sentences",
        "options": {"unit": found.unit, "possessive": found.possessive},
        "names": list(found.relations),
        "counts": found.counts.tolist(),
        "correct": found.correct.tolist(),
        "rules_correct": [found.baseline_correct.max(0).tolist()],
        "texts": "".join(text_digest(sentence.words) for sentence in sentences),
    }


def mentions(model: AttentionModel, documents: Sequence[Document]) -> CoreferenceAccuracies:
    """Probe all windows of documents."""
    return probe_coreference(model, documents, windows="all", skip_unaligned=True, progress=False)


def coreference(
    found: CoreferenceAccuracies, held_out: CoreferenceAccuracies | None = None
) -> dict[str, Any]:
    """Return the counts of `probe_coreference` on GUM as JSON, also for documents held out."""
    part = {} if held_out is None else {"held_out": counts_of(held_out)}
    return {
        "corpus": "GUM",
        "options": {},
        "names": list(KINDS),
        **counts_of(found),
        "texts": "".join(text_digest(document.words) for document in found.documents),
        **part,
    }


def counts_of(found: CoreferenceAccuracies) -> dict[str, Any]:
    """Return the counts of all heads and rules as JSON."""
    return {
        "description": f"GUM, {len(found.documents)} documents, {found.counts[0]:,} mentions",
        "counts": found.counts.tolist(),
        "correct": found.correct.tolist(),
        "rules_correct": found.baseline_correct.tolist(),
    }


def pronouns(found: CoreferenceAccuracies) -> dict[str, Any]:
    """Return the counts of the behavior "pronoun to its person" on GUM as JSON."""
    heads, rules = right_pronouns(found)
    return coreference(found) | {
        "description": f"GUM, {len(found.documents)} documents, {len(heads):,} pronouns",
        "names": [PRONOUN],
        "counts": [len(heads)],
        "correct": heads.sum(0)[..., None].tolist(),
        "rules_correct": rules.sum(0)[:, None].tolist(),
        "texts": "",
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the embedded model and write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--ewt", type=Path, required=True, help="the dev part of UD English EWT")
    parser.add_argument("--gum", type=Path, required=True, help="GUM with coreference")
    parser.add_argument("--out", type=Path, required=True, help="the JSON file")
    options = parser.parse_args(arguments)
    model = load_model(device="cpu")
    gum = load_coreference(options.gum)
    found = mentions(model, gum)
    studies = {
        "relations": relations(model, load_treebank(options.ewt)),
        "coreference": coreference(found, mentions(model, gum[::5])),
        "pronouns": pronouns(found),
    }
    stored = {weights_digest(model.hf_model): studies}
    write_whole(options.out, (json.dumps(stored, separators=(",", ":")) + "\n").encode("utf-8"))


if __name__ == "__main__":
    main()
