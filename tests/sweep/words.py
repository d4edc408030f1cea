"""The sweep over all tokenizer classes: words of the same sentences by all ways in.

`PYTHONPATH=.:tests python -m sweep.words` runs it. The exit status is 1 if a class shows words that
are not in the sentence, or shows other words by another way in, without saying so.
"""

from __future__ import annotations

import argparse
import json
import sys
import unicodedata
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import transformers
from transformers import GPT2Config, GPT2LMHeadModel

from attnwidget import load_model
from attnwidget.text.tokens import Tokens
from fixtures.vocabularies import MAKERS
from sweep.run import quiet
from sweep.sentences import SENTENCES
from sweep.small_tokenizers import NotBuilt, built, tokenizer_classes

Outcome = Literal["equal", "refused", "different", "not built"]
_NO_SPACES = ("CJK", "HIRAGANA", "KATAKANA", "IDEOGRAPHIC")


@dataclass
class WordsResult:
    """What the sweep found of one tokenizer class.

    Attributes:
        name: The class.
        outcome: "equal" if words are those of the text by all ways in; "refused" if an error or a
            note says what is not known; "different" otherwise.
        reason: What differs, why it is refused, or why it is not built.
        remark: How the tokenizer changes texts itself.
    """

    name: str
    outcome: Outcome
    reason: str = ""
    remark: str = ""


def compare_words(name: str) -> WordsResult:
    """Compare the words of all sentences by all ways in, for one tokenizer class."""
    try:
        return _compared(name, built(name))
    except NotBuilt as reason:
        return WordsResult(name, "not built", str(reason))
    except Exception as error:
        return WordsResult(name, "different", f"{type(error).__name__}: {_short(error)}")


def _compared(name: str, tokenizer: Any) -> WordsResult:
    model = load_model(_reader(tokenizer), tokenizer)
    refused: dict[str, None] = {}
    remarks: dict[str, None] = {}
    for sentence in SENTENCES:
        try:
            attention = model.attend(sentence)
        except ValueError as error:
            refused[_short(error)] = None
            continue
        axis = attention.stacks["self"].query
        ids = list(axis.ids)
        if not axis.words_known:
            refused[attention.note] = None
            continue
        wrong, remark = _wrong_words(axis, sentence, tokenizer)
        remarks[remark] = None
        if wrong:
            return WordsResult(name, "different", f"text {sentence!r}: {wrong}")
        if attention.note:
            return WordsResult(name, "different", f"needless note {attention.note!r}")
        ways = {
            "ids": model.attend(ids),
            "dict": model.attend({"input_ids": tokenizer(sentence, return_tensors="pt").input_ids}),
            "generate": model.generate(sentence, max_new_tokens=1),
            "replay": model.replay(sentence, ids[-1:]),
        }
        for way, found in ways.items():
            other = found.stacks["self"].query
            if not other.words_known and found.note:
                refused[f"{way}: {found.note}"] = None
            elif _partition(other, len(ids)) != _partition(axis, len(ids)):
                words = other.to_words().text
                return WordsResult(
                    name, "different", f"{way} {words}, and text {axis.to_words().text}"
                )
        listed = sentence.split()
        try:
            of_list = model.attend(listed).stacks["self"].query
        except ValueError as error:
            refused[f"list of words: {_short(error)}"] = None
            continue
        if list(of_list.ids) != ids:
            read = tokenizer.decode(of_list.ids)
            return WordsResult(name, "different", f"list of words {listed}: read as {read!r}")
        wrong = _wrong_list(of_list, listed, bool(remark))
        if wrong:
            return WordsResult(name, "different", f"list of words {listed}: {wrong}")
    remark = "; ".join(filter(None, remarks))
    if refused:
        return WordsResult(name, "refused", "; ".join(refused), remark)
    return WordsResult(name, "equal", "", remark)


def _reader(tokenizer: Any) -> GPT2LMHeadModel:
    """A model that reads the ids of any tokenizer."""
    # Names of languages have ids after the vocabulary.
    size = 1 + max(*tokenizer.get_vocab().values(), *_ids_of_sentences(tokenizer))
    return GPT2LMHeadModel(
        GPT2Config(vocab_size=size, n_layer=1, n_head=2, n_embd=4, n_positions=512)
    ).eval()


def _ids_of_sentences(tokenizer: Any) -> list[int]:
    try:
        return [i for sentence in SENTENCES for i in tokenizer(sentence)["input_ids"]]
    except (TypeError, ValueError):  # it reads no text alone
        return [0]


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:400]


def _letters(text: str) -> str:
    """Letters and digits of a text, without case and marks, which tokenizers may change."""
    return "".join(
        c
        for c in unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
        if unicodedata.category(c)[0] in "LN"
    )


