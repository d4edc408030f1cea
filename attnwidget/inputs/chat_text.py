"""Chats as written by the tokenizer's chat template, with the position of each message."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from typing import Any

from attnwidget.inputs.text_ids import TextIds
from attnwidget.text.counted import counted
from attnwidget.text.tokens import TEMPLATE, Tokens

Messages = Sequence[Mapping[str, Any]]

ASSISTANT = "assistant"
# A text that a template writes unchanged: it has no spaces to strip, and no characters that JSON or
# HTML would escape.
_MARK = "Xq0vXq"
_WITHOUT_TURNS = (
    "pass tokenizer.apply_chat_template(..., tokenize=False) to read the text without turns"
)
_TEXT_FIELDS = ("content", "reasoning_content", "reasoning", "thinking")


@dataclass(frozen=True)
class Chat:
    """List of messages, with the options of the chat template.

    Attributes:
        messages: Messages, each with a "role" and a "content".
        tools: Tools for the template; None for no tools.
        add_generation_prompt: Whether the template writes the beginning of the assistant's answer;
            None for True unless the last message is the assistant's.
        continues: Whether the model continues a last message of the assistant.

    Example:
        >>> from attnwidget.inputs.chat_text import Chat
        >>> Chat.from_messages([{"role": "user", "content": "Hi"}]).opens
        True
    """

    messages: tuple[Mapping[str, Any], ...]
    tools: tuple[Any, ...] | None = None
    add_generation_prompt: bool | None = None
    continues: bool = False

    @classmethod
    def from_messages(
        cls,
        messages: Messages,
        tools: Sequence[Any] | None = None,
        add_generation_prompt: bool | None = None,
        *,
        continues: bool = False,
    ) -> Chat:
        """Return the chat with these messages, after checking them.

        Raises:
            ValueError: A message has no role, its content is not text, or it has neither content
                nor tool calls.
        """
        for number, message in enumerate(messages):
            _check_message(number, message)
        tool_list = None if tools is None else tuple(tools)
        return cls(tuple(messages), tool_list, add_generation_prompt, continues)

    @property
    def opens(self) -> bool:
        """Whether the template writes the beginning of the assistant's answer."""
        if self.add_generation_prompt is not None:
            return self.add_generation_prompt
        return self.messages[-1]["role"] != ASSISTANT

    @property
    def goes_on(self) -> bool:
        """Whether the last message stays open, so that the model continues it."""
        is_last = self.messages[-1]["role"] == ASSISTANT
        return self.continues and self.add_generation_prompt is None and is_last


def is_chat(text: object) -> bool:
    """Return whether an input is a list of messages.

    Example:
        >>> from attnwidget.inputs.chat_text import is_chat
        >>> is_chat([{"role": "user", "content": "Hi"}]), is_chat(["Hi"])
        (True, False)
    """
    if not isinstance(text, (list, tuple)) or not text:
        return False
    return all(isinstance(message, Mapping) for message in text)


def as_chat(
    text: Any,
    tools: Sequence[Any] | None = None,
    add_generation_prompt: bool | None = None,
    *,
    continues: bool = False,
) -> Any:
    """Return a list of messages as a `Chat`, and any other input unchanged.

    Raises:
        ValueError: As in `Chat.from_messages`.
        TypeError: Options of the chat template were passed with an input that is not a chat.
    """
    if is_chat(text):
        return Chat.from_messages(text, tools, add_generation_prompt, continues=continues)
    options = {"tools": tools, "add_generation_prompt": add_generation_prompt}
    if option_names := [name for name, value in options.items() if value is not None]:
        raise TypeError(
            f"{option_names[0]} goes with a chat, a list of messages such as "
            '{"role": "user", "content": "Hi"}; '
            f"got {type(text).__name__}"
        )
    return text


@dataclass(frozen=True)
class _Place:
    """Characters that a template writes for a part of a message."""

    start: int
    end: int
    turn: int
    role: str


