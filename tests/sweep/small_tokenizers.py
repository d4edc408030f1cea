"""Small tokenizers of the classes of transformers, trained on a few lines: no download.

`python -m sweep.words` compares their words. A class that needs a package that is not installed is
not built.
"""

from __future__ import annotations

import inspect
import io
import json
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import tokenizers
import transformers
from tokenizers import pre_tokenizers, trainers
from transformers import PreTrainedTokenizer, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from attnwidget.inputs.token_boundaries import unknown_id
from fixtures.vocabularies import MAKERS
from sweep.sentences import CORPUS, SENTENCES

#: Classes without a vocabulary of their own, which others extend.
_BASES = {
    "PreTrainedTokenizerBase",
    "PreTrainedTokenizerFast",
    "PythonBackend",
    "SentencePieceBackend",
    "TokenizersBackend",
}
#: Classes that read no text: notes of music.
_NO_TEXT = {"Pop2PianoTokenizer": "it reads notes of music, no text"}
_SIZE = 160
_BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
_FAIRSEQ = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


class NotBuilt(Exception):  # noqa: N818 (a reason, no error)
    """A class that cannot be built here, with the reason."""


def tokenizer_classes() -> dict[str, type]:
    """Every tokenizer class of transformers by name; a class with several names once."""
    classes: dict[str, type] = {}
    for name in sorted(dir(transformers)):
        if not name.endswith(("Tokenizer", "TokenizerFast", "TokenizerLegacy")):
            continue
        try:
            found = getattr(transformers, name)
        except (ImportError, AttributeError):
            continue
        if not inspect.isclass(found) or found.__name__ in _BASES:
            continue
        if issubclass(found, PreTrainedTokenizerBase):
            classes.setdefault(found.__name__, found)
        elif getattr(found, "_backends", None):  # stands for a class whose packages are missing
            classes.setdefault(name, found)
    return classes


def built(name: str) -> Any:
    """A small tokenizer of this class, or of `MAKERS` of the fixtures.

    Raises:
        NotBuilt: it cannot be built here, with the reason.
    """
    if name in MAKERS:
        return MAKERS[name]()
    if name in _NO_TEXT:
        raise NotBuilt(_NO_TEXT[name])
    found = tokenizer_classes()[name]
    try:
        # Some constructors print.
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            if name in _RECIPES:
                with tempfile.TemporaryDirectory() as folder:
                    return _RECIPES[name](found, Path(folder))
            if issubclass(found, PreTrainedTokenizerFast):
                return _trained(found)
    except (ImportError, LookupError, OSError, RuntimeError, ValueError) as error:
        raise NotBuilt(_first_line(error)) from error
    if issubclass(found, PreTrainedTokenizer):
        raise NotBuilt("no recipe of its files is known")
    raise NotBuilt(f"it needs {' and '.join(getattr(found, '_backends', ['?']))}")


def _first_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:140]}"


def _trained(found: Any, **options: Any) -> Any:
    """A fast tokenizer with its own parts around a vocabulary of the corpus.

    A backend that does not split at spaces would learn pieces across them, so it also learns from
    single words.

    Raises:
        RuntimeError: every vocabulary has unknown letters or pieces across spaces.
    """
    empty = found(**options)
    words = [word for line in CORPUS for word in line.split()]
    is_bytes = "ByteLevel" in str(empty.backend_tokenizer.pre_tokenizer)
    has_ends = bool(getattr(empty.backend_tokenizer.model, "end_of_word_suffix", None))
    # Byte-level vocabularies have 256 letters, and twice as many with marks at the ends of words.
    size = _SIZE * (2 + is_bytes + is_bytes * has_ends)
    for lines in (CORPUS, [f" {word}" for word in words] + words, words):
        tokenizer = empty.train_new_from_iterator(lines, size, show_progress=False)
        try:
            ids = [list(tokenizer(line)["input_ids"]) for line in SENTENCES]
        except ValueError:  # it reads no text alone
            return tokenizer
        if not any(_is_bad(tokenizer, line) for line in ids):
            return tokenizer
    raise RuntimeError("no vocabulary of the corpus was found")


def _is_bad(tokenizer: Any, ids: list[int]) -> bool:
    """Whether tokens within a text are unknown, or go over a space."""
    raw = [str(token).replace("\u2581", " ") for token in tokenizer.convert_ids_to_tokens(ids)]
    unknown = unknown_id(tokenizer)
    special = set(tokenizer.all_special_ids) - {unknown}
    inside = [i for i, token_id in enumerate(ids) if token_id not in special]
    # Some templates put the unknown token before the text.
    return any(len(raw[i].split()) > 1 or (ids[i] == unknown and i > inside[0]) for i in inside)


