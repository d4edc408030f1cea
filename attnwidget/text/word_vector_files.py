"""Readers for word vectors: GloVe, word2vec, numpy and spaCy. Errors name file and line."""

from __future__ import annotations

import math
import os
import re
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from attnwidget.hidden_frames import hides_frames
from attnwidget.text.decoded_lines import decoded_lines
from attnwidget.text.given_paths import looks_like_path, refuse_no_file
from attnwidget.text.near_names import did_you_mean
from attnwidget.text.stored_arrays import stored_arrays
from attnwidget.text.whole_number import whole_number
from attnwidget.text.word_vectors import WordVectors

_EXPECTED = (
    "word vectors (GloVe or word2vec text, plain or .gz, word2vec .bin, or .npz), or a pipeline of "
    "spaCy"
)
# Largest number of bytes in a word or header; a file with a longer one has no word vectors.
_LONGEST = 4096
_COUNT = re.compile("[0-9]{1,18}")


@hides_frames
def load_vectors(path: str | Path, *, limit: int | None = None) -> WordVectors:
    r"""Load word vectors from a file or a spaCy pipeline.

    GloVe text has one line per word: the word and its numbers, separated by spaces. word2vec text
    has the same lines after a first line with the number of words and the number of dimensions.
    Both may be .gz files. word2vec binary files end in .bin. A numpy file is an .npz with arrays
    `words` [N] of strings and `vectors` [N, d], without pickled objects. Pass a spaCy pipeline with
    vectors by name or folder, such as "en_core_web_md"; it needs the extra `attnwidget[spacy]`.

    Words are looked up in lower case; vectors of words with capitals are not used.

    Args:
        path: File, or spaCy pipeline.
        limit: Number of words to read; None = all words. GloVe files begin with frequent words.

    Raises:
        ValueError: A line has more or fewer numbers than the first line, or an invalid or infinite
            number; there are no words; or the file has another format. The message names file and
            line.
        OSError: The file cannot be read.
        ImportError: spaCy is needed but not installed.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from attnwidget import load_vectors
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "glove.txt")
        ...     _ = path.write_text("the 0.1 0.2\ncat 0.3 0.4\n")
        ...     vectors = load_vectors(path)
        >>> vectors, vectors.coverage(["The", "dog"])
        (WordVectors('glove.txt', 2 words, 2 dimensions), 0.5)
    """
    if limit is not None:
        limit = whole_number("limit", limit, 1, "word")
    source = Path(path)
    if not os.path.lexists(source) and looks_like_path(path):
        refuse_no_file(source, _EXPECTED)
    if source.is_dir() or not (source.suffix or source.exists()):
        return _from_spacy(path, limit)
    if source.suffix == ".npz":
        return _from_npz(source, limit)
    return (_from_binary if source.suffix == ".bin" else _from_text)(source, limit)


def _from_text(path: Path, limit: int | None) -> WordVectors:
    """Return the vectors of a GloVe or word2vec text file."""
    words: list[str] = []
    numbers = array("f")
    stated_count = None
    dimension = 0
    for line, text in enumerate(decoded_lines(path, _EXPECTED), 1):
        parts = text.rstrip().split(" ")
        if line == 1 and len(parts) == 2 and all(map(_COUNT.fullmatch, parts)):
            stated_count = int(parts[0])
            dimension = int(parts[1])
            continue
        # Some GloVe words contain spaces, so the last parts of a line are its numbers.
        dimension = dimension or _n_numbers(parts)
        word = parts[: max(0, len(parts) - dimension)]
        last_parts = parts[-dimension:]
        if not dimension or not "".join(word) or (len(word) > 1 and _is_number(word[-1])):
            raise ValueError(
                f"{path}:{line}: expected a word and {dimension or 'its'} numbers, as in the "
                f"lines before, got {len(parts)} parts: {text[:40]!r}"
            )
        try:
            values = [float(part) for part in last_parts]
        except ValueError as error:
            raise ValueError(
                f"{path}:{line}: expected {dimension} numbers after {' '.join(word)!r}: {error}"
            ) from error
        if not math.isfinite(sum(values)):
            raise ValueError(f"{path}:{line}: the vector of {' '.join(word)!r} is not finite")
        numbers.extend(values)
        words.append(" ".join(word))
        if len(words) == limit:
            break
    _refuse_cut(path, len(words), stated_count, limit)
    matrix = np.frombuffer(numbers, np.float32).reshape(len(words), -1) if words else _NONE
    return _named(path, words, matrix)


