"""Attention knockout: answers without the links to groups of tokens, in windows of layers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from attnwidget.capture.disabled import intact_edits
from attnwidget.capture.tapping.head import Head
from attnwidget.capture.tapping.replay import Replay
from attnwidget.corpus.argument_checks import one_of, refuse_no_model
from attnwidget.corpus.resume_file import digest_of
from attnwidget.corpus.resume_from import resume_from, resume_path
from attnwidget.inputs.example import StudyExample
from attnwidget.inputs.text_encoder import Encoded
from attnwidget.interventions.cut_answers import cut_unit
from attnwidget.interventions.examples import batch_of, encode_examples, originals_of
from attnwidget.interventions.knockout_result import OTHER, RANDOM, Knockout
from attnwidget.interventions.link_cuts import sees_nothing_later
from attnwidget.interventions.media_examples import attention_of
from attnwidget.interventions.unit_scores import read_unit_scores, unit_scores_of_inputs
from attnwidget.interventions.units import studied_stack
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.text.link_ends import LinkEnd, end_positions, listed_links
from attnwidget.text.tokens import Tokens
from attnwidget.text.whole_number import whole_number

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

#: Links of one example by position, for each group.
ExampleLinks = tuple[tuple[tuple[int, int], ...], ...]

_SCORES = ("probability", "loss", "accuracy")


@in_plain_torch
def knockout(
    model: AttentionModel,
    examples: Iterable[Any],
    to: Mapping[str, LinkEnd],
    *,
    from_: LinkEnd = "asked",
    window: int | None = None,
    other: bool = True,
    random_links: bool = True,
    scoring: Literal["probability", "loss", "accuracy"] = "probability",
    stack: str | None = None,
    seed: int = 0,
    resume: str | Path | None = None,
    progress: bool = True,
) -> Knockout:
    """Measure answers without the links to groups of tokens, in each window of layers.

    In all heads of a window of layers, the links from the token that answers to a group of tokens
    are cut: attention knockout (Geva et al. 2023). The window around each layer is cut in turn. The
    layers below a window are not run again.

    Two further groups are controls: all tokens that are in no group, and as many links as the first
    group has, between random other tokens.

    Args:
        model: Language model or classifier; heads may be disabled, and links scaled.
        examples: Examples with one answer each, as in `ablate`: (text, label), or (chat, label)
            with the next token; (picture, label), (sound, label), or ({"image": picture, "text":
            question}, word). For a masked language model, the label is the word at the mask token.
        to: Tokens that are looked at, by name of the group: an end as in
            `AttentionModel.scaled_links`, such as "role=system", "first token", a `Box` of a
            picture or a `Span` of a sound; or a list with an end for each example, such as the
            subjects of facts.
        from_: Tokens that look: "asked" for the token that answers, "all after" for all tokens
            after each token of the group, or an end as in `to`. A classifier answers at its first
            token, or at the last token if its tokens see no later tokens.
        window: Number of layers in a window, which is cut off at the first and the last layer.
            None = a fifth of the layers, at least one.
        other: Whether to cut the links to all visible tokens that are in no group.
        random_links: Whether to cut as many links as in the first group between random other
            tokens, once per example.
        scoring: Score of an answer: "probability" of the label, "loss" in nats, or "accuracy".
        stack: Stack of the heads; None = the only stack, or the language model of a model with
            towers. A model that hears needs one, such as "cross" for its links to the sound.
        seed: Seed of the random links.
        resume: File (.npz) for finished work. If it exists, the study continues from it.
        progress: Whether to show a progress bar.

    Raises:
        TypeError: As in `ablate`.
        ValueError: As in `ablate`; there is no group, a list has not one end per example, a group
            is not in an input, an example has several answers, or a picture has no token that
            answers, so that `from_` must name one.
        RuntimeError, OSError, WorkersError, KeyboardInterrupt: As in `ablate`.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.interventions import knockout
        >>> examples = [("The woman washed [MASK] hands.", "her"),
        ...             ("The man washed [MASK] hands.", "his")]
        >>> subjects = ["woman", "man"]
        >>> found = knockout(load_model(device="cpu"), examples, {"subject": subjects}, window=2,
        ...                  progress=False)
        >>> found.groups, found.scores.shape
        (('subject', 'other words', 'random links'), (6, 3, 2))
    """
    refuse_no_model(model)
    one_of("scoring", scoring, _SCORES)
    stack = studied_stack(model, stack)
    inputs = encode_examples(model, examples, stack=stack)
    _check_examples(inputs, scoring)
    counts = intact_edits(model.hf_model).heads_of[stack]
    size = max(1, len(counts) // 5) if window is None else whole_number("window", window, 1)
    windows = _windows(len(counts), size)
    names, ends = _groups(to, len(originals_of(inputs)))
    answers_last = _answers_last(model, stack)
    groups = [*names, *([OTHER] if other else []), *([RANDOM] if random_links else [])]
    plans = {
        example.index: _links(
            _link_tokens(model, example, stack, answers_last),
            f"example {example.index}",
            [end(example.index) for end in ends],
            from_,
            other=other,
            random_links=random_links,
            seed=[seed, example.index],
        )
        for example in inputs
    }
    with model.lock.in_turn(), resume_from(resume_path(resume)):
        numbers, complete, note = read_unit_scores(
            "knockout",
            {
                "windows": windows,
                "links": digest_of(sorted(plans.items())),
                "scoring": scoring,
                "inputs": digest_of(inputs),
                "stack": stack,
            },
            model,
            partial(
                knocked_out_scores,
                plans=plans,
                windows=[_heads(counts, window, stack) for window in windows],
                score="accuracy" if scoring == "accuracy" else "loss",
            ),
            [[example] for example in inputs],
            progress=progress,
            unit="example",
        )
    order = np.argsort([example.index for example in inputs])
    values = numbers[:, order]
    finished = np.flatnonzero(~np.isnan(values).any(0))
    if not len(finished):
        raise KeyboardInterrupt
    values = values[:, finished]
    if scoring == "probability":
        values = np.exp(-values)
    originals = originals_of(inputs)
    n_links = np.array([[len(links) for links in plans[int(index)]] for index in finished])
    return Knockout(
        groups=tuple(groups),
        windows=tuple(windows),
        intact=values[0],
        scores=values[1:].reshape(len(windows), len(groups), len(finished)),
        n_links=n_links.T,
        examples=tuple(originals[index] for index in finished),
        score=scoring,
        window=size,
        from_="the token that answers" if from_ == "asked" else str(from_),
        stack=stack,
        complete=complete,
        note=note,
        model_name=model.name,
    )


def knocked_out_scores(
    model: AttentionModel,
    replay: Replay,
    examples: Sequence[StudyExample],
    *,
    plans: Mapping[int, ExampleLinks],
    windows: Sequence[Sequence[Head]],
    score: str,
) -> Float64Array:
    """Return the scores of the intact model and of each window and group, [1 + W * G, 1].

    Args:
        model: Model from `load_model`.
        replay: Replay of the model's layers.
        examples: Batch of one example.
        plans: Links of each example, by its index.
        windows: Heads of each window.
        score: Score to compute.
    """
    (example,) = examples
    units = [
        cut_unit([((query,), (key,)) for query, key in links], heads)
        for heads in windows
        for links in plans[example.index]
    ]
    return unit_scores_of_inputs(replay, batch_of(model, [example]), units, score)


def _check_examples(inputs: Sequence[StudyExample], scoring: str) -> None:
    for example in inputs:
        if len(example.targets) != 1 or example.sign < 0:
            raise ValueError(
                f"example {example.index} has {len(example.targets)} answers: an example of "
                f"knockout must have one, (text, label), for scoring={scoring!r}"
            )


def _windows(n_layers: int, size: int) -> list[tuple[int, int]]:
    """Return the first and last layer of the window around each layer."""
    before = (size - 1) // 2
    return [
        (max(0, layer - before), min(n_layers - 1, layer - before + size - 1))
        for layer in range(n_layers)
    ]


def _heads(counts: Sequence[int], window: tuple[int, int], stack: str) -> tuple[Head, ...]:
    layers = range(window[0], window[1] + 1)
    return tuple(Head(layer, head, stack) for layer in layers for head in range(counts[layer]))


def _groups(to: Mapping[str, LinkEnd], count: int) -> tuple[list[str], list[Any]]:
    """Return the names of the groups, and functions from an example's index to its end."""
    if not isinstance(to, Mapping) or not to:
        raise ValueError(
            "to must have an end for each group, {'subject': subjects, 'last': 'last token'}; got "
            f"{to!r:.80}"
        )
    ends = []
    for name, end in to.items():
        if name in (OTHER, RANDOM):
            raise ValueError(f"{name!r} is the name of a control: choose another name in to=")
        if isinstance(end, list):
            if len(end) != count:
                raise ValueError(
                    f"to[{name!r}] has {len(end)} ends for {count} examples: a list must have one "
                    "end per example; pass several tokens of all examples as a tuple"
                )
            ends.append(list(end).__getitem__)
        else:
            ends.append(lambda _, end=end: end)
    return list(to), ends