def _unigram(found: Any, folder: Path) -> Any:
    """A fast tokenizer whose constructor needs a vocabulary of pieces with scores."""
    pieces = _pieces()
    special = ("<pad>", "</s>", "<unk>")
    return found(
        vocab=[
            (piece, 0.0 if piece in special else -float(rank)) for rank, piece in enumerate(pieces)
        ]
    )


def _pieces(special: tuple[str, ...] = ("<pad>", "</s>", "<unk>")) -> list[str]:
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=_SIZE, show_progress=False))
    return list(dict.fromkeys([*special, *sorted(backend.get_vocab(), key=len, reverse=True)]))


def _lines(path: Path, lines: list[str]) -> str:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def _json(path: Path, content: Any) -> str:
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return str(path)


def _numbered(entries: list[str]) -> dict[str, int]:
    return {entry: number for number, entry in enumerate(dict.fromkeys(entries))}


def _word_pieces() -> list[str]:
    backend = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.train_from_iterator(
        CORPUS,
        trainers.WordPieceTrainer(vocab_size=_SIZE, special_tokens=_BERT, show_progress=False),
    )
    # With every letter at the beginning of a word and within words, nothing is unknown.
    letters = sorted({c for line in CORPUS for c in line + line.lower() if not c.isspace()})
    return [*dict.fromkeys([*_BERT, *backend.get_vocab(), *letters, *(f"##{c}" for c in letters)])]


def _merges(lower: bool = False) -> tuple[list[str], list[tuple[str, str]]]:
    """Entries and merges of BPE with "</w>" at the ends of words."""
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(end_of_word_suffix="</w>"))
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    letters = sorted({c for line in CORPUS for c in line + line.lower() if not c.isspace()})
    trainer = trainers.BpeTrainer(
        vocab_size=_SIZE * 2, end_of_word_suffix="</w>", show_progress=False
    )
    backend.train_from_iterator([line.lower() if lower else line for line in CORPUS], trainer)
    merges = [tuple(pair) for pair in json.loads(backend.to_str())["model"]["merges"]]
    entries = [*letters, *(f"{c}</w>" for c in letters), *backend.get_vocab()]
    return list(dict.fromkeys(entries)), merges  # type: ignore[arg-type]


def _suffixed(special: list[str], **options: Any) -> Callable[[Any, Path], Any]:
    """Vocabulary and merges with "</w>": XLM, FlauBERT, BioGPT."""

    def make(found: Any, folder: Path) -> Any:
        entries, merges = _merges()
        return found(
            _json(folder / "vocab.json", _numbered([*special, *entries])),
            _lines(folder / "merges.txt", ["#version", *(f"{a} {b} 1" for a, b in merges)]),
            **options,
        )

    return make


def _fsmt(found: Any, folder: Path) -> Any:
    entries, merges = _merges()
    vocabulary = _json(folder / "vocab.json", _numbered([*_FAIRSEQ, *entries]))
    return found(
        langs=["en", "de"],
        src_vocab_file=vocabulary,
        tgt_vocab_file=vocabulary,
        merges_file=_lines(folder / "merges.txt", [f"{a} {b} 1" for a, b in merges]),
    )


def _joined(special: list[str], counted: bool) -> Callable[[Any, Path], Any]:
    """Vocabulary and merges with "@@" where words go on: PhoBERT, CTRL, small Blenderbot."""

    def make(found: Any, folder: Path) -> Any:
        entries, merges = _merges(lower="Blenderbot" in found.__name__)
        spelt = [
            entry.removesuffix("</w>") if entry.endswith("</w>") else f"{entry}@@"
            for entry in entries
        ]
        lines = [f"{a} {b}{' 1' if counted else ''}" for a, b in merges]
        if counted:
            vocabulary = _lines(folder / "vocab.txt", [f"{entry} 1" for entry in spelt])
        else:
            lines = ["#version", *lines]
            vocabulary = _json(folder / "vocab.json", _numbered([*special, *spelt]))
        return found(vocabulary, _lines(folder / "merges.txt", lines))

    return make


def _byte_level(found: Any, folder: Path) -> Any:
    """Vocabulary and merges of bytes: CLVP."""
    backend = MAKERS["byte level"]().backend_tokenizer
    model = json.loads(backend.to_str())["model"]
    merges = [" ".join(pair) for pair in model["merges"]]
    vocabulary = _numbered([*model["vocab"], "[UNK]", "[STOP]", "[SPACE]"])
    return found(
        _json(folder / "vocab.json", vocabulary),
        _lines(folder / "merges.txt", ["#version", *merges]),
    )