def _from_binary(path: Path, limit: int | None) -> WordVectors:
    """Return the vectors of a word2vec binary file."""
    refuse_no_file(path, _EXPECTED)
    file_size = path.stat().st_size
    with path.open("rb") as file:
        header = file.readline(_LONGEST).split()
        if len(header) != 2 or not all(part.isdigit() for part in header) or not int(header[1]):
            raise ValueError(
                f"{path}: no word2vec .bin file: it begins with the number of words and of "
                f"dimensions, got {b' '.join(header)[:40]!r}"
            )
        stated_count, dimension = map(int, header)
        words = []
        rows = []
        for number in range(1, min(stated_count, limit or stated_count) + 1):
            # Python would allocate the requested size even if the file is shorter.
            word = _word(file)
            raw = file.read(min(4 * dimension, file_size))
            if word is None or len(raw) < 4 * dimension:
                break
            vector = np.frombuffer(raw, "<f4")
            if not np.isfinite(vector).all():
                raise ValueError(f"{path}: word {number} {word!r}: its vector is not finite")
            words.append(word)
            rows.append(vector)
    _refuse_cut(path, len(words), stated_count, limit)
    return _named(path, words, np.array(rows, np.float32) if rows else _NONE)


def _word(file: BinaryIO) -> str | None:
    """Return the text up to the next space, or None at the end of the file."""
    encoded = bytearray()
    while (byte := file.read(1)) != b" ":
        if not byte or len(encoded) > _LONGEST:
            return None
        encoded += byte
    return encoded.decode("utf-8", "replace").lstrip("\n")


def _from_npz(path: Path, limit: int | None) -> WordVectors:
    """Return the vectors of a numpy file."""
    advice = "write it with numpy.savez(path, words=numpy.array(words), vectors=vectors)"
    refuse_no_file(path, _EXPECTED)
    try:
        arrays = stored_arrays(path)
    except ValueError as error:
        raise ValueError(f"{error}: {advice}") from error
    if missing := {"words", "vectors"} - {*arrays}:
        raise ValueError(
            f"{path} has no array {' or '.join(sorted(missing))!r}, only "
            f"{', '.join(arrays)[:200] or 'nothing'}: {advice}"
        )
    words = arrays["words"]
    vectors = arrays["vectors"]
    is_text = words.dtype.kind == "U"
    are_numbers = vectors.dtype.kind in "fiu"
    if not is_text or words.ndim != 1 or not are_numbers or not vectors.ndim:
        raise ValueError(
            f"{path}: expected `words` [N] of text and `vectors` [N, d] of numbers, got "
            f"{words.dtype} {list(words.shape)} and {vectors.dtype} {list(vectors.shape)}: {advice}"
        )
    if len(words) != len(vectors):
        raise ValueError(f"{path}: {len(words):,} words and {len(vectors):,} vectors: one a word")
    return _named(path, words[:limit].tolist(), vectors[:limit])


def _from_spacy(pipeline: str | Path, limit: int | None) -> WordVectors:
    """Return the vectors of a spaCy pipeline."""
    try:
        import spacy
    except ImportError as error:
        raise ImportError(
            f"there is no file {os.path.abspath(pipeline)!r}; to read {str(pipeline)!r} as a spaCy "
            "pipeline, install attnwidget[spacy]"
        ) from error
    try:
        vocab = spacy.load(pipeline).vocab
    except OSError as error:
        similar_name = did_you_mean(str(pipeline), spacy.util.get_installed_models())
        suggestion = f"{similar_name} Otherwise " if similar_name else ""
        raise FileNotFoundError(
            f"{str(pipeline)!r} is neither a file of word vectors ({os.path.abspath(pipeline)!r}) "
            f"nor a spaCy pipeline that is installed: {suggestion}name a file, or run "
            "python -m spacy download en_core_web_md"
        ) from error
    word_rows = [
        (vocab.strings[key], row) for key, row in vocab.vectors.key2row.items() if row >= 0
    ]
    if not word_rows:
        raise ValueError(f"the spaCy pipeline {str(pipeline)!r} has no word vectors: name a larger")
    selected_rows = sorted(word_rows, key=lambda pair: pair[1])[:limit]
    rows = vocab.vectors.data[[row for _, row in selected_rows]]
    return _named(Path(pipeline), [word for word, _ in selected_rows], np.asarray(rows, np.float32))


_NONE = np.zeros((0, 0), np.float32)


def _named(path: Path, words: Sequence[str], matrix: NDArray[np.float32]) -> WordVectors:
    """Return word vectors with the name of their file, also in errors."""
    try:
        return WordVectors(words, matrix, path.name)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _refuse_cut(path: Path, n_words: int, promised: int | None, limit: int | None) -> None:
    """Refuse a file without words, or with fewer words than its first line states."""
    if not n_words:
        raise ValueError(f"{path} holds no words: it is empty")
    if promised is not None and n_words < min(promised, limit or promised):
        raise ValueError(
            f"{path}: its first line says {promised:,} words, it has {n_words:,}: the file is cut "
            "short, fetch it again"
        )


def _n_numbers(parts: Sequence[str]) -> int:
    """Return the number of numbers at the end of a line, whose first part is a word."""
    count = 0
    while count < len(parts) - 1 and _is_number(parts[-1 - count]):
        count += 1
    return count


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
