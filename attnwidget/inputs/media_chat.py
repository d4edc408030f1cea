"""Token roles in a chat with pictures and sounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from attnwidget.inputs.chat_text import Chat, ChatText
from attnwidget.inputs.text_ids import TextIds
from attnwidget.text.tokens import TEMPLATE, Tokens

#: Types of chat message parts that contain a picture or a sound.
PICTURES = ("image", "image_url")
SOUNDS = ("audio", "audio_url")
_UNKNOWN = "the roles of the tokens of this chat are not known"


@dataclass(frozen=True)
class MediaChat:
    """A chat with pictures or sounds, as written by the template of a processor.

    The processor writes several tokens for each picture and sound, and changes no words between
    pictures. The roles of the words therefore follow from the template's text.

    Attributes:
        text: Text of the template, with one placeholder for each picture and sound.
        turns: Message index and role of each placeholder.
        placeholders: Vocabulary entries that represent a picture or a sound in the text.
    """

    text: ChatText
    turns: tuple[tuple[int, str], ...]
    placeholders: tuple[str, ...]

    @classmethod
    def from_messages(
        cls,
        processor: Any,
        messages: Sequence[Mapping[str, Any]],
        placeholders: Sequence[str],
        options: Mapping[str, Any],
    ) -> MediaChat | None:
        """Return the chat; None if the template does not show the positions of the messages.

        Args:
            processor: Processor with a chat template.
            messages: Messages whose contents are lists of parts.
            placeholders: Vocabulary entries that represent a picture or a sound.
            options: Options `tools` and `add_generation_prompt` of the template.
        """
        plain = [_without_media(message) for message in messages]
        tools = options.get("tools")
        chat = Chat(
            tuple(plain),
            None if tools is None else tuple(tools),
            options.get("add_generation_prompt"),
        )
        try:
            text = ChatText.from_chat(processor, chat)
        except (ValueError, KeyError):
            return None
        turns = tuple(
            (turn, str(message.get("role")))
            for turn, message in enumerate(plain)
            for part in message["content"] or ()
            if isinstance(part, Mapping) and part.get("type") in (*PICTURES, *SOUNDS)
        )
        return cls(text, turns, tuple(placeholders))

    def on(self, tokens: Tokens, texts: TextIds, axis: Callable[[Sequence[int]], Tokens]) -> Tokens:
        """Return the tokens of the model's input, each with its role and turn.

        Picture tokens have the role of the message with the picture. If the template's words are
        not found among the tokens, or in several positions, the tokens have no roles, and a remark
        says so.

        Args:
            tokens: Tokens of the input.
            texts: Converter of texts to ids.
            axis: Function from ids to tokens.
        """
        ids = texts.alone(self.text.text)
        try:
            template_tokens = self.text.on(axis(ids), texts)
        except ValueError:
            return replace(tokens, remark=_UNKNOWN)
        marks = texts.tokenizer.convert_tokens_to_ids(list(self.placeholders))
        positions = [i for i, token in enumerate(ids) if token in marks]
        cuts = list(pairwise([-1, *positions, len(ids)]))
        parts = [ids[first + 1 : end] for first, end in cuts]
        starts = None
        if len(positions) == len(self.turns):
            n_special = _n_around(self.text.text, ids, texts)
            starts = _places_of(
                parts, list(tokens.ids), n_special, _with_line_ends(texts.tokenizer)
            )
        if starts is None:
            return replace(tokens, remark=_UNKNOWN)
        roles = [TEMPLATE] * len(tokens)
        turns: list[int | None] = [None] * len(tokens)
        for (previous, end), start in zip(cuts, starts, strict=True):
            for i in range(end - previous - 1):
                roles[start + i] = template_tokens.roles[previous + 1 + i]
                turns[start + i] = template_tokens.turns[previous + 1 + i]
        for number, (turn, role) in enumerate(self.turns):
            for i in range(starts[number] + len(parts[number]), starts[number + 1]):
                roles[i] = role
                turns[i] = turn
        return replace(tokens.in_chat(roles, turns), remark=self.text.remark)


def _without_media(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message in which pictures and sounds are represented only by their type."""
    kinds = (*PICTURES, *SOUNDS)
    parts = [
        {"type": part["type"]} if isinstance(part, Mapping) and part.get("type") in kinds else part
        for part in message["content"] or ()
    ]
    return {**message, "content": parts}