@dataclass(frozen=True)
class ChatText:
    """Text of a chat, with message positions.

    Attributes:
        text: Text that the template writes, including special tokens.
        places: Characters for each part of a message, in text order.
        next_turn: Index of the message that a model writes after the text.
        remark: Parts of messages that the template leaves out, in words; otherwise "".
    """

    text: str
    places: tuple[_Place, ...]
    next_turn: int
    remark: str = ""

    @classmethod
    def from_chat(cls, tokenizer: Any, chat: Chat) -> ChatText:
        """Return the text of a chat, with its messages located in the text.

        The template runs once for the text, and once more for each part of a message, with a mark
        in place of the part. The characters that differ belong to the part, even if the template
        strips, moves or shortens it. If a part changes the text around it, its characters are found
        by their own text.

        Raises:
            ValueError: There is no template, it refuses the messages, the position of a message is
                unknown, or the message to continue is not at the end of the text.
        """
        write = _Writer(tokenizer, chat)
        messages = write.form()
        text = write(messages)
        mark = _MARK
        while mark in text:
            mark += "Xq"
        message_parts: list[_Place] = []
        omitted_parts = []
        for turn, message in enumerate(messages):
            for label, path in _parts(message):
                marked_messages = copy.deepcopy(messages)
                _put(marked_messages[turn], path, mark)
                name = f"the {label} of message {turn} ({message['role']})"
                output = write(marked_messages, name)
                if len(path) == 1 and output.count(mark) > 1:
                    raise ValueError(
                        f"the chat template writes {name} {counted(output.count(mark), 'time')}, "
                        f"so the tokens of the message are not known: {_WITHOUT_TURNS}"
                    )
                part_text = None if path[0][0] == "tool_calls" else _at(message, path[0])
                span = _place_of(text, output, mark, part_text)
                if span is None:
                    raise ValueError(
                        f"the chat template changes {name}, or the text around it with it, so the "
                        f"tokens of the message are not known: {_WITHOUT_TURNS}"
                    )
                start, end = span
                if start < end:
                    message_parts.append(_Place(start, end, turn, str(message["role"])))
                elif part_text is None or part_text.strip():
                    omitted_parts.append(name)
        message_parts.sort(key=lambda place: (place.start, place.end))
        _refuse_mixed(message_parts)
        next_turn = len(messages)
        if chat.goes_on:
            text = text[: _end_of_last(write, messages, text, message_parts, mark)]
            next_turn -= 1
        remark = f"the chat template leaves out {', '.join(omitted_parts)}" if omitted_parts else ""
        return cls(text, tuple(message_parts), next_turn, remark)

    def on(self, tokens: Tokens, texts: TextIds) -> Tokens:
        """Return the tokens of the text, each with its role and turn.

        A token that has characters of a message belongs to the message, even if the template wrote
        its other characters.

        Raises:
            ValueError: The tokenizer does not report offsets of tokens, and splits the messages
                differently in the text than by themselves.
        """
        spans = self._spans(tokens.ids, texts)
        message_parts = [self._place_of_span(start, end) for start, end in spans]
        return replace(
            tokens.in_chat(
                [TEMPLATE if place is None else place.role for place in message_parts],
                [None if place is None else place.turn for place in message_parts],
            ),
            remark=self.remark,
        )

    def continued(self, prompt: Tokens, whole: Tokens) -> Tokens:
        """Return prompt and generated tokens with roles: the assistant wrote the generated tokens.

        A generated token that marks the end of a message belongs to the template.

        Args:
            prompt: Tokens of the chat, with roles.
            whole: Prompt tokens, followed by the generated tokens.
        """
        new = whole.special[len(prompt) :]
        roles = [TEMPLATE if special else ASSISTANT for special in new]
        turns = [None if special else self.next_turn for special in new]
        return replace(
            whole.in_chat([*prompt.roles, *roles], [*prompt.turns, *turns]), remark=prompt.remark
        )

    def _spans(self, ids: Sequence[int], texts: TextIds) -> list[tuple[int, int]]:
        """Return the first character and the end of each token."""
        if getattr(texts.tokenizer, "is_fast", False):
            _, offsets = texts.with_offsets(self.text)
            ends = [0, *(end for _, end in offsets)]
            # Some tokenizers leave white space out of the offsets, so that a white-space token has
            # no characters: it gets the characters since the previous token.
            return [
                (start if end > start else min(previous_end, start), end)
                for (start, end), previous_end in zip(offsets, ends, strict=False)
            ][: len(ids)]
        cuts = sorted({0, len(self.text)}.union(*((p.start, p.end) for p in self.places)))
        all_ids = texts.alone(self.text)
        counts = [self._n_tokens_before(cut, all_ids, texts) for cut in cuts[:-1]]
        n_tokens = [end - start for start, end in pairwise([*counts, len(all_ids)])]
        spans = [span for span, n in zip(pairwise(cuts), n_tokens, strict=True) for _ in range(n)]
        return spans[: len(ids)]

    def _n_tokens_before(self, cut: int, whole: Sequence[int], texts: TextIds) -> int:
        """Return the number of tokens before a character, by encoding the text up to it."""
        # A space before a word is often in the token of the word.
        for beginning in (self.text[:cut], self.text[:cut].rstrip()):
            ids = texts.alone(beginning) if beginning else []
            if ids == list(whole[: len(ids)]):
                return len(ids)
        raise ValueError(
            f"{type(texts.tokenizer).__name__} reports no places of tokens and has a token across "
            f"the beginning or end of a message, near {self.text[:cut][-20:]!r}, so the turns are "
            f"not known: {_WITHOUT_TURNS}"
        )

    def _place_of_span(self, start: int, end: int) -> _Place | None:
        end = max(end, start + 1)
        return next((p for p in self.places if p.start < end and start < p.end), None)


