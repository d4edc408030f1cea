"""Head patching: a head's output for one input replaces its output for another input."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from attnwidget.capture.tapping.head import HeadName
from attnwidget.corpus.argument_checks import refuse_no_model
from attnwidget.corpus.resume_file import digest_of
from attnwidget.interventions.patch_pairs import (
    Into,
    longest_and_shortest,
    patch_pairs_of,
)
from attnwidget.interventions.patch_results import HeadPatches
from attnwidget.interventions.patched_passes import patched_scores
from attnwidget.interventions.scores import PATCH_SCORES, PatchScore, check_name, score_name
from attnwidget.interventions.unit_scores import read_unit_scores
from attnwidget.interventions.units import scores_by_place, studied_stack, units_of
from attnwidget.kernels.plain_torch import in_plain_torch

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


@in_plain_torch
def patch_heads(
    model: AttentionModel,
    clean: Iterable[Any],
    corrupted: Iterable[Any],
    scoring: PatchScore = "logit difference",
    *,
    patch_into: Into = "corrupted",
    heads: Literal["all", "layers"] | HeadName | Iterable[HeadName] = "all",
    by_position: bool = False,
    stack: str | None = None,
    progress: bool = True,
) -> HeadPatches:
    """Patch the outputs of each head from the clean input into the corrupted input.

    This is activation patching (Vig et al. 2020; Meng et al. 2022; Wang et al. 2023). If a patched
    head restores the clean answer, the head carries the difference between the inputs. The patched
    outputs are the weighted sums of values before the output projection, token by token. Layers
    below a head do not run again: their outputs are stored from a pass over the corrupted input.
    The first pair is checked against complete passes of the model, to 1e-5 in float32.

    Args:
        model: Model with a prediction head.
        clean: Clean input or list of inputs: (text, answer), (text, second text, answer), (picture,
            answer) or (sound, answer), with pictures and sounds as in `measure`. The answer is a
            class, the word at the one mask token, or the next token, as in `ablate`.
        corrupted: Corrupted inputs with the same numbers of tokens, with their own answers.
        scoring: Score of a run: "logit difference" of the clean answer minus the corrupted answer;
            "loss" of the clean answer, both in nats; "accuracy" (whether the clean answer is the
            likeliest); or a function of the model's output and the `Batch`, which returns one
            number per input.
        patch_into: Run that is patched. "corrupted": outputs of the clean run replace those of the
            corrupted run, which shows what suffices for the clean answer. "clean": the reverse
            shows what the clean answer needs.
        heads: Heads to patch: "all" heads, and each layer as a whole; "layers" only; or a head or a
            list of heads, each as (1, 3), "L1 H3" or a `Head`.
        by_position: Whether to patch every head at every single token as well; the pairs then need
            equal lengths.
        stack: Stack of the heads, as in `ablate`.
        progress: Whether to show a progress bar.

    Raises:
        TypeError: If `model` is no model or has no prediction head, the examples are texts for an
            encoder-decoder, or the examples have another type.
        ValueError: If numbers of tokens or answers of a pair do not fit; if there is no such score,
            run or head; if the model does not expose the values of its heads; or if the resume file
            belongs to another study.
        RuntimeError: If the model was closed, or changed during the study.
        OSError: If the resume file cannot be written.
        WorkersError: As in `measure`.
        KeyboardInterrupt: If Ctrl-C was pressed before the first pair was done. A later Ctrl-C ends
            the study, and the result has the finished pairs.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.interventions import patch_heads
        >>> clean = ("The woman said that [MASK] was late.", "she")
        >>> corrupted = ("The man said that [MASK] was late.", "he")
        >>> found = patch_heads(load_model(device="cpu"), clean, corrupted, progress=False)
        >>> found.of_heads.difference.shape, found.of_layers.difference.shape
        ((6, 12), (6,))
    """
    refuse_no_model(model)
    check_name(scoring, PATCH_SCORES)
    stack = studied_stack(model, stack)
    pairs = patch_pairs_of(
        model,
        clean,
        corrupted,
        scoring,
        into=patch_into,
        stack=stack,
    )
    longest, shortest = longest_and_shortest(pairs)
    if by_position and longest > shortest:
        raise ValueError(
            f"heads are patched token by token in inputs of one length, and these have {shortest} "
            f"to {longest} tokens: choose pairs of one length, or by_position=False"
        )
    with model.lock.in_turn():
        model.check_open()
        n_positions = longest if by_position else None
        units, shape = units_of(model, heads, positions=n_positions, stack=stack)
        study_key = {
            "units": digest_of(units),
            "scoring": score_name(scoring),
            "inputs": digest_of(pairs),
            "patch_into": patch_into,
        }
        numbers, complete, note = read_unit_scores(
            "patching",
            study_key,
            model,
            partial(patched_scores, units=units, score=scoring, into=patch_into, stack=stack),
            [[pair] for pair in pairs],
            progress=progress,
            unit="pair",
        )
    is_done = ~np.isnan(numbers).any(0)
    other, base, *unit_scores = numbers[:, is_done]
    head_scores, layer_scores, position_scores = scores_by_place(
        units, np.array(unit_scores), shape, longest
    )
    return HeadPatches(
        score=score_name(scoring),
        into=patch_into,
        clean=base if patch_into == "clean" else other,
        corrupted=other if patch_into == "clean" else base,
        head_scores=head_scores,
        layer_scores=layer_scores,
        position_scores=position_scores if by_position else None,
        tokens=pairs[0].tokens(model, stack),
        examples=tuple(pairs[index].originals for index in np.flatnonzero(is_done)),
        complete=complete,
        note=note,
        stack=stack,
        model_name=model.name,
    )
