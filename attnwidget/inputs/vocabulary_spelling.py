"""Spelling of vocabulary entries: how they encode characters, and how they mark words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal
from weakref import WeakKeyDictionary

SpellingKind = Literal["bytes", "metaspace", "latin", "plain"]
Boundaries = Literal[
    "pre-tokenizer", "continues", "ends", "joins", "spaces", "tokens", "decoded", "unknown"
]

_METASPACE = "\u2581"
_BYTE_SPACE = "\u0120"
_CONTINUED = "##"
_WORD_END = "</w>"
_WORD_GOES_ON = "@@"
_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_VISIBLE = {" ": "\u2423", "\n": "\u21b5", "\t": "\u21e5", "\r": "\u240d"}
#: Entries that represent a single space, in CLVP and in the Japanese GPT-NeoX.
_SPACE_ENTRIES = ("[SPACE]", "<SP>")
#: A text whose words have several tokens in most vocabularies, without doubled letters.
_PROBE = "unforgivable zhqkwxyz"


@dataclass(frozen=True)
class Spelling:
    """Spelling of a tokenizer's vocabulary entries.

    Attributes:
        kind: Encoding of characters in an entry: "bytes" (each byte as a byte-level BPE letter),
            "metaspace" (a space as "▁", some bytes as "<0xF0>"), "latin" (each byte as the
            character with its number), or "plain".
        boundaries: Sign that a word begins. "pre-tokenizer": the backend's pre-tokenizer, which
            splits the joined characters. "continues": `mark` begins an entry that continues a word.
            "ends": `mark` ends the last entry of a word. "joins": `mark` ends each entry after
            which the word continues. "spaces": an entry that begins a word begins with white space.
            "tokens": each token is a word. "decoded": the white space of the decoded text.
            "unknown": there is no sign.
        mark: Mark of words in the entries; "" without marks.
        space: Entry that represents a single space; "" if there is none.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.inputs.vocabulary_spelling import Spelling
        >>> Spelling.from_tokenizer(load_model().tokenizer)
        Spelling(kind='plain', boundaries='continues', mark='##', space='')
    """

    kind: SpellingKind
    boundaries: Boundaries
    mark: str = ""
    space: str = ""

    @classmethod
    def from_tokenizer(cls, tokenizer: Any) -> Spelling:
        """Return the spelling of a Hugging Face tokenizer, fast or slow."""
        cached = _known(tokenizer)
        if cached is not None:
            return cached
        backend = getattr(tokenizer, "backend_tokenizer", None)
        spelling = _of_entries(tokenizer) if backend is None else _of_backend(tokenizer, backend)
        # A Python tokenizer may make entries while it reads, so look again for marks.
        if backend is not None or spelling.boundaries != "unknown":
            _remember(tokenizer, spelling)
        return spelling

    @classmethod
    def guessed(cls, raw: Iterable[str]) -> Spelling:
        """Return the spelling of entries from an unknown vocabulary, guessed from their marks.

        Example:
            >>> Spelling.guessed(["▁the", "▁cat", "s"]).kind
            'metaspace'
        """
        raw = list(raw)
        if any(token.startswith(_METASPACE) for token in raw):
            return cls("metaspace", "spaces")
        letters = _bytes_of_letters()
        if any(token.startswith((_BYTE_SPACE, "\u010a")) for token in raw) and all(
            character in letters for token in raw for character in token
        ):
            return cls("bytes", "spaces")
        return cls("plain", *_mark_in(raw))

    def characters(self, raw: str) -> str:
        """Return the characters of an entry, with its spaces and without marks.

        A byte of an incomplete character becomes a lone surrogate, as in the error handler
        "surrogateescape".

        Example:
            >>> Spelling("bytes", "pre-tokenizer").characters("ĠcafÃ©")
            ' café'
        """
        if self.space and raw == self.space:
            return " "
        if self.boundaries == "continues":
            return raw.removeprefix(self.mark)
        text = raw
        if self.boundaries in ("ends", "joins") and raw != self.mark:
            text = raw.removesuffix(self.mark)
        if self.kind == "bytes":
            return _from_letters(text)
        if self.kind == "latin" and len(text) == 1:
            return text.encode("latin-1", "replace").decode("utf-8", "surrogateescape")
        if self.kind == "metaspace":
            byte = _BYTE_TOKEN.fullmatch(text)
            if byte:
                return bytes.fromhex(byte[1]).decode("utf-8", "surrogateescape")
            return text.replace(_METASPACE, " ")
        return text


def readable(raw: str, kind: SpellingKind) -> str:
    """Return the readable form of `raw`; never empty for a token that has characters.

    Spaces that only mark the beginning of a word are dropped. A token with only white space is
    shown by a symbol. Bytes of an incomplete character are written as <0xF0>.

    Args:
        raw: Vocabulary entry.
        kind: Encoding of characters in the entry, as in `Spelling`.

    Example:
        >>> readable("ĠcafÃ©", "bytes"), readable("▁the", "metaspace")
        ('café', 'the')
    """
    text = raw
    if len(raw) > len(_WORD_END) and kind in ("bytes", "plain"):
        text = raw.removesuffix(_WORD_END)
    if kind == "bytes":
        text = shown_bytes(_from_letters(text))
    elif kind == "latin":
        text = shown_bytes(Spelling("latin", "spaces").characters(raw))
    elif kind == "metaspace":
        text = raw.replace(_METASPACE, " ")
        byte = _BYTE_TOKEN.fullmatch(raw)
        if byte and int(byte[1], 16) < 0x80:
            text = chr(int(byte[1], 16))
    if text.strip(" ") and text.startswith(" "):
        text = text.lstrip(" ")
    if not any(character.isprintable() and not character.isspace() for character in text):
        # A token with only spaces, or with the joiner inside an emoji, would be invisible.
        text = "".join(_VISIBLE.get(c, f"<U+{ord(c):04X}>") for c in text)
    return text or raw


def shown_bytes(text: str) -> str:
    r"""Return a text in which bytes of incomplete characters, lone surrogates, become <0xF0>.

    Example:
        >>> shown_bytes("caf\udcc3")
        'caf<0xC3>'
    """
    return "".join(
        f"<0x{ord(character) - 0xDC00:02X}>" if "\udc80" <= character <= "\udcff" else character
        for character in text
    )


_spellings: WeakKeyDictionary[Any, Spelling] = WeakKeyDictionary()


def _known(tokenizer: Any) -> Spelling | None:
    try:
        return _spellings.get(tokenizer)
    except TypeError:  # The object is not hashable, or has no weak references.
        return None


def _remember(tokenizer: Any, spelling: Spelling) -> None:
    try:
        _spellings[tokenizer] = spelling
    except TypeError:
        return


def _of_backend(tokenizer: Any, backend: Any) -> Spelling:
    """Return the spelling of a fast tokenizer, from its backend parts."""
    settings = ""
    for part in ("decoder", "pre_tokenizer", "normalizer"):
        piece = getattr(backend, part, None)
        if piece is not None:
            settings += _described(piece)
    kind: SpellingKind = "plain"
    if "ByteLevel" in settings:
        kind = "bytes"
    elif "Metaspace" in settings or _METASPACE in settings:
        kind = "metaspace"
    model = backend.model
    end = getattr(model, "end_of_word_suffix", None)
    if end:
        return Spelling(kind, "ends", end)
    if kind != "plain":
        spelling = Spelling(kind, "spaces" if backend.pre_tokenizer is None else "pre-tokenizer")
        return spelling if _shows_spaces(tokenizer, spelling) else Spelling(kind, "unknown")
    prefix = getattr(model, "continuing_subword_prefix", None)
    if prefix:
        return Spelling(kind, "continues", prefix)
    if type(model).__name__ == "WordLevel":
        return Spelling(kind, "tokens")
    if backend.pre_tokenizer is None:
        return Spelling(kind, "spaces")
    return Spelling(kind, "decoded" if _decodes_words(tokenizer) else "unknown")


def _described(piece: Any) -> str:
    """Return the settings of a backend part; "" for a part in Python (RoFormer)."""
    try:
        return json.dumps(json.loads(piece.__getstate__()), ensure_ascii=False)
    except Exception:
        return ""


def _of_entries(tokenizer: Any) -> Spelling:
    """Return the spelling of a Python tokenizer, from its vocabulary entries."""
    entries = {entry for entry in tokenizer.get_vocab() if isinstance(entry, str)}
    # The public property writes to the log if there is no delimiter.
    delimiter = getattr(tokenizer, "_word_delimiter_token", None)
    spaces = [entry for entry in (delimiter, *_SPACE_ENTRIES) if entry in entries]
    space = spaces[0] if spaces else ""
    if hasattr(tokenizer, "byte_decoder"):
        return Spelling("bytes", "spaces", space=space)
    high = {chr(byte) for byte in range(0x80, 0x100)}
    if high <= entries and "\u0100" not in entries:
        return Spelling("latin", "spaces", space=space)
    if hasattr(tokenizer, "sp_model") or any(
        len(entry) > 1 and entry.startswith(_METASPACE) for entry in entries
    ):
        return Spelling("metaspace", "spaces")
    boundaries, mark = _mark_in(entries)
    if boundaries != "continues" or any(
        len(entry) > len(mark) and entry.startswith(mark) for entry in entries
    ):
        return Spelling("plain", boundaries, mark)
    if space or " " in entries:
        return Spelling("plain", "spaces", space=space)
    return Spelling("plain", "decoded" if _decodes_words(tokenizer) else "unknown")


def _mark_in(entries: Iterable[str]) -> tuple[Boundaries, str]:
    """Return the word mark in some entries; without a mark, the mark of BERT."""
    entries = list(entries)
    marks: tuple[tuple[Boundaries, str], ...] = (("ends", _WORD_END), ("joins", _WORD_GOES_ON))
    for boundaries, mark in marks:
        if any(len(entry) > len(mark) and entry.endswith(mark) for entry in entries):
            return boundaries, mark
    return "continues", _CONTINUED


def _shows_spaces(tokenizer: Any, spelling: Spelling) -> bool:
    """Return whether a text's tokens include its spaces; True if a single text cannot be read.

    A tokenizer for documents (MarkupLM) reads a text as a list of words without spaces.
    """
    try:
        ids = list(tokenizer("to be", add_special_tokens=False, verbose=False)["input_ids"])
    except (TypeError, ValueError):
        return True
    raw = [str(token) for token in tokenizer.convert_ids_to_tokens(ids)]
    text = "".join(spelling.characters(token) for token in raw)
    return len(text.split()) > 1 or getattr(tokenizer, "unk_token_id", None) in ids


def _decodes_words(tokenizer: Any) -> bool:
    """Return whether decoded text has spaces between words and nowhere else.

    Many tokenizers without marks decode with a space between any two tokens. The answer is
    therefore known only for a text with more tokens than words.
    """
    ids = list(tokenizer(_PROBE, add_special_tokens=False, verbose=False)["input_ids"])
    if len(ids) <= len(_PROBE.split()) or getattr(tokenizer, "unk_token_id", None) in ids:
        return False
    text: str = tokenizer.decode(ids, clean_up_tokenization_spaces=False)
    return text.casefold().split() == _PROBE.split()


def _from_letters(raw: str) -> str:
    """Return the characters of a byte-level BPE entry."""
    letters = _bytes_of_letters()
    if any(character not in letters for character in raw):
        return raw  # An added token is stored as text.
    return bytes(letters[character] for character in raw).decode("utf-8", "surrogateescape")


@lru_cache(maxsize=1)
def _bytes_of_letters() -> dict[str, int]:
    """Return the byte for each letter of byte-level BPE (printable bytes stay as they are)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = {chr(byte): byte for byte in printable}
    other_bytes = [byte for byte in range(256) if byte not in set(printable)]
    letters.update({chr(256 + i): byte for i, byte in enumerate(other_bytes)})
    return letters