def _refuse_mixed(places: Sequence[_Place]) -> None:
    """Raise ValueError if the regions of two messages overlap; `places` must be sorted."""
    for first, second in pairwise(places):
        if second.start < first.end:
            raise ValueError(
                f"the chat template mixes messages {first.turn} and {second.turn}: the text of one "
                "message changes the other message, so the turns of their tokens are not known: "
                f"{_WITHOUT_TURNS}"
            )


class _Writer:
    """The chat template of a tokenizer, for one chat.

    Raises:
        ValueError: The tokenizer has no chat template.
    """

    def __init__(self, tokenizer: Any, chat: Chat) -> None:
        if not getattr(tokenizer, "chat_template", None):
            raise ValueError(
                f"{type(tokenizer).__name__} has no chat template, which writes messages as one "
                "text: set tokenizer.chat_template, or pass a string"
            )
        self._tokenizer = tokenizer
        self._chat = chat

    def __call__(self, messages: list[dict[str, Any]], changed: str = "") -> str:
        """Return the text of messages; `changed` names the part that was replaced, for errors."""
        tools = self._chat.tools
        try:
            text = self._tokenizer.apply_chat_template(
                copy.deepcopy(messages),
                tools=None if tools is None else list(tools),
                add_generation_prompt=self._chat.opens,
                tokenize=False,
            )
        # A template is a program by the model's author, and may raise any error.
        except Exception as error:
            if changed:
                raise ValueError(
                    f"the chat template does not write another text in the place of {changed}, so "
                    f"the place of the message is not known: {error}"
                ) from error
            raise ValueError(f"the chat template refuses the messages: {error}") from error
        return str(text)

    def form(self) -> list[dict[str, Any]]:
        """Return the messages with contents in the form that the template reads.

        A template reads strings, lists of parts, or both. If it reads both, contents stay as they
        are. Otherwise, several parts become one string, with line breaks between them.
        """
        # Copy each message, because a message may occur twice, and each occurrence changes
        # separately.
        messages = [copy.deepcopy(dict(message)) for message in self._chat.messages]
        is_list = [isinstance(message.get("content"), list) for message in messages]
        reads_strings, reads_lists = True, True
        if any(is_list):
            reads_lists = self._reads(messages, [{"type": "text", "text": _MARK}])
        elif not self._reads(messages, _MARK):
            reads_strings = not self._reads(messages, [{"type": "text", "text": _MARK}])
        for message in messages:
            content = message.get("content")
            if isinstance(content, list) and not reads_lists:
                message["content"] = "\n".join(part["text"] for part in content)
            elif isinstance(content, str) and not reads_strings:
                message["content"] = [{"type": "text", "text": content}]
        return messages

    def _reads(self, messages: list[dict[str, Any]], content: Any) -> bool:
        """Return whether the template writes a content's text in this form, without additions."""
        output = self._written_with(messages, content)
        as_string = self._written_with(messages, _MARK)
        if _MARK in as_string:
            return output == as_string
        # A template for strings may write a list in the notation of Python.
        return _MARK in output and "'type'" not in output and '"type"' not in output

    def _written_with(self, messages: list[dict[str, Any]], content: Any) -> str:
        """Return the text with one content for all messages; "" if the template refuses it."""
        marked_messages = [
            message | ({"content": content} if message.get("content") else {})
            for message in messages
        ]
        try:
            return self(marked_messages)
        except ValueError:
            return ""


def _check_message(number: int, message: Mapping[str, Any]) -> None:
    role = message.get("role")
    if not isinstance(role, str) or not role:
        keys = ", ".join(map(repr, message)) or "nothing"
        problem = f"the role {role!r}" if "role" in message else keys
        raise ValueError(
            f'message {number} must have a "role" that is a string: expected {{"role": "user", '
            f'"content": "…"}}, got {problem}'
        )
    content = message.get("content")
    if content is None:
        if not message.get("tool_calls") and "content" not in message:
            raise ValueError(f'message {number} ({role}) has no "content" and no "tool_calls"')
        return
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        raise ValueError(
            f"the content of message {number} ({role}) must be a string or a list of parts, got "
            f"{type(content).__name__}"
        )
    for part in content:
        is_part = isinstance(part, Mapping)
        if not is_part or part.get("type") != "text" or not isinstance(part.get("text"), str):
            kind = part.get("type") if is_part else type(part).__name__
            raise ValueError(
                f"the content of message {number} ({role}) has a part of the type {kind!r}: a chat "
                'has parts {"type": "text", "text": "…"}, and for models with a processor '
                '{"type": "image", "image": picture} or {"type": "audio", "audio": sound}'
            )


