"""JSON form of the parts of an atlas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from attnwidget.behaviors.behavior_score import BehaviorScore
from attnwidget.behaviors.effects.head_effect import HeadEffect
from attnwidget.behaviors.examples.example_link import ExampleLink
from attnwidget.behaviors.head_atlas.head_writes_and_feeds import Feeds, Writes
from attnwidget.behaviors.scores.behavior_table import BehaviorTable
from attnwidget.capture.tapping.head import Head
from attnwidget.text.tokens import Tokens
from attnwidget.text.tokens_json import tokens_from_json, tokens_to_json

FORMAT = "attnwidget atlas"
VERSION = 1


Examples = Mapping[Head, Mapping[str, Sequence[ExampleLink]]]


def encoded_parts(
    table: BehaviorTable,
    examples: Examples,
    effects: Mapping[Head, HeadEffect],
    writes: Mapping[Head, Sequence[Writes]],
    feeds: Mapping[Head, Sequence[Feeds]],
) -> dict[str, Any]:
    """Return the parts of an atlas as JSON.

    Each text is stored once. NaN and infinite numbers become strings.
    """
    texts: dict[Tokens, int] = {}
    example_rows = {
        head_to_text(head): {
            kind: [
                [
                    texts.setdefault(link.tokens, len(texts)),
                    link.segment,
                    link.query,
                    link.key,
                    _number(link.weight),
                    _number(link.strength),
                ]
                for link in links
            ]
            for kind, links in kinds.items()
        }
        for head, kinds in examples.items()
    }
    return {
        "format": FORMAT,
        "version": VERSION,
        "model": table.model_name,
        "alpha": table.alpha,
        "min_strength": table.min_strength,
        "n_segments": table.n_segments,
        "left_out": dict(table.left_out),
        "scores": [_score_to_json(score) for score in table.scores],
        "texts": [tokens_to_json(tokens) for tokens in texts],
        "examples": example_rows,
        "effects": {
            head_to_text(head): plain_json(asdict(effect)) for head, effect in effects.items()
        },
        "writes": {
            head_to_text(head): [asdict(item) for item in items] for head, items in writes.items()
        },
        "feeds": {
            head_to_text(head): [
                [head_to_text(feeder.head), feeder.fed, feeder.score] for feeder in items
            ]
            for head, items in feeds.items()
        },
    }


def decoded_parts(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of an atlas by name, from `encoded_parts`.

    Raises:
        ValueError: If the object is not an atlas, or an atlas of another version.
        KeyError, TypeError: If parts are missing or have another form.
    """
    if stored.get("format") != FORMAT or stored.get("version") != VERSION:
        raise ValueError(
            f"expected {FORMAT!r}, version {VERSION}, got {stored.get('format')!r}, version "
            f"{stored.get('version')!r}"
        )
    texts = [tokens_from_json(tokens) for tokens in stored["texts"]]
    return {
        "table": BehaviorTable(
            scores=tuple(_score_from_json(score) for score in stored["scores"]),
            left_out=dict(stored["left_out"]),
            alpha=float(stored["alpha"]),
            min_strength=float(stored["min_strength"]),
            n_segments=int(stored["n_segments"]),
            model_name=str(stored["model"]),
        ),
        "examples": {
            text_to_head(name): {
                kind: tuple(
                    ExampleLink(texts[text], int(segment), int(query), int(key), float(w), float(s))
                    for text, segment, query, key, w, s in links
                )
                for kind, links in kinds.items()
            }
            for name, kinds in stored["examples"].items()
        },
        "effects": {
            text_to_head(name): _effect(effect) for name, effect in stored["effects"].items()
        },
        "writes": {
            text_to_head(name): tuple(
                Writes(item["source"], tuple(item["promoted"]), tuple(item["suppressed"]))
                for item in items
            )
            for name, items in stored["writes"].items()
        },
        "feeds": {
            text_to_head(name): tuple(
                Feeds(text_to_head(head), fed, float(s)) for head, fed, s in items
            )
            for name, items in stored["feeds"].items()
        },
    }


def encoded_notes(notes: Mapping[Head, str]) -> dict[str, str]:
    """Return the notes of heads as JSON."""
    return {head_to_text(head): text for head, text in notes.items()}


def decoded_notes(stored: Mapping[str, Any]) -> dict[Head, str]:
    """Return the notes of an atlas; empty if the file has no notes."""
    return {text_to_head(name): str(text) for name, text in stored.get("notes", {}).items()}


def head_to_text(head: Head) -> str:
    """Return a head as a key of JSON, such as "1,3"."""
    return f"{head.layer},{head.head}"


def text_to_head(name: str) -> Head:
    """Return the head of a key, from `head_to_text`."""
    layer, head = name.split(",")
    return Head(int(layer), int(head))


def _number(value: float) -> float | str:
    """Return a number as strict JSON, with "nan", "inf" and "-inf" as strings."""
    return float(value) if np.isfinite(value) else str(float(value))


def plain_json(value: Any) -> Any:
    """Return nested values as strict JSON; NaN and infinite numbers become strings."""
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, dict):
        return {key: plain_json(item) for key, item in value.items()}
    return [plain_json(item) for item in value] if isinstance(value, (list, tuple)) else value


def _score_to_json(score: BehaviorScore) -> dict[str, Any]:
    """Return a score as JSON, without its rule, which needs a model and texts."""
    values = {}
    for field in fields(score):
        value = getattr(score, field.name)
        if field.name != "rule":
            values[field.name] = plain_json(
                value.tolist() if isinstance(value, np.ndarray) else value
            )
    return values


def _score_from_json(stored: Mapping[str, Any]) -> BehaviorScore:
    values = dict(stored)
    for name, value in values.items():
        if isinstance(value, list):
            array = np.array([[float(number) for number in row] for row in value])
            values[name] = array
    values["random"] = float(values["random"])
    return BehaviorScore(**values)


def _effect(stored: Mapping[str, Any]) -> HeadEffect:
    values: dict[str, Any] = dict(stored)
    values["random"] = tuple((str(head), float(effect)) for head, effect in values["random"])
    counts = ("behavior", "random", "n_texts", "n_places", "outcome")
    values |= {name: float(value) for name, value in values.items() if name not in counts}
    return HeadEffect(**values)