def _words(axis: Tokens) -> list[tuple[str, list[int]]]:
    """Text and tokens of each word, without special tokens."""
    words = zip(axis.to_words().text, axis.word_groups(), strict=True)
    return [(text, group) for text, group in words if axis.words[group[0]] is not None]


def _partition(axis: Tokens, length: int) -> list[tuple[int, ...]]:
    """The tokens of each word among the first tokens."""
    groups = (tuple(i for i in group if i < length) for group in axis.word_groups())
    return [group for group in groups if group]


def _wrong_words(axis: Tokens, sentence: str, tokenizer: Any) -> tuple[str, str]:
    """What is wrong in the words of a sentence, and how the tokenizer changes the sentence."""
    words = _words(axis)
    joined = "".join(_letters(text) for text, _ in words)
    if any(mark in text for text, _ in words for mark in ("\u2581", "\u0120", "</w>", "@@", "<0x")):
        return f"words have marks: {[text for text, _ in words]}", ""
    if joined != _letters(sentence):
        if tokenizer.unk_token_id in axis.ids:
            return "", "letters are unknown"
        decoded = _letters(str(tokenizer.decode(list(axis.ids), skip_special_tokens=True)))
        if decoded != _letters(sentence):
            return "", "it changes letters"
        return f"words {[text for text, _ in words]}", ""
    wrong = _wrong_boundaries(words, sentence)
    if wrong.startswith("a word is cut") and isinstance(tokenizer, transformers.RoFormerTokenizer):
        return "", "a segmenter for Chinese cuts other scripts into letters"
    return wrong, ""


def _wrong_boundaries(words: list[tuple[str, list[int]]], sentence: str) -> str:
    """What is wrong where words begin: at spaces, and never between letters."""
    begins = set()
    place = 0
    spans = []
    for text, group in words:
        end = place + len(_letters(text))
        if end > place:
            begins.add(place)
            spans.append((text, group, place, end))
        place = end
    place = 0
    needed = set()
    allowed = set()
    for part in sentence.split():
        needed.add(place)
        before = ""
        for character in part:
            letters = _letters(character)
            if letters:
                is_word = before.isalpha() and character.isalpha() and not _is_cjk(character)
                if not is_word:
                    allowed.add(place)
                place += len(letters)
            if letters or not unicodedata.category(character).startswith("M"):
                before = character
    for text, group, start, end in spans:
        crossed = {at for at in needed if start < at < end}
        if crossed and len(group) > 1:
            return f"word {text!r} goes over a space"
    if split := begins - allowed - needed:
        cut = min(split)
        return f"a word is cut at letter {cut} of {_letters(sentence)!r}: {[w for w, _ in words]}"
    return ""


def _is_cjk(character: str) -> bool:
    return unicodedata.name(character, "").startswith(_NO_SPACES)


def _wrong_list(axis: Tokens, listed: list[str], changed: bool) -> str:
    """What is wrong in the words of a list of words."""
    words = [text for text, _ in _words(axis)]
    if len(words) != len(listed):
        return f"{len(words)} words: {words}"
    if changed:
        return ""
    differ = [
        (given, found)
        for given, found in zip(listed, words, strict=True)
        if _letters(given) != _letters(found)
    ]
    return f"other words: {differ}" if differ else ""


def main() -> int:
    """Sweep the classes that the command line names, all of them without a name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="class", help="classes; none = all")
    parser.add_argument("--results", type=Path, help="file of JSON to write all outcomes to")
    parser.add_argument("--before", type=Path, help="results of another commit, to count changes")
    options = parser.parse_args()
    names = options.names or [*MAKERS, *tokenizer_classes()]
    if unknown := set(names) - {*MAKERS, *tokenizer_classes()}:
        parser.error(f"transformers {transformers.__version__} has no {sorted(unknown)}")
    quiet()
    results = []
    for number, name in enumerate(names, 1):
        result = compare_words(name)
        results.append(result)
        said = " ".join(filter(None, [result.reason, result.remark and f"({result.remark})"]))
        print(f"{number}/{len(names)} {name}: {result.outcome} {said}".rstrip(), flush=True)
    if options.results:
        options.results.write_text(json.dumps([asdict(result) for result in results], indent=1))
    counts = Counter(result.outcome for result in results)
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))
    if options.before:
        before = {one["name"]: one["outcome"] for one in json.loads(options.before.read_text())}
        mended = [
            result.name
            for result in results
            if before.get(result.name) == "different" and result.outcome != "different"
        ]
        print(f"{len(mended)} mended: {', '.join(mended)}")
    return 1 if counts["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