def _sentence_piece(folder: Path, **options: Any) -> str:
    import sentencepiece

    settings = {
        "vocab_size": 420,
        "hard_vocab_limit": False,
        "character_coverage": 1.0,
        "minloglevel": 2,
    }
    sentencepiece.SentencePieceTrainer.train(
        input=_lines(folder / "corpus.txt", CORPUS * 3),
        model_prefix=str(folder / "spiece"),
        **(settings | options),
    )
    return str(folder / "spiece.model")


def _of_pieces(model: str) -> list[str]:
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model)
    return [processor.id_to_piece(i) for i in range(processor.get_piece_size())]


def _spm(found: Any, folder: Path, **options: Any) -> Any:
    return found(_sentence_piece(folder, **options))


def _spm_with_json(special: list[str]) -> Callable[[Any, Path], Any]:
    def make(found: Any, folder: Path) -> Any:
        model = _sentence_piece(folder)
        vocabulary = _json(folder / "vocab.json", _numbered([*special, *_of_pieces(model)]))
        return found(vocabulary, model)

    return make


def _marian(found: Any, folder: Path) -> Any:
    model = _sentence_piece(folder)
    pieces = ["</s>", "<unk>", *_of_pieces(model), "<pad>"]
    vocabulary = _json(folder / "vocab.json", _numbered(pieces))
    return found(source_spm=model, target_spm=model, vocab=vocabulary)


def _bartpho(found: Any, folder: Path) -> Any:
    model = _sentence_piece(folder)
    return found(model, _lines(folder / "dict.txt", [f"{p} 1" for p in _of_pieces(model)[3:]]))


def _vocabulary_file(found: Any, folder: Path) -> Any:
    return found(_lines(folder / "vocab.txt", _word_pieces()))


def _roc_bert(found: Any, folder: Path) -> Any:
    entries = _word_pieces()
    numbers = _json(folder / "numbers.json", _numbered(entries))
    return found(_lines(folder / "vocab.txt", entries), numbers, numbers)


def _letters(special: list[str], space: str = " ") -> Callable[[Any, Path], Any]:
    def make(found: Any, folder: Path) -> Any:
        letters = sorted({c for line in CORPUS for c in line + line.upper() if not c.isspace()})
        vocabulary = _json(folder / "vocab.json", _numbered([*special, space, *letters]))
        return found(vocabulary)

    return make


def _phonemes(found: Any, folder: Path) -> Any:
    # Without a phonemizer, the parts of the text between spaces are read as phonemes.
    parts = [part for line in CORPUS for part in line.split()]
    entries = ["<pad>", "<s>", "</s>", "<unk>", *parts]
    return found(_json(folder / "vocab.json", _numbered(entries)), do_phonemize=False)


def _gpt_neox_japanese(found: Any, folder: Path) -> Any:
    letters = sorted({c for line in CORPUS for c in line if not c.isspace()})
    special = ["<|endoftext|>", "<|startoftext|>", "<SP>", "<BR>", "<TAB>", "<KIGOU>"]
    entries = [*special, "<U2000U2BFF>", *(f"<|byte{byte}|>" for byte in range(256))]
    entries += [letter for letter in letters if letter != ","]
    emoji = _json(folder / "emoji.json", {"emoji": {}, "emoji_inv": {}})
    return found(_lines(folder / "vocab.txt", entries), emoji)


def _cpm_ant(found: Any, folder: Path) -> Any:
    letters = sorted({c for line in CORPUS for c in line if not c.isspace()})
    words = ["the", "ship", "tain", "Кот", "القط"]
    special = ["<d>", "</d>", "<s>", "</s>", "<pad>", "<unk>", "</n>", "</_>"]
    return found(_lines(folder / "vocab.txt", [*special, *words, *letters]))


def _fast_speech(found: Any, folder: Path) -> Any:
    import g2p_en

    phonemes = [*g2p_en.G2p().phonemes, " ", ",", ".", "!", "?", "'"]
    special = ["<blank>", "<unk>", "<sos/eos>"]
    return found(_json(folder / "vocab.json", _numbered([*special, *phonemes])))


def _plain(found: Any, folder: Path) -> Any:
    return found()


def _my_t5(found: Any, folder: Path) -> Any:
    # A rule writes "the" as the bytes of "eht", and back.
    rules = {"74 68 65": "65 68 74", "65 68 74": "74 68 65"}
    return found(_json(folder / "byte_maps.json", {"decompose_map": {}, "merge_map": rules}))