class _LinkTokens(NamedTuple):
    """Tokens of one input between which links are cut.

    Attributes:
        query: Tokens that look.
        key: Tokens that are looked at.
        asked: Position of the token that answers; None without one.
        sees_later: Whether tokens see later tokens.
    """

    query: Tokens
    key: Tokens
    asked: int | None
    sees_later: bool

    @property
    def is_one_text(self) -> bool:
        """Whether tokens look at tokens of the same input."""
        return self.query is self.key or self.query == self.key


def _answers_last(model: AttentionModel, stack: str) -> bool:
    """Return whether tokens see no later tokens, so that the last token answers."""
    if stack != "self":
        return stack == "decoder"
    return sees_nothing_later(model)


def _link_tokens(
    model: AttentionModel, example: StudyExample, stack: str, answers_last: bool
) -> _LinkTokens:
    """Return the tokens of an example, with the token that answers."""
    encoded = example.encoded
    if isinstance(encoded, Encoded):
        query = key = encoded.tokens
    else:
        axes = attention_of(model, encoded).stacks[stack]
        query, key = axes.query, axes.key
    asked: int | None
    if example.places:
        # The tokens of towers and encoders are not those that answer.
        asked = example.places[0] if stack in ("self", "decoder", "cross") else None
    elif answers_last:
        asked = len(query) - 1
    else:
        # Some models of pictures answer from the mean of all patches.
        has_own_token = isinstance(encoded, Encoded) or query.special[0] != ""
        asked = 0 if has_own_token else None
    return _LinkTokens(query, key, asked, not answers_last)


