"""Readable spelling of vocabulary entries: decodes byte-level BPE, drops marks of words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Literal

SpellingKind = Literal["bytes", "metaspace", "plain"]

_METASPACE = "\u2581"
_BYTE_SPACE = "\u0120"
_WORD_END = "</w>"
_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_VISIBLE = {" ": "\u2423", "\n": "\u21b5", "\t": "\u21e5", "\r": "\u240d"}


def vocabulary_kind(tokenizer: Any) -> SpellingKind:
    """Return how `tokenizer` spells its vocabulary: bytes as letters, spaces as "▁", or plainly."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    described = ""
    for part in ("decoder", "pre_tokenizer", "normalizer"):
        piece = getattr(backend, part, None)
        if piece is not None:
            described += json.dumps(json.loads(piece.__getstate__()), ensure_ascii=False)
    if "ByteLevel" in described or hasattr(tokenizer, "byte_decoder"):
        return "bytes"
    if "Metaspace" in described or _METASPACE in described or hasattr(tokenizer, "sp_model"):
        return "metaspace"
    return "plain"


def guess_kind(raw: Iterable[str]) -> SpellingKind:
    """Return the same for tokens without a tokenizer, from the marks in the tokens."""
    raw = list(raw)
    if any(token.startswith(_METASPACE) for token in raw):
        return "metaspace"
    letters = _bytes_of_letters()
    if any(token.startswith((_BYTE_SPACE, "\u010a")) for token in raw) and all(
        character in letters for token in raw for character in token
    ):
        return "bytes"
    return "plain"


def readable(raw: str, kind: SpellingKind) -> str:
    """Return the readable form of `raw`; never empty for a token that has characters.

    Spaces that only mark the beginning of a word are dropped. White space of a token without other
    characters is shown by a symbol. Bytes that are not a complete character are written as <0xF0>.

    Example:
        >>> readable("ĠcafÃ©", "bytes"), readable("▁the", "metaspace")
        ('café', 'the')
    """
    text = raw
    if kind == "bytes":
        text = _decoded(raw)
    elif kind == "metaspace":
        text = raw.replace(_METASPACE, " ")
        byte = _BYTE_TOKEN.fullmatch(raw)
        if byte and int(byte[1], 16) < 0x80:
            text = chr(int(byte[1], 16))
    elif raw.endswith(_WORD_END):
        text = raw.removesuffix(_WORD_END)
    if text.strip(" ") and text.startswith(" "):
        text = text.lstrip(" ")
    if not any(character.isprintable() and not character.isspace() for character in text):
        # A token of spaces, or of the joiner inside an emoji, would be invisible.
        text = "".join(_VISIBLE.get(c, f"<U+{ord(c):04X}>") for c in text)
    return text or raw


def starts_word(raw: str, kind: SpellingKind) -> bool | None:
    """Return whether `raw` begins a word; None if the vocabulary does not show it."""
    if kind == "bytes":
        return raw.startswith((_BYTE_SPACE, "\u010a", "\u0109"))
    if kind == "metaspace":
        return raw.startswith(_METASPACE)
    return None if not raw.startswith("##") else False


def _decoded(raw: str) -> str:
    letters = _bytes_of_letters()
    if any(character not in letters for character in raw):
        return raw  # an added token, which is kept as text
    text = bytes(letters[character] for character in raw).decode("utf-8", "surrogateescape")
    return "".join(
        f"<0x{ord(character) - 0xDC00:02X}>" if 0xDC80 <= ord(character) <= 0xDCFF else character
        for character in text
    )


@lru_cache(maxsize=1)
def _bytes_of_letters() -> dict[str, int]:
    """Return the letter of byte-level BPE for each byte (printable bytes stay as they are)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = {chr(byte): byte for byte in printable}
    others = [byte for byte in range(256) if byte not in set(printable)]
    letters.update({chr(256 + i): byte for i, byte in enumerate(others)})
    return letters
