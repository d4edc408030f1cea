"""Links from frame elements to the words that evoke their frames, from FrameNet's XML."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.parsers.expat import ParserCreate

from attnwidget.hidden_frames import hides_frames
from attnwidget.text.given_paths import refuse_no_file, refuse_no_folder
from attnwidget.text.word_links import Link, LinkedSentence

_FILES = r"frame/.*\.xml|lu/.*\.xml|.*\.xml"
_LISTS = ("frameIndex.xml", "luIndex.xml", "frRelation.xml")
_EXPECTED = "the folder of FrameNet 1.7 (with frameIndex.xml)"
_LAYOUT = ("frame", "lu", *_LISTS)


@hides_frames
def load_framenet_links(
    source: str | Path | Any,
    *,
    max_words: int = 12,
    max_element_words: int = 3,
    min_distance: int = 3,
) -> list[LinkedSentence]:
    """Load links from frame elements to their targets (Kovaleva et al. 2019, section 4.2).

    Sentences are exemplars of lexical units with at most `max_words` words and one target span.
    Their frame elements (first layer) have at most `max_element_words` words each and are at least
    `min_distance` words from the target. Frame elements in a core set of the frame are linked, and
    a sentence needs at least one link. Words are split as in the Penn Treebank. Spans come from the
    annotation, not from the spelling, so the sentences may differ from the paper's 473 sentences
    from FrameNet 1.7.

    Args:
        source: FrameNet folder (with frameIndex.xml), or nltk's reader for it.
        max_words: Largest number of words in a sentence.
        max_element_words: Largest number of words in a frame element.
        min_distance: Smallest distance between the target and the nearest word of an element, in
            words; 3 leaves two words between them.

    Returns:
        One sentence per exemplar. The source of a link is the frame element, which attends; the
        target is the word that evokes the frame; the label is "Frame.Element".

    Raises:
        ImportError: nltk is not installed.
        ValueError: `source` is not a FrameNet folder, a file cannot be read, or no sentence
            qualifies.
        OSError: The folder does not exist, is a file or cannot be read.

    Example:
        >>> from attnwidget import load_framenet_links
        >>> sentences = load_framenet_links("nltk_data/corpora/framenet_v17")  # doctest: +SKIP
    """
    try:
        from nltk.tokenize import NLTKWordTokenizer
    except ImportError as error:
        raise ImportError(
            "load_framenet_links reads FrameNet with nltk, which is not installed: "
            'pip install "attnwidget[framenet]"'
        ) from error
    cutter = NLTKWordTokenizer()
    candidates = []
    with _reader(source) as reader:
        for exemplar in _exemplars(reader, source):
            with _naming(source, f"exemplar {exemplar.get('ID')}"):
                candidates.append(
                    _linked(exemplar, cutter, max_words, max_element_words, min_distance)
                )
    sentences = [sentence for sentence in candidates if sentence is not None]
    if not sentences:
        raise ValueError(f"no exemplar sentence of {source} passes the filters")
    return sentences


@contextmanager
def _reader(source: str | Path | Any) -> Iterator[Any]:
    """Yield nltk's reader for a folder, or `source` itself if it is a reader."""
    if not isinstance(source, (str, Path)):
        yield source
        return
    import nltk.data
    from nltk.corpus.reader.framenet import FramenetCorpusReader

    refuse_no_folder(source, _EXPECTED)
    folder = Path(source).resolve()
    if missing := [name for name in _LAYOUT if not (folder / name).exists()]:
        raise ValueError(
            f"{folder} is not FrameNet's folder: it has no {', '.join(missing)}; name the one with "
            "frameIndex.xml in it"
        )
    for path in (*folder.glob("*.xml"), *folder.glob("frame/*.xml"), *folder.glob("lu/*.xml")):
        refuse_no_file(path, "an XML file of FrameNet", may_be_empty=True)
    for name in _LISTS:
        # nltk does not notice when a file was truncated between two entries, and returns the
        # entries before the end.
        with _naming(folder, name), (folder / name).open("rb") as file:
            ParserCreate().ParseFile(file)
    # Recent versions of nltk read only files inside the folders of `nltk.data.path`.
    nltk.data.path.append(str(folder))
    try:
        yield FramenetCorpusReader(str(folder), _FILES)
    finally:
        nltk.data.path.remove(str(folder))


def _exemplars(reader: Any, source: object) -> Iterator[Any]:
    """Yield the annotated sentences of all lexical units."""
    with _naming(source, "luIndex.xml, frameIndex.xml or a file in frame"):
        units = list(reader.lus())
    for unit in units:
        with _naming(source, f"lu/lu{unit.ID}.xml or its frame's file"):
            exemplars = list(unit.exemplars)
        yield from exemplars


@contextmanager
def _naming(source: object, place: str) -> Iterator[None]:
    """Add the file name to errors, because nltk raises various errors for missing XML parts."""
    try:
        yield
    except Exception as error:
        raise ValueError(
            f"{source}: {place} is not as in FrameNet 1.7, and cannot be read "
            f"({_error_text(error)}): fetch the data again"
        ) from error


def _error_text(error: Exception) -> str:
    try:
        message = str(error)
    except Exception:
        # Some errors of nltk cannot be printed, because they contain parts of the file.
        message = ""
    return f"{type(error).__name__}: {message[:200]}" if message else type(error).__name__


def _linked(
    exemplar: Any, cutter: Any, max_words: int, max_element_words: int, min_distance: int
) -> LinkedSentence | None:
    """Return the sentence of an exemplar with its links, or None if a filter excludes it."""
    targets = exemplar.get("Target")
    elements = exemplar.get("FE")
    if not targets or len(targets) != 1 or not elements or not elements[0]:
        return None
    spans = list(cutter.span_tokenize(exemplar.text))
    if len(spans) > max_words:
        return None
    target = _words(spans, *targets[0])
    core = {element.name for core_set in exemplar.frame.FEcoreSets for element in core_set}
    links = []
    for start, end, name in elements[0]:
        words = _words(spans, start, end)
        too_near = any(abs(a - b) < min_distance for a in words for b in target)
        if not words or not target or len(words) > max_element_words or too_near:
            return None
        if name in core:
            links.append(Link(words, target, f"{exemplar.frame.name}.{name}"))
    if not links:
        return None
    words_of_text = tuple(exemplar.text[start:end] for start, end in spans)
    return LinkedSentence(words_of_text, tuple(links), f"exemplar {exemplar.ID}")


def _words(spans: list[tuple[int, int]], start: int, end: int) -> tuple[int, ...]:
    """Return the words that overlap with a character span."""
    return tuple(i for i, (first, stop) in enumerate(spans) if first < end and stop > start)