def _links(
    tokens: _LinkTokens,
    what: str,
    ends: Sequence[LinkEnd],
    from_: LinkEnd,
    *,
    other: bool,
    random_links: bool,
    seed: Sequence[int],
) -> ExampleLinks:
    """Return the links of each group in one example, by position."""
    n_queries, n_keys = len(tokens.query), len(tokens.key)
    asked = tokens.asked
    keys = [_positions(what, "key", end, tokens.key) for end in ends]
    queries: tuple[int, ...] | Literal["all after"]
    if from_ == "all after":
        if not tokens.is_one_text:
            raise ValueError(
                "from_='all after' is the tokens after a token of the same text, and the links of "
                f"{what} go to another input: pass from_='asked' or from_='all'"
            )
        queries = "all after"
    elif from_ == "asked":
        if asked is None:
            raise ValueError(
                f"no token of {what} stands for the answer in this stack: pass from_='all' for the "
                "links of all tokens"
            )
        queries = (asked,)
    else:
        queries = _positions(what, "query", from_, tokens.query)

    def pairs(key_positions: Iterable[int]) -> tuple[tuple[int, int], ...]:
        return tuple(
            (query, key)
            for key in key_positions
            for query in (range(key + 1, n_queries) if queries == "all after" else queries)
            if isinstance(query, int) and (tokens.sees_later or key <= query)
        )

    links = [pairs(group) for group in keys]
    own = {asked} if tokens.is_one_text and asked is not None else set()
    taken = {key for group in keys for key in group} | own
    if other:
        links.append(pairs(key for key in range(n_keys) if key not in taken))
    if random_links:
        free = [
            (query, key)
            for query in range(n_queries)
            for key in range(n_keys if tokens.sees_later else query + 1)
            if (query != key or not tokens.is_one_text)
            and query != asked
            and (query, key) not in links[0]
        ]
        random = np.random.default_rng(list(seed))
        n_drawn = min(len(free), len(links[0]))
        drawn = random.permutation(len(free))[:n_drawn]
        links.append(tuple(free[int(index)] for index in sorted(drawn)))
    return tuple(links)


def _positions(what: str, name: str, end: LinkEnd, tokens: Any) -> tuple[int, ...]:
    (checked, _), *_ = listed_links([(end, 0)])
    positions = end_positions(f"the {name} of {what},", checked, tokens)
    if isinstance(positions, str):
        return tuple(range(len(tokens)))
    if max(positions) >= len(tokens):
        raise ValueError(
            f"{what} has {len(tokens)} tokens, and no position {max(positions)}: positions count "
            "from 0"
        )
    return positions