_Path = tuple[Any, ...]


def _parts(message: Mapping[str, Any]) -> list[tuple[str, list[_Path]]]:
    """Return the name of each text of a message, and its paths in the message."""
    parts: list[tuple[str, list[_Path]]] = []
    for name in _TEXT_FIELDS:
        value = message.get(name)
        if isinstance(value, str) and value:
            parts.append((name, [(name,)]))
        elif isinstance(value, list):
            parts += [
                (name, [(name, index, "text")])
                for index, part in enumerate(value)
                if isinstance(part, Mapping) and part.get("text")
            ]
    for index, call in enumerate(message.get("tool_calls") or ()):
        prefix = ("function",) if isinstance(call.get("function"), Mapping) else ()
        function = call["function"] if prefix else call
        names = [name for name in ("name", "arguments") if function.get(name)]
        if names:
            # The template writes the name and the arguments of a call as one piece.
            parts.append(
                (
                    f"tool call {index}" if index else "tool call",
                    [("tool_calls", index, *prefix, name) for name in names],
                )
            )
    return parts


def _put(message: dict[str, Any], paths: Sequence[_Path], mark: str) -> None:
    """Put a mark in place of some parts of a message."""
    for path in paths:
        owner: Any = message
        for key in path[:-1]:
            owner = owner[key]
        is_mapping = isinstance(owner[path[-1]], Mapping)
        owner[path[-1]] = {mark: mark} if is_mapping else mark


def _at(message: Mapping[str, Any], path: _Path) -> str:
    """Return the text of a message part."""
    value: Any = message
    for key in path:
        value = value[key]
    return str(value)


def _place_of(text: str, changed: str, mark: str, own: str | None) -> tuple[int, int] | None:
    """Return the first character and the end of a part; None if they are unknown.

    Both are the same if the template leaves the part out.

    Args:
        text: Text of the chat.
        changed: Text of the chat with marks in place of the part.
        mark: Text of the mark.
        own: Text of the part; None for a tool call, which a template writes in its own form.
    """
    first, last = changed.find(mark), changed.rfind(mark)
    if first < 0:
        return (0, 0) if changed == text else None
    prefix, suffix = changed[:first], changed[last + len(mark) :]
    stripped = "" if own is None else own.strip()
    if text.startswith(prefix) and text.endswith(suffix) and len(prefix) + len(suffix) <= len(text):
        start, end = len(prefix), len(text) - len(suffix)
        # A template may write a character, such as a full stop, only after texts without it.
        return start, max(end, start + len(stripped)) if text.startswith(stripped, start) else end
    start, end = _n_common(text, prefix), len(text) - _n_common(text[::-1], suffix[::-1])
    if own is None:
        return start, end
    if stripped and text.count(stripped, start, end) == 1:
        start = text.index(stripped, start, end)
        return start, start + len(stripped)
    # The template may have written the first and last characters of the part around the mark.
    bounds = max(0, end - len(stripped)), start + len(stripped)
    if stripped and text.count(stripped, *bounds) == 1:
        start = text.index(stripped, *bounds)
        return start, start + len(stripped)
    return None


def _end_of_last(
    write: _Writer, messages: list[dict[str, Any]], text: str, places: list[_Place], mark: str
) -> int:
    """Return the end of the last message, which a model continues.

    An empty message ends where its content would begin.

    Raises:
        ValueError: The last message is not the end of the text.
    """
    last = len(messages) - 1
    if places and places[-1].turn == last:
        return places[-1].end
    if all(part.turn != last for part in places):
        marked_messages = copy.deepcopy(messages)
        is_list = isinstance(marked_messages[last].get("content"), list)
        marked_messages[last]["content"] = [{"type": "text", "text": mark}] if is_list else mark
        output = write(marked_messages, f"the content of message {last} ({ASSISTANT})")
        end = output.find(mark)
        is_last = all(part.end <= end for part in places)
        if end >= 0 and is_last and text.startswith(output[:end]):
            return end
    raise ValueError(
        f"the chat template does not write message {last} ({ASSISTANT}) at the end of the text, so "
        "the message cannot be continued: leave it out, and the template begins an answer"
    )


def _n_common(first: str, second: str) -> int:
    """Return the length of the prefix that two texts share."""
    pairs = zip(first, second, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
