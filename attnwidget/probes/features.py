"""What probes read, computed once: word maps or hidden states of sentences, in a file on disk."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, get_args, overload

import numpy as np
import torch
from torch import Tensor

from attnwidget.corpus.accumulator import LayerBatch
from attnwidget.corpus.argument_checks import SENTENCES, all_of, one_of, refuse_no_model
from attnwidget.corpus.batches import batched
from attnwidget.corpus.model_reader import ModelReader
from attnwidget.corpus.progress_bar import progress_bar
from attnwidget.corpus.resume_file import digest_of
from attnwidget.corpus.run_on import workers_in_force
from attnwidget.kernels.arrays import FloatArray
from attnwidget.kernels.word_maps import WordMaps, word_means
from attnwidget.model_facts.free_memory import give_memory_back
from attnwidget.model_facts.pickled_model import configuration_of
from attnwidget.probes.feature_file import FeatureFile, FeatureKind, FeatureLayout, Precision
from attnwidget.text.segments import Segment
from attnwidget.text.treebank import Sentence
from attnwidget.words.word_segments import (
    WordSegment,
    WordSegmenter,
    word_owners,
)

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

_SECONDS_BETWEEN_FLUSHES = 5.0


class StoredFeatures(Sequence[FloatArray]):
    """What a model computes for the words of sentences, a read-only array a sentence, on disk.

    Made by `extract_features`. Arrays are mapped from the file on access and released after use, so
    memory does not grow with the number of sentences.

    Attributes:
        kind: "maps", [L * H, m + 2, m + 2] a sentence of m words, layer by layer: attention between
            words, rows attend, sums over the attended word's tokens and means over the attending
            one's (Clark et al. 2019, section 4.1). Row and column 0 belong to the special tokens
            before the text ([CLS]), the last row and column to the special tokens after it ([SEP]),
            0 without such tokens. Or "hidden", [N, m, d], the mean of each word's tokens; N is the
            number of requested layers.
        sentences: those that were read, in the order given; `features[i]` is of `sentences[i]`.
        n_skipped: sentences left out.
        n_layers: layers of the model.
        n_heads: attention heads a layer.
        layers: of "hidden", which states they are: 0 the embeddings, l what layer l - 1 gives.
        model_name: what was read.
        model_digest: A fingerprint of the model: its weights, its config, and its disabled heads.
        path: The file, described by `index.json` in the same folder.
    """

    def __init__(
        self, layout: FeatureLayout, sentences: Sequence[Sentence], n_skipped: int, path: Path
    ) -> None:
        self.kind = layout.kind
        self.layers = layout.layers
        self.sentences = tuple(sentences)
        self.n_skipped = n_skipped
        self.n_layers = layout.n_layers
        self.n_heads = layout.n_heads
        self.model_name = layout.model_name
        self.model_digest = layout.model_digest
        self.path = path
        self._shapes = [layout.shape(len(sentence)) for sentence in self.sentences]
        self._offsets = layout.offsets(map(len, self.sentences))
        self._type = layout.type

    @property
    def nbytes(self) -> int:
        """Size of the file."""
        return int(self._offsets[-1])

    def __len__(self) -> int:
        return len(self.sentences)

    @overload
    def __getitem__(self, index: int) -> FloatArray: ...
    @overload
    def __getitem__(self, index: slice) -> list[FloatArray]: ...
    def __getitem__(self, index: int | slice) -> FloatArray | list[FloatArray]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        at = int(self._offsets[index])
        shape = self._shapes[index]
        return np.memmap(self.path, self._type, "r", at, shape)

    def __repr__(self) -> str:
        size = f"{self.nbytes / 1e6:,.1f} MB"
        return f"StoredFeatures({self.kind} of {self.model_name}, {len(self):,} sentences, {size})"


def extract_features(
    model: AttentionModel,
    sentences: Iterable[Sentence],
    folder: str | Path,
    *,
    kind: FeatureKind = "maps",
    layers: Sequence[int] | None = None,
    dtype: Precision = "float16",
    skip_unaligned: bool = False,
    batch_size: int = 32,
    progress: bool = True,
) -> StoredFeatures:
    """Return the values of a model for the words of sentences, from a folder if stored.

    Every combination of model, sentences and options has a folder of its own in `folder`. What was
    interrupted, by Ctrl-C or by a killed process, goes on after the last batch that had reached the
    disk, to the same bytes. Only one batch is in memory at a time.

    Args:
        model: what `load_model` gave; of an encoder-decoder the encoder is read.
        sentences: of a treebank (`load_treebank`).
        folder: made if it is not there; the folder above it is.
        kind: "maps", attention between words of every head, or "hidden", states of layers.
        layers: of "hidden", which states: 0 the embeddings, l what layer l - 1 gives, as
            transformers counts them; None = all, the number of layers + 1.
        dtype: of the file; "float16" keeps three digits, in half the space.
        skip_unaligned: leave out sentences that have a word without tokens or a token of several
            words, or are too long for the model, and count them, instead of raising.
        batch_size: sentences that go through the model together.
        progress: show a progress bar, which says how much space the file takes.

    Raises:
        OSError: less space is free than the file needs, known before anything is computed; the
            folder cannot be made.
        RuntimeError: the model was closed, or changed meanwhile; another run writes the same file.
        ValueError: no sentences; one that is too long, or has a word without tokens or a token of
            several words; a layer that the model has not; a number that float16 cannot hold.
        WorkersError: as in `measure`, after what was computed is safe.
        KeyboardInterrupt: by Ctrl-C, likewise.

    Example:
        >>> import tempfile
        >>> from attnwidget import load_model
        >>> from attnwidget.demo import demo_treebank
        >>> from attnwidget.probes.features import extract_features
        >>> sentences = demo_treebank()[:4]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     maps = extract_features(load_model(), sentences, folder, progress=False)
        ...     print(len(sentences[0]), maps[0].shape, maps)
        14 (72, 16, 16) StoredFeatures(maps of small BERT (in the package), 4 sentences, 0.2 MB)
    """
    refuse_no_model(model)
    listed = all_of(Sentence, sentences, SENTENCES)
    one_of("kind", kind, get_args(FeatureKind))
    one_of("dtype", dtype, get_args(Precision))
    if not listed:
        raise ValueError("there are no sentences to read: pass those of a treebank")
    texts = [sentence.running for sentence in listed]
    segments, n_skipped = WordSegmenter(model).segments(texts, skip_unaligned)
    reader = _reader(model)
    layout = _layout(model, reader, segments[0], kind, layers, dtype)
    kept = [listed[segment.index] for segment in segments]
    key = digest_of([vars(layout), batch_size, [(one.first, one.words) for one in segments]])
    workers = workers_in_force(partial(_read_batches, reader, layout))
    batches = list(batched(segments, batch_size))
    lengths = [len(kept_segment) for kept_segment in kept]
    # Segments know their place among those that are kept.
    places = {segment.index: place for place, segment in enumerate(segments)}
    with FeatureFile(Path(folder), f"{kind}-{key[:16]}", layout, lengths, len(batches)) as file:
        left = batches[file.n_batches :]
        saved_at = time.monotonic()
        n_done = len(segments) - sum(map(len, left))
        what = f"sentence ({file.nbytes / 1e6:,.0f} MB)"
        results: Generator[tuple[Sequence[Segment], list[FloatArray]]]
        if workers is None:
            results = ((batch, _read(reader, batch, layout)) for batch in left)
        else:
            results = workers.each(left, lambda shard: (shard,), first=file.n_batches + 1)
        with (
            progress_bar(len(segments), what, done=n_done, shown=progress) as bar,
            closing(results),
        ):
            for batch, read_values in results:
                for segment, values in zip(_word_segments(batch), read_values, strict=True):
                    file.write(places[segment.index], values)
                file.n_batches += 1
                bar.update(len(batch))
                give_memory_back()
                if time.monotonic() - saved_at > _SECONDS_BETWEEN_FLUSHES:
                    file.flush()
                    saved_at = time.monotonic()
    return StoredFeatures(layout, kept, n_skipped + len(listed.left_out), file.path)


def _read_batches(
    reader: ModelReader, layout: FeatureLayout, batches: Sequence[Sequence[Segment]]
) -> list[list[FloatArray]]:
    """Return the features of the batches of a shard, in a worker."""
    with reader.worker_model.lock.in_turn(), reader.worker_model.reading():
        return [_read(reader, batch, layout) for batch in batches]


def model_digest(model: AttentionModel, reader: ModelReader | None = None) -> str:
    """Return a fingerprint of a model: weights, config, and disabled heads."""
    about = (reader or _reader(model)).about()
    said = configuration_of(model.hf_model)
    return digest_of([about["model"], about["weights"], about["edits"], said])


def sentence_maps(model: AttentionModel, sentence: Sentence) -> FloatArray:
    """Float32 [L * H, m + 2, m + 2] of one sentence, rounded as in the file of `StoredFeatures`.

    Raises:
        ValueError: the sentence is too long for the model, or has a word without tokens or a token
            of several words.
    """
    segment = WordSegmenter(model)(sentence.running)
    reader = _reader(model)
    layout = _layout(model, reader, segment, "maps", None, "float16")
    return _read(reader, [segment], layout)[0].astype(np.float32)


def _reader(model: AttentionModel) -> ModelReader:
    return ModelReader(model, [], None)


def _layout(
    model: AttentionModel,
    reader: ModelReader,
    segment: WordSegment,
    kind: FeatureKind,
    layers: Sequence[int] | None,
    dtype: Precision,
) -> FeatureLayout:
    subject = reader.subject(segment)
    width = 0
    chosen = tuple(layers or ())
    if kind == "maps" and layers is not None:
        raise ValueError("layers are of hidden states; maps are those of all layers")
    if kind == "hidden":
        states = reader.hidden_states([segment])[1]
        width = states[0].shape[-1]
        chosen = tuple(range(len(states))) if layers is None else chosen
        wrong = [layer for layer in chosen if not 0 <= layer < len(states)]
        if wrong or not chosen or len(set(chosen)) < len(chosen):
            raise ValueError(
                f"layers are one or more of 0 (the embeddings) to {len(states) - 1}, each once, "
                f"got {list(chosen)}"
            )
    return FeatureLayout(
        kind=kind,
        layers=chosen,
        n_layers=subject.n_layers,
        n_heads=subject.n_heads,
        width=width,
        dtype=dtype,
        model_name=model.name,
        model_digest=model_digest(model, reader),
    )


def _read(reader: ModelReader, batch: Sequence[Segment], layout: FeatureLayout) -> list[FloatArray]:
    """The features of a batch's segments, as the file holds them."""
    segments = _word_segments(batch)
    values = [np.zeros(layout.shape(one.n_words), layout.type) for one in segments]
    pooling: list[WordMaps] = []

    def keep(first: int, batch_values: Tensor) -> None:
        stored = batch_values.to(getattr(torch, layout.dtype)).cpu().numpy()  # [B, ..., ..., ...]
        for of_layer, of_text in zip(values, stored, strict=True):
            # A text without special tokens after it has zeros in the last column.
            rows, columns = np.minimum(of_layer.shape, of_text.shape)[1:]
            of_layer[first : first + len(of_text), :rows, :columns] = of_text[:, :rows, :columns]

    def of_layer(layer: LayerBatch) -> None:
        if layer.layer == 0:
            pooling.append(WordMaps(word_owners(layer.batch, special=True)))
        number = reader.layers.numbers[layer.layer] if reader.layers else layer.layer
        keep(number * layout.n_heads, pooling[0](layer.weights))

    if layout.kind == "maps":
        reader.read(batch, of_layer)
    else:
        read, states = reader.hidden_states(batch)
        owners = word_owners(read)
        for place, layer in enumerate(layout.layers):
            keep(place, word_means(states[layer].float(), owners)[:, None])
    for segment, of_segment in zip(segments, values, strict=True):
        if not np.isfinite(of_segment).all():
            raise ValueError(
                f"text {segment.index + 1} of those given has {layout.kind} that {layout.dtype} "
                "cannot hold: pass dtype='float32', or a model without NaN"
            )
    return values


def _word_segments(batch: Sequence[Segment]) -> list[WordSegment]:
    return [segment for segment in batch if isinstance(segment, WordSegment)]
