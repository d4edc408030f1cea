"""Stored accuracies of the embedded model on other texts than those of a study.

The texts of the package are short and were written for it, so heads are more accurate on them than
on ordinary texts. `python docs/models/measure_other_texts.py` measures the embedded model on public
corpora and writes the numbers; the package has no text of these corpora.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from attnwidget.kernels.arrays import Float64Array, Int64Array
from attnwidget.model_facts.pickled_model import weights_digest

if TYPE_CHECKING:
    import pandas as pd

    from attnwidget.capture.model import AttentionModel

_FILE = "demo/other_texts.json"
#: Number of hexadecimal digits of a text's fingerprint.
DIGITS = 8


@dataclass(frozen=True, eq=False)
class OtherTexts:
    """Accuracies of all heads of a model on a corpus, measured earlier.

    Attributes:
        corpus: Short name of the corpus, for headings.
        description: Corpus, version and number of texts.
        names: Names of the K kinds of words: relations, or kinds of mentions.
        counts: Number of words of each kind, int64 [K].
        correct: Number of words for which a head is correct, int64 [..., K].
        rules_correct: Number of words for which simple rules are correct, int64 [rules, K].
        options: Options of the study.
        held_out: The same numbers for a part of the corpus on which no head is chosen; None if
            there is no such part.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.corpus.other_texts import other_texts
        >>> ewt = other_texts("relations", load_model(), [])
        >>> ewt.corpus, float(ewt.accuracy((2, 8, 0), ["det"]).round(3)[0])
        ('EWT', 0.759)
    """

    corpus: str
    description: str
    names: tuple[str, ...]
    counts: Int64Array
    correct: Int64Array
    rules_correct: Int64Array
    options: dict[str, Any]
    held_out: OtherTexts | None = None

    def accuracy(self, at: tuple[int, ...], names: Sequence[str]) -> Float64Array:
        """Return the accuracies of one head on kinds of words, NaN for kinds without words.

        Args:
            at: Indices of the head in `correct`.
            names: Kinds of words.
        """
        return self._shares(self.correct[at], names)

    def rule_accuracy(self, rule: int, names: Sequence[str]) -> Float64Array:
        """Return the accuracies of one of the simple rules, as in `accuracy`."""
        return self._shares(self.rules_correct[rule], names)

    def counts_of(self, names: Sequence[str]) -> list[int]:
        """Return the number of words of each kind, 0 for kinds that the corpus does not have.

        Args:
            names: Kinds of words.
        """
        counts = dict(zip(self.names, self.counts.tolist(), strict=True))
        return [counts.get(name, 0) for name in names]

    def add_columns(self, table: pd.DataFrame, columns: Mapping[str, Any]) -> None:
        """Add accuracies on the corpus to a table, in columns that name the corpus.

        Args:
            table: Table of a study, which is changed.
            columns: Values of each column by the column of the study with the same number, such as
                "Baseline" for "Baseline on EWT"; "" for the column "On EWT".
        """
        for name, values in columns.items():
            table[f"{name} on {self.corpus}" if name else f"On {self.corpus}"] = values

    def _shares(self, correct: Int64Array, names: Sequence[str]) -> Float64Array:
        index = {name: k for k, name in enumerate(self.names) if self.counts[k]}
        shares = [
            correct[index[n]] / self.counts[index[n]] if n in index else np.nan for n in names
        ]
        return np.array(shares, np.float64)


def other_texts(
    study: str, model: AttentionModel | None, texts: Iterable[Sequence[str]], **options: Any
) -> OtherTexts | None:
    """Return the stored accuracies of a model on other texts.

    Args:
        study: Name of the study: "relations" or "coreference".
        model: Model of the study.
        texts: Words of each text of the study.
        **options: Options of the study, which must equal those of the stored study.

    Returns:
        The accuracies; None for other weights than those of the embedded model, with disabled
        heads, with other options, or if more than half of the texts belong to the stored corpus.
    """
    if model is None or model.edits.digest:
        return None
    digests = {text_digest(words) for words in texts}
    return stored_accuracies(study, weights_digest(model.hf_model), digests, options)


def stored_accuracies(
    study: str,
    weights: str,
    digests: Collection[str] = (),
    options: Mapping[str, Any] | None = None,
) -> OtherTexts | None:
    """Return the stored accuracies for a fingerprint of weights, as in `other_texts`.

    Args:
        study: Name of the study: "relations", "coreference" or "pronouns".
        weights: Fingerprint of the weights.
        digests: Fingerprints of the texts of the study.
        options: Options of the study.
    """
    entry = _stored().get(weights, {}).get(study)
    if entry is None or any(
        entry["options"].get(name) != value for name, value in (options or {}).items()
    ):
        return None
    texts = entry["texts"]
    known = {texts[i : i + DIGITS] for i in range(0, len(texts), DIGITS)}
    if 2 * len(known.intersection(digests)) > len(digests):
        return None
    found = _accuracies(entry)
    if held_out := entry.get("held_out"):
        return replace(found, held_out=_accuracies(entry | held_out))
    return found


def _accuracies(entry: Mapping[str, Any]) -> OtherTexts:
    return OtherTexts(
        corpus=entry["corpus"],
        description=entry["description"],
        names=tuple(entry["names"]),
        counts=np.array(entry["counts"], np.int64),
        correct=np.array(entry["correct"], np.int64),
        rules_correct=np.array(entry["rules_correct"], np.int64),
        options=entry["options"],
    )


def text_digest(words: Sequence[str]) -> str:
    """Return the fingerprint of a text, by which a text of the stored corpus is recognized."""
    return blake2b("\n".join(words).encode(), digest_size=DIGITS // 2).hexdigest()


@cache
def _stored() -> dict[str, Any]:
    """Read the file once: studies by the fingerprint of the model's weights."""
    models: dict[str, Any] = json.loads(files("attnwidget").joinpath(_FILE).read_text("utf-8"))
    return models
