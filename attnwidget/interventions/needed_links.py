"""Links that an answer needs: what the answer loses without each of them, next to the attention."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.cut_inputs import says_cuts
from attnwidget.capture.disabled import chosen_heads, intact_edits
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.resting_places import TIMES_EVEN, resting_places
from attnwidget.capture.model_reading import predicted_position, whole_reading_of
from attnwidget.capture.predict import class_answers, prediction_task, vocabulary_answers
from attnwidget.capture.scaled_links import LayerNames, heads_of_links
from attnwidget.capture.tapping.edit_methods import RULED
from attnwidget.capture.tapping.head import Head, HeadName
from attnwidget.capture.tapping.replay import Changes
from attnwidget.inputs.example import ExampleBatch
from attnwidget.inputs.model_tensors import is_of_text
from attnwidget.interventions.cut_answers import CutAnswers, cut_unit, cutting_links
from attnwidget.interventions.link_cuts import sees_nothing_later
from attnwidget.interventions.needed_links_result import NeededLinks
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.kernels.rank_correlation import spearman
from attnwidget.text.link_ends import AFTER, EndPositions
from attnwidget.text.place_of_token import TokenName, place_of_token
from attnwidget.text.tokens import Tokens
from attnwidget.text.whole_number import whole_number

if TYPE_CHECKING:
    from attnwidget.capture.maps.input_reading import Reading
    from attnwidget.capture.model import AttentionModel

_WHAT = "the need of a link"
# Least number of words whose order is compared.
_FEWEST = 4
#: Largest number of words whose links are cut one at a time.
MOST_WORDS = 64


@dataclass(frozen=True, eq=False)
class _Question:
    """A question about one input, and the words whose links may be cut.

    Attributes:
        batch: The input with the question.
        query: Position of the token that answers.
        position: Position of the token that is predicted.
        query_axis: Tokens of the queries.
        key_axis: Tokens of the keys.
        groups: Positions of each word that the answer may look at, without its own word.
        rows: Positions of each word that may look, with the word of the token that answers.
        columns: Positions of each word that may be looked at, with the same word.
        is_causal: Whether tokens only see earlier tokens.
        sees_later: Whether rows may look at later columns.
        is_masked: Whether a word of the text is masked to predict it.
        from_last_token: Whether the last token of a causal text answers, so that it can run
            separately.
    """

    batch: ExampleBatch
    query: int
    position: int
    query_axis: Tokens
    key_axis: Tokens
    groups: list[list[int]]
    rows: list[list[int]]
    columns: list[list[int]]
    is_causal: bool
    sees_later: bool
    is_masked: bool
    from_last_token: bool


@in_plain_torch
@says_cuts
def needed_links(
    attention: Attention,
    answer: str | int | None = None,
    *,
    position: TokenName | None = None,
    heads: HeadName | Iterable[HeadName] | None = None,
    layers: LayerNames | None = None,
    stack: str | None = None,
    shown: HeadName | Iterable[HeadName] | None = None,
    queries: Literal["asked", "later", "each"] = "asked",
    by: Literal["word", "token"] = "word",
    n_random_links: int = 8,
    seed: int = 0,
    stopped: Callable[[], bool] = lambda: False,
    on_pass: Callable[[NeededLinks], None] | None = None,
) -> NeededLinks:
    """Measure what an answer loses without each link, next to the attention of the link.

    The token that answers is the mask token of a masked model, the last token before the predicted
    one in a causal model, and the first token of a classifier, or its last token if tokens see no
    later tokens. For each other word, all links from
    this token to the word are cut (attention knockout, Geva et al. 2023), and the probability of
    the answer is computed again. The agreement is Spearman's correlation over words between the
    attention from this token and the need, without special tokens and tokens on which attention
    rests.

    Two controls show what an agreement means. The attention of the other words is compared with the
    same need. Links between other words, with about the same attention as the most attended links,
    are cut at random positions.

    The words are passes of one batch. If the last token of a causal model answers, only this token
    runs again for each word. Cuts in upper layers run only these layers again. A masked model
    predicts a word of the text in a pass with this word masked, and the attention is that of this
    pass, not that of `attention`.

    Args:
        attention: Attention of a model with a prediction head. Heads that are off stay off.
        answer: Answer, in the spelling of `AttentionModel.predict`, or its id; None = the most
            likely answer.
        position: Token to predict, by position or word; None = the mask token, the token after the
            text, or the class.
        heads: Heads in which links are cut, as in `scaled_links`; None for the heads of `layers`,
            or all heads.
        layers: Layers in whose heads links are cut.
        stack: Stack of the links, needed only if there are several: "cross" or "decoder".
        shown: Heads whose mean attention is compared; None = all heads of the stack.
        queries: "asked" cuts the links from the token that answers. "later" cuts the links from all
            tokens after the word, so that no later token can look at it; for causal models. "each"
            also cuts every single link of the text, from each word to each word, for `need_map`: up
            to 64 words, with a pass per link, in batches.
        by: "word" cuts all tokens of a word together, "token" each token.
        n_random_links: Number of links that are cut at random positions; 0 for none. In causal
            models, each needs a complete pass.
        seed: Seed of the random positions.
        stopped: Function that is called between passes; if it returns True, the words that are left
            have NaN.
        on_pass: Function that receives the result after each pass, with NaN for words that are
            left; first the attention, and NaN for all words.

    Raises:
        TypeError: The model has no head that predicts words or classes.
        ValueError: There is no such answer, position, head, layer or stack; the attention comes
            from given weights or a long input; there is padding; or there are more than 64 words
            for `queries="each"`.
        RuntimeError: The weights of the model have changed since, or the call is in a block of
            `disabled` or `scaled_links`.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.interventions import needed_links
        >>> text = "The captain told his men that [MASK] would not leave the ship."
        >>> needs = needed_links(load_model(device="cpu").attend(text))
        >>> needs.answer, needs.words[6], needs.attention[6].round(2), needs.need[6].round(2)
        ('he', 'that', np.float64(0.07), np.float64(0.33))
    """
    n_random_links = whole_number("n_random_links", n_random_links, 0)
    for name, value, names in (
        ("queries", queries, ("asked", "later", "each")),
        ("by", by, ("word", "token")),
    ):
        if value not in names:
            *others, last = map(repr, names)
            raise ValueError(f"{name} must be {', '.join(others)} or {last}, got {value!r}")
    reading = whole_reading_of(attention.intact, _WHAT)
    model: Any = reading.model
    cut_heads = heads_of_links(intact_edits(model.hf_model), heads, layers, stack)
    stack = cut_heads[0].stack
    question = _question(model, reading, attention, position, stack, by)
    if queries == "later" and not question.is_causal:
        raise ValueError(
            f"queries='later' is of causal models, and tokens of {attention.intact.model_name} "
            "look in both directions: pass queries='asked'"
        )
    links = _all_links(question) if queries == "each" else {}
    shown_heads = (
        _all_heads(model, stack)
        if shown is None
        else chosen_heads(intact_edits(model.hf_model), shown, None, stack)
    )
    edited = reading.edited(
        attention.disabled_heads, attention.disabled_method, attention.link_edits
    )
    from_last_token = question.from_last_token and queries != "later"
    with (
        edited,
        cutting_links(model, question.batch, shown_heads, from_last_token=from_last_token) as cut,
    ):
        answer_id, answer_name = _answer(model, cut, answer)
        units = [
            cut_unit(
                [(AFTER if queries == "later" else (question.query,), tuple(group))], cut_heads
            )
            for group in question.groups
        ]
        before = float(cut.asked.log_probabilities[answer_id].exp())
        rows = _word_rows(cut.asked.attention, question)
        own_row = _own_row(cut.asked.attention, question)
        compared = _compared(attention, question, own_row)
        pairs = _random_pairs(rows, own_row, question, compared, n_random_links, seed)
        result = NeededLinks(
            words=_texts(question.key_axis, question.groups),
            positions=tuple(tuple(group) for group in question.groups),
            attention=own_row,
            need=np.full(len(units), np.nan),
            compared=compared,
            answer=answer_name,
            probability=before,
            query=question.query_axis.text[question.query].strip(),
            query_position=question.query,
            position=question.position,
            asked_by_mask=question.is_masked,
            agreement=np.nan,
            control=np.nan,
            random_attention=np.array([weight for _, weight in pairs]),
            random_need=np.full(len(pairs), np.nan),
            n_heads=len(shown_heads),
            cut_in=_cut_in(model, cut_heads),
            queries=queries,
            map_words=_texts(question.query_axis, question.rows) if links else (),
            map_columns=_texts(question.key_axis, question.columns) if links else (),
            need_map=_need_map(question, links, np.full(len(links), np.nan)) if links else None,
            complete=not units and not links,
            model_name=model.name,
        )

        def result_of(after: Float64Array) -> NeededLinks:
            need = before - after
            agreement, control = _agreements(rows, own_row, need, compared, question)
            return replace(
                result,
                need=need,
                agreement=agreement,
                control=control,
                complete=not links and not np.isnan(need).any(),
            )

        if on_pass is not None:
            on_pass(result)
        passes = _collected(cut, units, answer_id, stopped, from_last_token=from_last_token)
        for after in passes:
            result = result_of(after)
            if on_pass is not None and not result.complete:
                on_pass(result)
        link_units = [cut_unit([link], cut_heads) for link in links.values()]
        for after in _collected(cut, link_units, answer_id, stopped):
            result = replace(
                result,
                need_map=_need_map(question, links, before - after),
                complete=not np.isnan([*result.need, *after]).any(),
            )
            if on_pass is not None and not result.complete:
                on_pass(result)
        random_units = [cut_unit([link], cut_heads) for link, _ in pairs]
        for after in _collected(cut, random_units, answer_id, stopped):
            result = replace(result, random_need=before - after)
    return result


def _question(
    model: AttentionModel,
    reading: Reading[Attention],
    attention: Attention,
    position: TokenName | None,
    stack: str,
    by: str,
) -> _Question:
    """Return the question, with causal texts cut after the token that answers."""
    task = prediction_task(model.hf_model)
    if stack == "encoder" and task == "next":
        raise ValueError(
            "the decoder gives the answer: pass stack='cross' for its links to the encoder, or "
            "stack='decoder'"
        )
    if task == "span":
        raise TypeError(
            f"{type(model.hf_model).__name__} answers with spans of the text, and needed_links is "
            "about words, labels and classes"
        )
    axes = attention.stacks.get(stack)
    if axes is None:
        names = ", ".join(map(repr, attention.stacks))
        raise ValueError(f"the attention has no stack {stack!r}, but {names}: pass stack=...")
    place: int | None = None
    if task == "next" and position == len(axes.query):
        place = len(axes.query)
    elif position is not None:
        place = place_of_token("position", position, axes.query)
    is_causal = not model.inputs.encodes_apart and sees_nothing_later(model)
    if task == "class":
        last = len(axes.query) - 1
        asked = place if place is not None else last if is_causal else 0
        question, query = model.question(reading.inputs, 0, reading.tokens), asked
    else:
        if place is None and model.inputs.encodes_apart:
            place = len(axes.query)
        asked = predicted_position(reading, model, place, "position='he'")
        question = model.question(reading.inputs, asked, reading.tokens)
        query = question.places[0]
    inputs = question.encoded
    is_ruled = bool(attention.disabled_heads) and attention.disabled_method == RULED
    if is_causal and task == "next" and all(map(is_of_text, inputs)) and not is_ruled:
        # Later tokens do not change the answer, but a rule has the links of the whole text.
        inputs = {name: value[:, : query + 1] for name, value in inputs.items()}
        question = replace(question, encoded=inputs)
    batch = ExampleBatch(inputs, (replace(question, targets=()),))
    groups = axes.key.word_groups() if by == "word" else [[i] for i in range(len(axes.key))]
    own = set() if axes.key is not axes.query and stack == "cross" else {query}
    if is_causal or stack == "decoder":
        groups = [[i for i in group if i <= query] for group in groups]
    columns = [group for group in groups if group]
    rows = axes.query.word_groups() if by == "word" else [[i] for i in range(len(axes.query))]
    if task == "next":
        # Later tokens of the text that is continued do not change the answer.
        rows = [[i for i in group if i <= query] for group in rows]
    rows = [group for group in rows if group]
    groups = [group for group in columns if not own & set(group)]
    masked = "input_ids" in inputs and task == "masked"
    is_masked = masked and not bool((inputs["input_ids"] == reading.inputs["input_ids"]).all())
    return _Question(
        batch=batch,
        query=query,
        position=asked,
        query_axis=axes.query,
        key_axis=axes.key,
        groups=groups,
        rows=rows,
        columns=columns,
        is_causal=is_causal,
        sees_later=not is_causal and stack != "decoder",
        is_masked=is_masked,
        from_last_token=is_causal
        and task == "next"
        and inputs.keys() <= {"input_ids", "attention_mask"}
        and query == inputs["input_ids"].shape[1] - 1,
    )


def _all_links(
    question: _Question,
) -> dict[tuple[int, int], tuple[EndPositions, EndPositions]]:
    """Return the links between all words, by row and column of `need_map`.

    Raises:
        ValueError: There are too many words.
    """
    rows, columns = question.rows, question.columns
    count = max(len(rows), len(columns))
    if count > MOST_WORDS:
        raise ValueError(
            f"queries='each' cuts the links of a text of up to {MOST_WORDS} words, and this text "
            f"has {count}: shorten it, or pass queries='asked'"
        )
    return {
        (i, j): (tuple(row), tuple(column))
        for i, row in enumerate(rows)
        for j, column in enumerate(columns)
        if question.sees_later or column[0] <= row[-1]
    }


def _need_map(
    question: _Question, links: Iterable[tuple[int, int]], need: Float64Array
) -> Float64Array:
    """Return the need of each link at its row and column; NaN for links that do not exist."""
    cells = np.full((len(question.rows), len(question.columns)), np.nan)
    for (row, column), value in zip(links, need, strict=True):
        cells[row, column] = value
    return cells


def _all_heads(model: AttentionModel, stack: str) -> list[Head]:
    counts = intact_edits(model.hf_model).heads_of[stack]
    return [Head(layer, head, stack) for layer, n in enumerate(counts) for head in range(n)]


def _answer(model: Any, cut: CutAnswers, answer: str | int | None) -> tuple[int, str]:
    """Return the id and the text of the answer."""
    size = len(cut.asked.log_probabilities)
    is_class = prediction_task(model.hf_model) in ("class", "label")
    answers = (
        class_answers(model.hf_model.config)
        if is_class
        else vocabulary_answers(model.tokenizer, size)
    )
    if answer is None:
        index = int(cut.asked.log_probabilities.argmax())
    else:
        index = answers.index(answer, "classes" if is_class else "vocabulary entries")
    return index, answers.spelt([index])[0][0].strip()


def _collected(
    cut: CutAnswers,
    units: Sequence[Changes],
    answer: int,
    stopped: Callable[[], bool],
    *,
    from_last_token: bool = False,
) -> Iterator[Float64Array]:
    """Yield the probability of the answer with each unit changed, with NaN for units left out.

    The array is yielded after each pass.
    """
    values = np.full(len(units), np.nan)
    steps = cut.probabilities(units, answer, from_last_token=from_last_token, stopped=stopped)
    for start, stop, probabilities in steps:
        values[start:stop] = probabilities
        yield values.copy()


def _word_rows(attention: Float64Array, question: _Question) -> Float64Array:
    """Return the attention from each key word's last token to each key word, [W, W].

    NaN if the keys are no queries.
    """
    groups = question.groups
    if question.key_axis is not question.query_axis and len(attention) != attention.shape[1]:
        return np.full((len(groups), len(groups)), np.nan)
    return np.array([_to_words(attention[group[-1]], groups) for group in groups])


def _own_row(attention: Float64Array, question: _Question) -> Float64Array:
    """Return the attention from the token that answers to each word, [W]."""
    return _to_words(attention[question.query], question.groups)


def _to_words(row: Float64Array, groups: Sequence[Sequence[int]]) -> Float64Array:
    return np.array([row[list(group)].sum() for group in groups])


def _compared(
    attention: Attention, question: _Question, own_row: Float64Array
) -> NDArray[np.bool_]:
    """Return whether each word's order is compared: no special token, and no resting place.

    The first token of a text without [CLS] is a resting place if most heads rest on it, or if the
    token that answers gives it three times the even share.
    """
    special = question.key_axis.special
    rests = "first" in resting_places(attention).kinds
    n_visible = question.query + 1 if question.is_causal else len(question.key_axis)
    return np.array(
        [
            not special[group[0]]
            or (special[group[0]] == "first" and not rests and weight < TIMES_EVEN / n_visible)
            for group, weight in zip(question.groups, own_row, strict=True)
        ]
    )


def _agreements(
    rows: Float64Array,
    own_row: Float64Array,
    need: Float64Array,
    compared: NDArray[np.bool_],
    question: _Question,
) -> tuple[float, float]:
    """Return the agreement of attention and need, and the mean agreement of other words."""
    chosen = np.flatnonzero(compared & ~np.isnan(need))
    if len(chosen) < _FEWEST:
        return float("nan"), float("nan")
    agreement = float(spearman(own_row[chosen], need[chosen]))
    others = []
    for word in chosen:
        last = question.groups[word][-1]
        keys = [
            key
            for key in chosen
            if key != word and (not question.is_causal or question.groups[key][-1] < last)
        ]
        if len(keys) >= _FEWEST and not np.isnan(rows[word, keys]).any():
            others.append(float(spearman(rows[word, keys], need[keys])))
    values = np.array(others)
    values = values[~np.isnan(values)]
    return agreement, float(values.mean()) if len(values) else float("nan")


def _random_pairs(
    rows: Float64Array,
    own_row: Float64Array,
    question: _Question,
    compared: NDArray[np.bool_],
    count: int,
    seed: int,
) -> list[tuple[tuple[EndPositions, EndPositions], float]]:
    """Return links between other words, each with its attention, like the most attended links."""
    words = np.flatnonzero(compared)
    strongest = words[np.argsort(-own_row[words], kind="stable")][:count]
    random = np.random.default_rng(seed)
    pairs: list[tuple[tuple[EndPositions, EndPositions], float]] = []
    for word in strongest:
        queries = random.permutation(words)
        for query in queries:
            last = question.groups[query][-1]
            keys = [
                key
                for key in words
                if key != query and (not question.is_causal or question.groups[key][-1] < last)
            ]
            if keys and not np.isnan(rows[query, keys]).any():
                distances = np.abs(np.log(rows[query, keys] + 1e-9) - np.log(own_row[word] + 1e-9))
                key = keys[int(distances.argmin())]
                link = (tuple(question.groups[query]), tuple(question.groups[key]))
                pairs.append((link, float(rows[query, key])))
                break
    return pairs


def _texts(tokens: Tokens, groups: Sequence[Sequence[int]]) -> tuple[str, ...]:
    """Return the text of each word."""
    words = {
        tuple(group): text
        for group, text in zip(tokens.word_groups(), tokens.to_words().text, strict=True)
    }
    return tuple(
        words.get(tuple(group), "".join(tokens.text[i] for i in group)).strip() for group in groups
    )


def _cut_in(model: AttentionModel, heads: Sequence[Head]) -> str:
    """Return the heads in which links are cut, as captions name them."""
    edits = intact_edits(model.hf_model)
    return edits.named(heads)