def _esm(found: Any, folder: Path) -> Any:
    letters = sorted({c for line in CORPUS for c in line if not c.isspace()})
    special = ["<cls>", "<pad>", "<eos>", "<unk>", "<mask>"]
    return found(_lines(folder / "vocab.txt", [*special, *letters]))


def _vits(found: Any, folder: Path) -> Any:
    letters = sorted({c for line in CORPUS for c in line.lower() if not c.isspace()})
    vocabulary = _json(folder / "vocab.json", _numbered(["<pad>", "<unk>", " ", *letters]))
    return found(vocabulary, add_blank=False, normalize=False, phonemize=False)


def _markup(found: Any, folder: Path) -> Any:
    model = json.loads(MAKERS["byte level"]().backend_tokenizer.to_str())["model"]
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    merges = [tuple(pair) for pair in model["merges"]]
    vocabulary = _numbered([*special, *model["vocab"]])
    return found(vocab=vocabulary, merges=merges, tags_dict={"html": 0, "p": 1})


def _cpm_fast(found: Any, folder: Path) -> Any:
    return found(tokenizer_object=MAKERS["sentencepiece"]().backend_tokenizer)


def _roformer(found: Any, folder: Path) -> Any:
    return found(vocab=_numbered(_word_pieces()))


_SPECIALS = [f"<special{i}>" for i in range(10)]
_RECIPES: dict[str, Callable[[Any, Path], Any]] = {
    "BartphoTokenizer": _bartpho,
    "BertGenerationTokenizer": _spm,
    "BertJapaneseTokenizer": _vocabulary_file,
    "BertTokenizerLegacy": _vocabulary_file,
    "BertweetTokenizer": _joined(_FAIRSEQ, counted=True),
    "BioGptTokenizer": _suffixed(_FAIRSEQ),
    "BlenderbotSmallTokenizer": _joined(
        ["__null__", "__start__", "__end__", "__unk__", "__newln__"], counted=False
    ),
    "ByT5Tokenizer": _plain,
    "CTRLTokenizer": _joined(["<unk>"], counted=False),
    "CanineTokenizer": _plain,
    "ClvpTokenizer": _byte_level,
    "CpmAntTokenizer": _cpm_ant,
    "CpmTokenizer": _spm,
    "CpmTokenizerFast": _cpm_fast,
    "DiaTokenizer": _plain,
    "EsmTokenizer": _esm,
    "FSMTTokenizer": _fsmt,
    "FastSpeech2ConformerTokenizer": _fast_speech,
    "FlaubertTokenizer": _suffixed([*_FAIRSEQ, *_SPECIALS]),
    "GPTNeoXJapaneseTokenizer": _gpt_neox_japanese,
    "GPTSw3Tokenizer": lambda found, folder: _spm(
        found, folder, pad_id=0, bos_id=2, eos_id=3, unk_id=1
    ),
    "M2M100Tokenizer": _spm_with_json(["<s>", "<pad>", "</s>", "<unk>"]),
    "MarianTokenizer": _marian,
    "MarkupLMTokenizer": _markup,
    "MgpstrTokenizer": _letters(["[GO]", "[s]"]),
    "MyT5Tokenizer": _my_t5,
    "PLBartTokenizer": _spm,
    "ParakeetTokenizer": _unigram,
    "PegasusTokenizer": _unigram,
    "PerceiverTokenizer": _plain,
    "PhobertTokenizer": _joined(_FAIRSEQ, counted=True),
    "ProphetNetTokenizer": lambda found, folder: found(
        _lines(folder / "vocab.txt", [*_word_pieces(), "[X_SEP]"])
    ),
    "RoCBertTokenizer": _roc_bert,
    "RoFormerTokenizer": _roformer,
    "SiglipTokenizer": _spm,
    "Speech2TextTokenizer": _spm_with_json(["<s>", "<pad>", "</s>", "<unk>"]),
    "SpeechT5Tokenizer": lambda found, folder: _spm(found, folder, model_type="char"),
    "TapasTokenizer": lambda found, folder: found(
        _lines(folder / "vocab.txt", [*_word_pieces(), "[EMPTY]"])
    ),
    "VitsTokenizer": _vits,
    "Wav2Vec2CTCTokenizer": _letters(["<pad>", "<s>", "</s>", "<unk>"], space="|"),
    "Wav2Vec2PhonemeCTCTokenizer": _phonemes,
    "XLMTokenizer": _suffixed([*_FAIRSEQ, *_SPECIALS]),
}
