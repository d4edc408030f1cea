"""Roles of the tokens of a chat with pictures and sounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from attnwidget.inputs.chat_text import Chat, ChatText
from attnwidget.inputs.text_ids import TextIds
from attnwidget.text.tokens import TEMPLATE, Tokens

#: Parts of a chat message that stand for a picture or a sound, by the type of the part.
PICTURES = ("image", "image_url")
SOUNDS = ("audio", "audio_url")
_UNKNOWN = "the roles of the tokens of this chat are not known"


@dataclass(frozen=True)
class MediaChat:
    """A chat with pictures or sounds, as the template of a processor writes it.

    The processor writes several tokens for each picture and sound, and changes no words between
    pictures. The text of the template therefore tells the roles of the words.

    Attributes:
        text: The text of the template, with one placeholder for each picture and sound.
        turns: The message of each placeholder, and its role.
        placeholders: The vocabulary entries that stand for a picture or a sound in the text.
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
        """Return the chat; None if the template does not show the places of the messages.

        Args:
            processor: A processor with a chat template.
            messages: Messages whose contents are lists of parts.
            placeholders: The vocabulary entries that stand for a picture or a sound.
            options: `tools` and `add_generation_prompt` of the template.
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
        """Return the tokens of the model's input with the role and the turn of each.

        Tokens of a picture have the role of the message with the picture. If the words of the
        template are not found among the tokens, or in several places, the tokens have no roles, and
        a remark says so.

        Args:
            tokens: The tokens of the input.
            texts: How texts become ids.
            axis: Function from ids to tokens.
        """
        ids = texts.alone(self.text.text)
        try:
            written = self.text.on(axis(ids), texts)
        except ValueError:
            return replace(tokens, remark=_UNKNOWN)
        marks = texts.tokenizer.convert_tokens_to_ids(list(self.placeholders))
        places = [i for i, token in enumerate(ids) if token in marks]
        cuts = list(pairwise([-1, *places, len(ids)]))
        parts = [ids[first + 1 : end] for first, end in cuts]
        found = None
        if len(places) == len(self.turns):
            around = _n_around(self.text.text, ids, texts)
            found = _places_of(parts, list(tokens.ids), around, _with_line_ends(texts.tokenizer))
        if found is None:
            return replace(tokens, remark=_UNKNOWN)
        roles = [TEMPLATE] * len(tokens)
        turns: list[int | None] = [None] * len(tokens)
        for (before, end), start in zip(cuts, found, strict=True):
            for i in range(end - before - 1):
                roles[start + i] = written.roles[before + 1 + i]
                turns[start + i] = written.turns[before + 1 + i]
        for number, (turn, role) in enumerate(self.turns):
            for i in range(found[number] + len(parts[number]), found[number + 1]):
                roles[i] = role
                turns[i] = turn
        return replace(tokens.in_chat(roles, turns), remark=self.text.remark)


def _without_media(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message whose pictures and sounds are named by their type alone."""
    kinds = (*PICTURES, *SOUNDS)
    parts = [
        {"type": part["type"]} if isinstance(part, Mapping) and part.get("type") in kinds else part
        for part in message["content"] or ()
    ]
    return {**message, "content": parts}


def _n_around(text: str, ids: Sequence[int], texts: TextIds) -> list[tuple[int, int]]:
    """Return the numbers of special tokens before and after a text that a processor may write."""
    whole = list(texts.tokenizer(text, verbose=False)["input_ids"])
    added = len(whole) - len(ids)
    for before in range(added + 1):
        if added > 0 and whole[before : before + len(ids)] == list(ids):
            return [(before, added - before), (0, 0)]
    return [(0, 0)]


# Whether a token of a part is within a longer token beside a picture: the token of the part, the
# longer token, and whether the picture comes after it.
_Merges = Callable[[int, int, bool], bool]
# White space in the entries of vocabularies.
_WHITE = " \n\t▁ĠĊĉ"


def _with_line_ends(tokenizer: Any) -> _Merges:
    """Return whether a token is the same as another with white space at the side of a picture.

    Some processors write line ends around a picture, as that of Gemma 3. The tokenizer joins them
    with the line ends of the text.
    """

    def is_within(part: int, found: int, before_picture: bool) -> bool:
        short, long = map(str, tokenizer.convert_ids_to_tokens([part, found]))
        rest = long.removeprefix(short) if before_picture else long.removesuffix(short)
        return rest != long and not rest.strip(_WHITE)

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
            one == other
            or (number > 0 and i == 0 and merges(one, other, False))
            or (number < count - 1 and i == len(part) - 1 and merges(one, other, True))
            for i, (one, other) in enumerate(zip(part, found, strict=True))
        )

    sizes = [len(part) for part in parts]
    for before, after in around:
        inner = list(ids[before : len(ids) - after])
        first = _first_places(sizes, inner, fits)
        if first is None:
            continue
        # From the end, each part stands as late as it can: there is one way if nothing changes.
        last = _first_places(
            sizes[::-1], inner[::-1], lambda number, found: fits(count - 1 - number, found[::-1])
        )
        ends = [len(inner) - start for start in (last or [])[::-1]]
        if ends != [start + size for start, size in zip(first, sizes, strict=True)]:
            return None
        return [before + start for start in first]
    return None


def _first_places(
    sizes: Sequence[int], ids: list[int], fits: Callable[[int, Sequence[int]], bool]
) -> list[int] | None:
    """Return the first place of each part after the part before it, from end to end of ids.

    At least one id, of a picture, stands between two parts. None = they cannot be placed.
    """
    *begun, last = sizes
    end = len(ids) - last
    starts: list[int] = []
    free = 0
    for number, size in enumerate(begun):
        # Only the first part stands at the beginning.
        places = range(free, end - size) if starts else range(1)
        start = next((at for at in places if fits(number, ids[at : at + size])), None)
        if start is None:
            return None
        starts.append(start)
        free = start + size + 1
    return [*starts, end] if free <= end and fits(len(begun), ids[max(end, 0) :]) else None