def _n_around(text: str, ids: Sequence[int], texts: TextIds) -> list[tuple[int, int]]:
    """Return possible numbers of special tokens that a processor writes before and after a text."""
    with_special = list(texts.tokenizer(text, verbose=False)["input_ids"])
    n_added = len(with_special) - len(ids)
    for n_before in range(n_added + 1):
        if n_added > 0 and with_special[n_before : n_before + len(ids)] == list(ids):
            return [(n_before, n_added - n_before), (0, 0)]
    return [(0, 0)]


# Function that returns whether a token of a part is within a longer token next to a picture. Its
# arguments are the part's token, the longer token, and whether the picture comes after it.
_Merges = Callable[[int, int, bool], bool]
# White space in vocabulary entries.
_WHITE = " \n\t▁ĠĊĉ"


def _with_line_ends(tokenizer: Any) -> _Merges:
    """Return a function that compares tokens, ignoring white space on the side of a picture.

    Some processors, such as Gemma 3's, write line breaks around a picture. The tokenizer joins them
    with the text's own line breaks.
    """

    def is_within(part: int, found: int, before_picture: bool) -> bool:
        short, long = map(str, tokenizer.convert_ids_to_tokens([part, found]))
        remainder = long.removeprefix(short) if before_picture else long.removesuffix(short)
        return remainder != long and not remainder.strip(_WHITE)

    return is_within


def _places_of(
    parts: Sequence[Sequence[int]],
    ids: Sequence[int],
    around: Sequence[tuple[int, int]],
    merges: _Merges = lambda part, found, before_picture: False,
) -> list[int] | None:
    """Return where each part begins among ids, with a picture between two parts.

    The result is None unless there is exactly one way to place the parts.
    """
    count = len(parts)

    def fits(number: int, found: Sequence[int]) -> bool:
        part = parts[number]
        return len(part) == len(found) and all(
            part_id == found_id
            or (number > 0 and i == 0 and merges(part_id, found_id, False))
            or (number < count - 1 and i == len(part) - 1 and merges(part_id, found_id, True))
            for i, (part_id, found_id) in enumerate(zip(part, found, strict=True))
        )

    sizes = [len(part) for part in parts]
    for n_before, n_after in around:
        inner = list(ids[n_before : len(ids) - n_after])
        first = _first_places(sizes, inner, fits)
        if first is None:
            continue
        # From the end, place each part as late as possible. If nothing changes, the way is unique.
        last = _first_places(
            sizes[::-1], inner[::-1], lambda number, found: fits(count - 1 - number, found[::-1])
        )
        ends = [len(inner) - start for start in (last or [])[::-1]]
        if ends != [start + size for start, size in zip(first, sizes, strict=True)]:
            return None
        return [n_before + start for start in first]
    return None


def _first_places(
    sizes: Sequence[int], ids: list[int], fits: Callable[[int, Sequence[int]], bool]
) -> list[int] | None:
    """Return the first possible position of each part after the previous part; None if none fits.

    The parts span all ids. At least one id, of a picture, is between two parts.
    """
    *leading, last = sizes
    end = len(ids) - last
    starts: list[int] = []
    next_free = 0
    for number, size in enumerate(leading):
        # Only the first part is at the beginning.
        candidates = range(next_free, end - size) if starts else range(1)
        start = next(
            (position for position in candidates if fits(number, ids[position : position + size])),
            None,
        )
        if start is None:
            return None
        starts.append(start)
        next_free = start + size + 1
    return [*starts, end] if next_free <= end and fits(len(leading), ids[max(end, 0) :]) else None
