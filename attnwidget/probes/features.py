"""Inputs of probes, computed once: word maps or hidden states of sentences, in a file on disk."""

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
    """Values that a model computes for the words of sentences, one read-only array per sentence.

    Made by `extract_features`. Arrays are mapped from the file on access and released after use, so
    memory does not grow with the number of sentences.

    Attributes:
        kind: Kind of features. "maps" are [L * H, m + 2, m + 2] for a sentence of m words, layer by
            layer: attention between words, where rows attend, summed over the tokens of the
                attended
            word and averaged over the tokens of the attending word (Clark et al. 2019, section
            4.1). Row and column 0 are for the special tokens before the text ([CLS]), the last row
            and column for the special tokens after it ([SEP]), 0 without such tokens. "hidden" is
            [N, m, d], the mean over each word's tokens; N is the number of requested layers.
        sentences: Processed sentences, in the given order; `features[i]` belongs to `sentences[i]`.
        n_skipped: Number of skipped sentences.
        n_layers: Number of layers of the model.
        n_heads: Number of attention heads per layer.
        layers: Indices of the hidden states: 0 for the embeddings, l for the output of layer l - 1.
        model_name: Name of the model.
        model_digest: Fingerprint of the model: its weights, its config, and its disabled heads.
        path: Path of the file, described by `index.json` in the same folder.
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
        """Size of the file in bytes."""
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
        offset = int(self._offsets[index])
        shape = self._shapes[index]
        return np.memmap(self.path, self._type, "r", offset, shape)

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

    Every combination of model, sentences and options has its own folder in `folder`. After an
    interruption by Ctrl-C or a killed process, the computation resumes after the last batch on
    disk, with the same bytes. Only one batch is in memory at a time.

    Args:
        model: Model from `load_model`. For an encoder-decoder, the encoder is used.
        sentences: Sentences of a treebank (`load_treebank`).
        folder: Folder for the files; created if its parent exists.
        kind: Kind of features: "maps", attention between words for every head, or "hidden", states
            of layers.
        layers: Indices of the states for "hidden": 0 for the embeddings, l for the output of layer
            l - 1, as in transformers; None = all, the number of layers + 1.
        dtype: Type of the stored values; "float16" keeps three digits, in half the space.
        skip_unaligned: Whether to skip and count sentences that have a word without tokens or a
            token of several words, or are too long for the model. By default, they raise an error.
        batch_size: Number of sentences in a forward pass.
        progress: Whether to show a progress bar, with the size of the file.

    Raises:
        OSError: If there is less free space than the file needs, which is checked first, or the
            folder cannot be created.
        RuntimeError: If the model was closed or changed during the call, or another run writes the
            same file.
        ValueError: If there are no sentences; if a sentence is too long, or has a word without
            tokens or a token of several words; if the model lacks a layer; or if float16 cannot
            hold a value.
        WorkersError: As in `measure`. Finished batches are stored.
        KeyboardInterrupt: If Ctrl-C was pressed. Finished batches are stored.

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
    treebank_sentences = all_of(Sentence, sentences, SENTENCES)
    one_of("kind", kind, get_args(FeatureKind))
    one_of("dtype", dtype, get_args(Precision))
    if not treebank_sentences:
        raise ValueError("there are no sentences to read: pass those of a treebank")
    texts = [sentence.running for sentence in treebank_sentences]
    segments, n_skipped = WordSegmenter(model).segments(texts, skip_unaligned)
    reader = _reader(model)
    layout = _layout(model, reader, segments[0], kind, layers, dtype)
    aligned_sentences = [treebank_sentences[segment.index] for segment in segments]
    key = digest_of(
        [vars(layout), batch_size, [(segment.first, segment.words) for segment in segments]]
    )
    workers = workers_in_force(partial(_read_batches, reader, layout))
    batches = list(batched(segments, batch_size))
    lengths = [len(sentence) for sentence in aligned_sentences]
    # `StoredFeatures` numbers sentences by their position among the aligned sentences.
    positions = {segment.index: position for position, segment in enumerate(segments)}
    with FeatureFile(Path(folder), f"{kind}-{key[:16]}", layout, lengths, len(batches)) as file:
        remaining = batches[file.n_batches :]
        saved_at = time.monotonic()
        n_done = len(segments) - sum(map(len, remaining))
        bar_unit = f"sentence ({file.nbytes / 1e6:,.0f} MB)"
        results: Generator[tuple[Sequence[Segment], list[FloatArray]]]
        if workers is None:
            results = ((batch, _read(reader, batch, layout)) for batch in remaining)
        else:
            results = workers.each(remaining, lambda shard: (shard,), first=file.n_batches + 1)
        with (
            progress_bar(len(segments), bar_unit, done=n_done, shown=progress) as bar,
            closing(results),
        ):
            for batch, read_values in results:
                for segment, values in zip(_word_segments(batch), read_values, strict=True):
                    file.write(positions[segment.index], values)
                file.n_batches += 1
                bar.update(len(batch))
                give_memory_back()
                if time.monotonic() - saved_at > _SECONDS_BETWEEN_FLUSHES:
                    file.flush()
                    saved_at = time.monotonic()
    return StoredFeatures(
        layout, aligned_sentences, n_skipped + len(treebank_sentences.left_out), file.path
    )


def _read_batches(
    reader: ModelReader, layout: FeatureLayout, batches: Sequence[Sequence[Segment]]
) -> list[list[FloatArray]]:
    """Return the features for the batches of a shard, in a worker."""
    with reader.worker_model.lock.in_turn(), reader.worker_model.reading():
        return [_read(reader, batch, layout) for batch in batches]


def model_digest(model: AttentionModel, reader: ModelReader | None = None) -> str:
    """Return a fingerprint of a model: weights, config, and disabled heads."""
    facts = (reader or _reader(model)).about()
    configuration = configuration_of(model.hf_model)
    return digest_of([facts["model"], facts["weights"], facts["edits"], configuration])


def sentence_maps(model: AttentionModel, sentence: Sentence) -> FloatArray:
    """Return the maps of one sentence, float32 [L * H, m + 2, m + 2], rounded as in the file.

    Raises:
        ValueError: If the sentence is too long for the model, or has a word without tokens or a
            token of several words.
    """
    segment = WordSegmenter(model)(sentence.running)
    reader = _reader(model)
    layout = _layout(model, reader, segment, "maps", None, "float16")
    return _read(reader, [segment], layout)[0].astype(np.float32)


def sentence_states(model: AttentionModel, sentence: Sentence, layers: Sequence[int]) -> FloatArray:
    """Return the states of one sentence, float32 [N, m, d], rounded as in the file.

    The model reads the sentence once.

    Args:
        model: Model from `load_model`.
        sentence: Sentence with m words.
        layers: Indices of N states, as in `extract_features`.

    Raises:
        ValueError: As in `sentence_maps`.
    """
    segment = WordSegmenter(model)(sentence.running)
    pass_inputs, states = _reader(model).hidden_states([segment])
    owners = word_owners(pass_inputs)
    vectors = [word_means(states[layer].float(), owners) for layer in layers]
    return torch.cat(vectors).half().float().cpu().numpy()


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
    state_indices = tuple(layers or ())
    if kind == "maps" and layers is not None:
        raise ValueError("layers are of hidden states; maps are those of all layers")
    if kind == "hidden":
        states = reader.hidden_states([segment])[1]
        width = states[0].shape[-1]
        state_indices = tuple(range(len(states))) if layers is None else state_indices
        unknown = [layer for layer in state_indices if not 0 <= layer < len(states)]
        if unknown or not state_indices or len(set(state_indices)) < len(state_indices):
            raise ValueError(
                f"layers are one or more of 0 (the embeddings) to {len(states) - 1}, each once, "
                f"got {list(state_indices)}"
            )
    return FeatureLayout(
        kind=kind,
        layers=state_indices,
        n_layers=subject.n_layers,
        n_heads=subject.n_heads,
        width=width,
        dtype=dtype,
        model_name=model.name,
        model_digest=model_digest(model, reader),
    )


def _read(reader: ModelReader, batch: Sequence[Segment], layout: FeatureLayout) -> list[FloatArray]:
    """Return the features of a batch's segments, in the form of the file."""
    segments = _word_segments(batch)
    values = [np.zeros(layout.shape(segment.n_words), layout.type) for segment in segments]
    pooling: list[WordMaps] = []

    def keep(first: int, batch_values: Tensor) -> None:
        stored = batch_values.to(getattr(torch, layout.dtype)).cpu().numpy()  # [B, ..., ..., ...]
        for target, source in zip(values, stored, strict=True):
            # A text without special tokens at its end has zeros in the last column.
            rows, columns = np.minimum(target.shape, source.shape)[1:]
            target[first : first + len(source), :rows, :columns] = source[:, :rows, :columns]

    def of_layer(layer: LayerBatch) -> None:
        if layer.layer == 0:
            pooling.append(WordMaps(word_owners(layer.batch, special=True)))
        number = reader.layers.numbers[layer.layer] if reader.layers else layer.layer
        keep(number * layout.n_heads, pooling[0](layer.weights))

    if layout.kind == "maps":
        reader.read(batch, of_layer)
    else:
        pass_inputs, states = reader.hidden_states(batch)
        owners = word_owners(pass_inputs)
        for position, layer in enumerate(layout.layers):
            keep(position, word_means(states[layer].float(), owners)[:, None])
    for segment, segment_values in zip(segments, values, strict=True):
        if not np.isfinite(segment_values).all():
            raise ValueError(
                f"text {segment.index + 1} of those given has {layout.kind} that {layout.dtype} "
                "cannot hold: pass dtype='float32', or a model without NaN"
            )
    return values


def _word_segments(batch: Sequence[Segment]) -> list[WordSegment]:
    return [segment for segment in batch if isinstance(segment, WordSegment)]
