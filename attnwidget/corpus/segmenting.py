"""Conversion of study inputs to segments, with the tokenizer of the model that reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from attnwidget.corpus.argument_checks import refuse_no_model
from attnwidget.hidden_frames import hides_frames
from attnwidget.inputs.chat_text import Chat, Messages, as_chat, is_chat
from attnwidget.inputs.cut_segments import watched_segments
from attnwidget.inputs.input_list import each_input
from attnwidget.inputs.media_input import is_media, media_segments
from attnwidget.inputs.text_encoder import refuse_half_characters
from attnwidget.inputs.text_ids import TextIds
from attnwidget.text.counted import counted
from attnwidget.text.segments import Segment, cut_segments, read_lines, split_documents
from attnwidget.text.whole_number import whole_number

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

Documents = Iterable[Iterable[str]]

#: Types of a text, a pair of texts and a chat.
TEXTS = (str, tuple, list)


@hides_frames
def read_segments(
    source: str | Path | Iterable[str] | Documents,
    model: AttentionModel,
    *,
    max_tokens: int | None = None,
    limit: int | None = 1000,
    seed: int = 0,
    variant: Literal["paper", "released"] = "paper",
) -> list[Segment]:
    """Cut a corpus into text pairs, [CLS] A [SEP] B [SEP] (Clark et al. 2019, section 2).

    `cut_segments` describes the algorithm. The model's tokenizer determines the special tokens:
    RoBERTa has </s></s> between A and B, T5 has </s> after each text, GPT-2 has none. A and B are
    texts with line ends between paragraphs, which some vocabularies encode. If there is no special
    token between A and B, they are separated by a line end and form a single running text.

    Args:
        source: Path of a text file (UTF-8, plain or .gz) with one line per paragraph and an empty
            line between documents; an iterable of such lines; or an iterable of documents, each a
            list of paragraphs. Only the needed part is read.
        model: Model whose tokenizer is used and whose length limit applies.
        max_tokens: Number of tokens per segment, including special tokens; None = 128, or the
            model's limit if it is lower.
        limit: Largest number of segments; None = all.
        seed: Seed of the split points, the truncation and the order.
        variant: Treatment of incomplete text: "paper" keeps all text; "released" drops the same
            text as the code of Clark et al. This is the last document, if the file does not end
            with an empty line, and any text after a single paragraph that fills a segment.

    Returns:
        Segments with text A and text B, in random order.

    Raises:
        ValueError: The model has no tokenizer, `max_tokens` is above the model's limit or too small
            for a pair, or no segment was found.
        OSError: The file cannot be read.

    Example:
        >>> from attnwidget import load_model, read_segments
        >>> document = ["The captain spoke to his men.", "They would not leave the ship."]
        >>> read_segments([document], load_model(), max_tokens=12)[0].second
        ('not', 'leave', 'the', 'ship')
    """
    if variant not in ("paper", "released"):
        raise ValueError(f"variant must be 'paper' or 'released', got {variant!r}")
    text_ids = _text_ids(model)
    token_limit = model.length_limit.tokens
    if max_tokens is None:
        max_tokens = min(128, token_limit or 128)
    max_tokens = whole_number("max_tokens", max_tokens, 1)
    if limit is not None:
        limit = whole_number("limit", limit, 1, "segment")
    seed = whole_number("seed", seed, 0)
    if token_limit is not None and max_tokens > token_limit:
        raise ValueError(
            f"max_tokens is {max_tokens}; {model.length_limit.reads} {token_limit} at most"
        )
    segments = cut_segments(
        _documents(source, keep_last=variant == "paper"),
        max_tokens=max_tokens,
        n_special=text_ids.template(pair=True).n_special,
        limit=limit,
        seed=seed,
        at_least=2 if variant == "paper" else 1,
        size=lambda paragraph: len(_tokens(text_ids, paragraph)) if paragraph.strip() else 0,
        tokens=partial(_pair_tokens, text_ids),
    )
    if not segments:
        limit_hint = (
            f", the first of fewer than {max_tokens} tokens" if variant == "released" else ""
        )
        raise ValueError(
            f"no segment could be cut: every document needs two paragraphs or more, one a line"
            f"{limit_hint}; make_segments takes texts as they are"
        )
    return segments


@hides_frames
def make_segments(
    texts: Iterable[str | tuple[str, str] | Messages],
    model: AttentionModel,
    *,
    max_tokens: int | None = None,
    truncate: bool = False,
) -> list[Segment]:
    """Make segments from texts, text pairs or chats, in order.

    Args:
        texts: Strings, tuples of two strings, or chats: lists of messages, as in
            `AttentionModel.attend`.
        model: Model whose tokenizer is used and whose length limit applies.
        max_tokens: Number of tokens per segment, including special tokens; None = the model's
            limit.
        truncate: Whether to cut long inputs at the end of the longer text; otherwise, long inputs
            raise an error.

    Returns:
        One segment per input.

    Raises:
        ValueError: The model has no tokenizer, a text has no tokens or is too long, or a chat is
            not valid (see `AttentionModel.attend`).

    Example:
        >>> from attnwidget import load_model, make_segments
        >>> make_segments(["The cat sat.", ("Where is it?", "Here.")], load_model())[1].second
        ('here', '.')
    """
    refuse_no_model(model)
    texts = each_input(texts)
    if max_tokens is not None:
        max_tokens = whole_number("max_tokens", max_tokens, 1)
    # Refuse a model without a tokenizer even if there are no texts.
    _text_ids(model)
    return [
        _segment(as_chat(text), model, max_tokens, truncate, number)
        for number, text in enumerate(texts)
    ]


def study_segments(inputs: Iterable[Any], model: AttentionModel) -> Iterator[Segment]:
    """Return the inputs of a study as segments: either only texts, or only pictures and sounds.

    Args:
        inputs: Inputs as in `measure`; the first input decides between texts and media.
        model: Model that reads the inputs.

    Raises:
        TypeError, ValueError: See `each_input`, `media_segments` and `rows_as_segments`.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.corpus.segmenting import study_segments
        >>> from attnwidget.demo import drawn_shapes
        >>> segments = study_segments(drawn_shapes(2).images, load_model("attnwidget/shapes"))
        >>> [type(segment).__name__ for segment in segments]
        ['MediaSegment', 'MediaSegment']
    """
    return _of_one_kind(iter(each_input(inputs)), model)


def _of_one_kind(inputs: Iterator[Any], model: AttentionModel) -> Iterator[Segment]:
    """Return texts, or pictures and sounds, as segments; the first input decides between them."""
    first = list(islice(inputs, 1))
    inputs = chain(first, inputs)
    if not first or not is_media(first[0]):
        return rows_as_segments(watched_segments(inputs), model)
    return media_segments(inputs)


def rows_as_segments(rows: Iterable[Any], model: AttentionModel) -> Iterator[Any]:
    """Yield segments from texts or table rows.

    Texts, text pairs and chats are treated as in `make_segments`. A row, for example of a Hugging
    Face `datasets.Dataset`, is a mapping with "text", or with the columns of a `Segment`: "first",
    and optionally "second" and "document". A row with "messages" is a chat, with its "tools" if the
    row has them. Entries of other types are passed on unchanged.

    Args:
        rows: Texts or table rows.
        model: Model whose tokenizer is used and whose length limit applies.

    Raises:
        TypeError, ValueError: A row does not have these columns, or a text is not valid (see
            `make_segments`).
    """
    for number, row in enumerate(rows):
        yield _row_segment(_content_of(row, number), model, number)


def _content_of(row: Any, number: int) -> Any:
    """Return the segment, the chat or the text in a table row; other inputs are their content."""
    if not isinstance(row, Mapping):
        return as_chat(row)
    if "first" in row:
        parts = [row[key] or () for key in ("first", "second") if key in row]
        if any(isinstance(part, str) for part in parts):
            raise ValueError(
                f'row {number} has a text in "first", where tokens are: name it "text"'
            )
        return Segment(*map(tuple, parts), document=row.get("document"))
    if is_chat(row.get("messages")):
        return Chat.from_messages(row["messages"], row.get("tools"))
    if isinstance(text := row.get("text"), str):
        return text
    raise ValueError(
        f"row {number} has the columns {', '.join(map(str, row))}: a segment is made of a "
        'text in "text", of a chat in "messages", or of the tokens in "first" and "second"'
    )


def _row_segment(content: Any, model: AttentionModel, number: int) -> Any:
    """Return the segment of a text or a chat, and content of other types unchanged."""
    if not isinstance(content, (Chat, *TEXTS)):
        return content
    return _segment(content, model, None, False, number)


def _segment(
    text: Any, model: AttentionModel, max_tokens: int | None, truncate: bool, number: int
) -> Segment:
    """Return the segment of a text, a pair of texts or a `Chat`."""
    ids = _text_ids(model)
    if isinstance(text, Chat):
        return _of_chat(text, model, max_tokens, truncate, number)
    parts = _parts(text, number)
    pieces = [_tokens(ids, part) for part in parts]
    if not all(pieces):
        raise ValueError(
            f"text {number} has no tokens, or half of its pair has no tokens: leave the text out, "
            "or pass at least one word"
        )
    n_special = ids.template(pair=len(parts) == 2).n_special
    n_tokens = sum(map(len, pieces))
    limits = [n for n in (max_tokens, model.length_limit.tokens) if n is not None]
    if limits:
        _shorten(pieces, min(limits) - n_special, truncate, number)
    return Segment(*map(tuple, pieces), n_cut=n_tokens - sum(map(len, pieces)))


def _parts(text: Any, number: int) -> tuple[str, ...]:
    """Return one text, or the two texts of a pair."""
    if isinstance(text, str):
        return (text,)
    description = repr(text)[:60]
    if not isinstance(text, (list, tuple)) or not all(isinstance(part, str) for part in text):
        raise TypeError(
            f"text {number} must be a string, or a tuple of two strings for a pair, got "
            f"{description}"
        )
    if isinstance(text, list) and not any(len(part.split()) > 1 for part in text):
        raise TypeError(
            f"text {number} is a list of words, {description}: join its words with spaces, or pass "
            "two texts of a pair as a tuple"
        )
    if not 1 <= len(text) <= 2:
        raise ValueError(f"text {number} has {len(text)} parts: pass a string or a pair")
    return tuple(text)


def _of_chat(
    chat: Chat, model: AttentionModel, max_tokens: int | None, truncate: bool, number: int
) -> Segment:
    """Return the segment of a chat."""
    tokens = model.inputs.encoder(chat, truncate=truncate).tokens
    if max_tokens is not None and len(tokens) > max_tokens and not truncate:
        raise ValueError(
            f"chat {number} has {len(tokens)} tokens, max_tokens is {max_tokens}: leave out turns, "
            "raise max_tokens, or pass truncate=True"
        )
    return Segment(
        tokens.raw[:max_tokens],
        roles=tokens.roles[:max_tokens],
        turns=tokens.turns[:max_tokens],
        n_cut=tokens.n_cut + len(tokens.raw[len(tokens.raw[:max_tokens]) :]),
    )


def _shorten(pieces: list[list[str]], room: int, truncate: bool, number: int) -> None:
    """Remove tokens from the end of the longer text until both fit in `room`."""
    n_tokens = sum(map(len, pieces))
    if n_tokens > room and not truncate:
        raise ValueError(
            f"text {number} has {n_tokens} tokens, {room} fit beside the special ones: shorten it, "
            "raise max_tokens, or cut it with make_segments(texts, model, truncate=True)"
        )
    if room < len(pieces):
        raise ValueError(
            f"text {number} has {counted(len(pieces), 'part')}, and {max(room, 0)} tokens fit "
            "beside the special ones: raise max_tokens"
        )
    while sum(map(len, pieces)) > room:
        max(pieces, key=len).pop()


def _documents(
    source: str | Path | Iterable[str] | Documents, *, keep_last: bool
) -> Iterator[Iterable[str]]:
    """Yield documents as iterables of paragraphs, from any source of `read_segments`."""
    if isinstance(source, (str, Path)):
        yield from split_documents(read_lines(source), keep_last=keep_last)
        return
    entries: Iterator[Any] = iter(source)
    for first in entries:
        all_entries = chain([first], entries)
        yield from (
            split_documents(all_entries, keep_last=keep_last)
            if isinstance(first, str)
            else all_entries
        )


def _text_ids(model: AttentionModel) -> TextIds:
    """Return the conversion of texts to ids; raise ValueError if the model has no tokenizer."""
    refuse_no_model(model)
    if model.tokenizer is None:
        model.inputs.refuse_text()
        raise ValueError(
            f"this {type(model.hf_model).__name__} has no tokenizer to cut texts with: pass one to "
            "load_model(model, tokenizer)"
        )
    return model.texts


def _tokens(ids: TextIds, text: str) -> list[str]:
    """Return the vocabulary entries of a text, without special tokens."""
    refuse_half_characters(text, f"the text {text[:40]!a}")
    return ids.entries(ids.inside(text))


def _pair_tokens(
    ids: TextIds, first: Sequence[str], second: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the tokens of text A and text B, as the model reads them together."""
    text = "\n".join(first)
    if not second or ids.template(pair=True).between:
        return _tokens(ids, text), _tokens(ids, "\n".join(second)) if second else []
    # Without a special token between them, B continues the text of A.
    beginning = _tokens(ids, f"{text}\n")
    all_tokens = _tokens(ids, "\n".join([text, *second]))
    return all_tokens[: len(beginning)], all_tokens[len(beginning) :]
