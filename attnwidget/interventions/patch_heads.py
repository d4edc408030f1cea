"""Patching of heads: a head's output in one input, put into the pass over another input."""

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

    Activation patching (Vig et al. 2020; Meng et al. 2022; Wang et al. 2023). If a patched head
    brings the clean answer back, the head carries the difference between the inputs. The patched
    outputs are the sums of values before the output projection, token by token. Layers below a head
    do not run again: their outputs are kept from a pass over the corrupted input. The first pair is
    checked against passes of the whole model, to 1e-5 in float32.

    Args:
        model: A model with a head that answers.
        clean: (text, answer), (text, second text, answer), (picture, answer), (sound, answer), or a
            list of these, with pictures and sounds as in `measure`. The answer is a class, the word
            at the one mask token, or the next token, as in `ablate`.
        corrupted: The inputs to compare with, of as many tokens each, with their own answers.
        scoring: "logit difference" of the clean answer minus the corrupted answer; "loss" of the
            clean answer, both in nats; "accuracy" (the clean answer is the likeliest); or a
            function of the model's output and the `Batch`, which gives one number per input.
        patch_into: "corrupted": outputs of the clean run go into the corrupted run, and show what
            is enough for the clean answer. "clean": the reverse shows what the clean answer needs.
        heads: "all" heads, and each layer as a whole; "layers" only; or a head or a list of heads,
            each as (1, 3), "L1 H3" or a `Head`.
        by_position: Patch every head at every token by itself too; the pairs then have equal
            lengths.
        stack: Stack of the heads, as in `ablate`.
        progress: Show a progress bar.

    Raises:
        TypeError: No model, texts for an encoder-decoder, no head that answers, or other examples.
        ValueError: Pairs whose numbers of tokens or answers do not fit; no such score, run or head;
            a model that does not show the values of its heads; a resume file of another study.
        RuntimeError: The model was closed, or changed meanwhile.
        OSError: The resume file cannot be written.
        WorkersError: As in `measure`.
        KeyboardInterrupt: Ctrl-C before the first pair was done; later the result has the pairs
            that are done.

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
            f"to {longest} tokens: choose pairs of one length, or positions=False"
        )
    with model.lock.in_turn():
        model.check_open()
        of_tokens = longest if by_position else None
        units, shape = units_of(model, heads, positions=of_tokens, stack=stack)
        about = {
            "units": digest_of(units),
            "scoring": score_name(scoring),
            "inputs": digest_of(pairs),
            "patch_into": patch_into,
        }
        numbers, complete, note = read_unit_scores(
            "patching",
            about,
            model,
            partial(patched_scores, units=units, score=scoring, into=patch_into, stack=stack),
            [[pair] for pair in pairs],
            progress=progress,
            unit="pair",
        )
    done = ~np.isnan(numbers).any(0)
    other, base, *patched = numbers[:, done]
    of_heads, of_layers, of_positions = scores_by_place(units, np.array(patched), shape, longest)
    return HeadPatches(
        score=score_name(scoring),
        into=patch_into,
        clean=base if patch_into == "clean" else other,
        corrupted=other if patch_into == "clean" else base,
        head_scores=of_heads,
        layer_scores=of_layers,
        position_scores=of_positions if by_position else None,
        tokens=pairs[0].tokens(model, stack),
        examples=tuple(pairs[place].originals for place in np.flatnonzero(done)),
        complete=complete,
        note=note,
        stack=stack,
        model_name=model.name,
    )
