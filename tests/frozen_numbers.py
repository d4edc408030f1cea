"""Every number of the public studies on the embedded models, to compare two versions of the code.

    python tests/frozen_numbers.py write FILE [STUDY ...]
    python tests/frozen_numbers.py compare FILE [STUDY ...]
    python tests/frozen_numbers.py summarize FILE

`write` stores the arrays of all studies, or of some, in an .npz file. `compare` computes them again
and lists each array that differs in a bit, is missing or is new. `summarize` writes the sums that
`references/test_frozen_numbers.py` compares on every machine.

An array is named "study / field". The fields are found in the results, and nothing is chosen by
hand: dataclass fields, properties, methods without arguments, and columns of `to_frame()`. Lists of
records become one array for each field. Public functions are found by their name in `attnwidget`
and in its public modules, so that a name may move between them. Only public names are used.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import functools
import inspect
import json
import math
import os
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

if __name__ == "__main__":
    # Sums depend on the number of threads, which libraries read when they are loaded.
    threads = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    os.environ |= dict.fromkeys(threads, "1")
    os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}

import numpy as np
import pandas as pd
import torch

import attnwidget

Study = Callable[[], Any]
Arrays = dict[str, np.ndarray]

STUDIES: dict[str, Study] = {}

#: Public functions without numbers of their own: files of other formats, figures, and the session.
NO_STUDY = {
    "explore": "a figure",
    "fetch_treebank": "needs a network",
    "head_gallery": "draws a chart",
    "head_heatmap": "draws a chart",
    "in_dark": "draws a chart",
    "join_figures": "a picture",
    "link_figures": "links figures",
    "link_panels": "chooses sentences for a chart",
    "load_alignments": "reads a file of another format",
    "load_coreference": "reads a file of another format",
    "load_framenet_links": "reads a corpus of another package",
    "load_links": "reads a file of another format",
    "offline": "writes a chart",
    "pattern_sets": "draws a chart",
    "save_page": "writes figures",
    "per_head": "declares an array of a result",
    "relation_panels": "chooses sentences for a chart",
    "report": "calls other studies",
    "resume_from": "sets the resume file",
    "run_on": "sets the workers",
    "save_table": "writes a table",
    "scatter_heads": "draws numbers of other studies",
    "sentences_from_spacy": "reads the objects of another package",
    "versions": "versions of installed packages",
}

#: Inputs of studies. A result that keeps an input has no number in it.
INPUTS = {
    "AttentionModel",
    "Document",
    "LinkedSentence",
    "MinimalPair",
    "Segment",
    "Sentence",
    "WordVectors",
}


class _Public:
    """The public names, in `attnwidget` and in its public modules."""

    def __getattr__(self, name: str) -> Any:
        for module in public_modules():
            if name in module.__all__:
                return getattr(module, name)
        # A class of a metric or a result may be importable without being listed.
        return getattr(attnwidget, name)


def public_modules() -> list[ModuleType]:
    """Return `attnwidget` and the modules that it lists."""
    listed = [getattr(attnwidget, name) for name in attnwidget.__all__]
    return [attnwidget, *(value for value in listed if inspect.ismodule(value))]


def public_functions() -> set[str]:
    """Return the names of all public functions."""
    return {
        name
        for module in public_modules()
        for name in module.__all__
        if inspect.isfunction(getattr(module, name)) and not _makes_a_metric(getattr(module, name))
    }


def used_names() -> set[str]:
    """Return the public names that the studies of this file use."""
    return {name for owner, name in _attributes() if owner == "public"}


def called_names() -> set[str]:
    """Return all names that follow a dot in this file, such as those of called methods."""
    return {name for _, name in _attributes()}


def _attributes() -> list[tuple[str, str]]:
    """The names before and after each dot of this file; "" before it for an expression."""
    tree = ast.parse(Path(__file__).read_text("utf-8"))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    return [(getattr(node.value, "id", ""), node.attr) for node in found]


public = _Public()


def study(name: str) -> Callable[[Study], Study]:
    """Register a function as the study `name`."""

    def registered(function: Study) -> Study:
        assert name not in STUDIES, name
        STUDIES[name] = function
        return function

    return registered


# ---------------------------------------------------------------------------------------- inputs

QUIET: dict[str, Any] = {"progress": False}
MASKED = "The woman washed [MASK] hands."
CLEAN = [
    ("The woman said that [MASK] was late.", "she"),
    ("The girl knew that [MASK] was right.", "she"),
    ("The queen thought that [MASK] was wrong.", "she"),
]
CORRUPTED = [
    ("The man said that [MASK] was late.", "he"),
    ("The boy knew that [MASK] was right.", "he"),
    ("The king thought that [MASK] was wrong.", "he"),
]
CAUSAL_TEXT = "The cat sat on the mat. The cat sat on the"
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] + ': ' + message['content'] + '\\n' }}"
    "{% endfor %}"
)
CHATS = [
    [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": "Where is the cat?"},
        {"role": "assistant", "content": "On the mat."},
        {"role": "user", "content": "And the dog?"},
    ],
    [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "The cat sat."},
        {"role": "assistant", "content": "The cat sat on the mat."},
    ],
]

#: The seed of small random changes of all weights; None = the weights as they are.
JITTER: int | None = None


def _changed(model: torch.nn.Module) -> None:
    """Change all weights by one part in ten million, as another processor's rounding would."""
    if JITTER is None:
        return
    generator = torch.Generator().manual_seed(JITTER)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
            parameter.mul_(1 + 1e-7 * noise)


def _embedded(name: str | None) -> Any:
    model = public.load_model(name, device="cpu")
    _changed(model.hf_model)
    return model


@functools.cache
def bert() -> Any:
    """The embedded BERT."""
    return _embedded(None)


@functools.cache
def genre() -> Any:
    """The embedded classifier."""
    return _embedded("attnwidget/genre")


@functools.cache
def causal() -> Any:
    """The embedded causal model, with rotary positions."""
    return _embedded("attnwidget/induction")


@functools.cache
def chat() -> Any:
    """The embedded causal model with a chat template."""
    model = public.load_model("attnwidget/induction", device="cpu")
    _changed(model.hf_model)
    model.tokenizer.chat_template = CHAT_TEMPLATE
    return model


def _filled(model: Any) -> Any:
    """Fill a new model with numbers that depend on no version of torch."""
    random = np.random.default_rng(0)
    with torch.no_grad():
        for _, parameter in sorted(model.named_parameters()):
            values = random.random(tuple(parameter.shape)) - 0.5
            parameter.copy_(torch.from_numpy(values).to(parameter.dtype))
    _changed(model)
    return model.eval()


@functools.cache
def encoder_decoder() -> Any:
    """An encoder-decoder, of which the package has none."""
    from transformers import BartConfig, BartForConditionalGeneration

    tokenizer = bert().tokenizer
    config = BartConfig(
        vocab_size=len(tokenizer),
        d_model=16,
        encoder_layers=1,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
    )
    model = _filled(BartForConditionalGeneration(config))
    return public.load_model(model, tokenizer, name="encoder-decoder", device="cpu")


@functools.cache
def learned_positions() -> Any:
    """A causal model with learned positions and layer norms, of which the package has none."""
    from transformers import GPT2Config, GPT2LMHeadModel

    tokenizer = bert().tokenizer
    config = GPT2Config(n_layer=2, n_head=4, n_embd=32, vocab_size=len(tokenizer))
    model = _filled(GPT2LMHeadModel(config))
    return public.load_model(model, tokenizer, name="causal", device="cpu")


@functools.cache
def trees() -> list[Any]:
    """Sentences of the treebank of the package, spread over its kinds of text."""
    return list(public.demo_treebank()[::3])


@functools.cache
def vectors() -> Any:
    """Word vectors of the treebank, made of random numbers."""
    words = sorted({word.lower() for tree in trees() for word in tree.words})
    random = np.random.default_rng(0)
    lines = [" ".join([word, *(f"{x:.4f}" for x in random.random(4) - 0.5)]) for word in words]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "vectors.txt")
        path.write_text("\n".join(lines) + "\n", "utf-8")
        return public.load_vectors(path)


@functools.cache
def documents() -> list[Any]:
    """Passages with pronouns."""
    return list(public.demo_documents()[::4])


@functools.cache
def segments() -> list[Any]:
    """Segments of running text for the embedded BERT."""
    found = public.read_segments(public.demo_prose(), bert(), max_tokens=48, limit=12)
    return list(found)


@functools.cache
def causal_segments() -> list[Any]:
    """Segments for the embedded causal model."""
    sentences = [sentence.text for sentence in trees()[:8]]
    return list(public.make_segments(sentences, causal(), max_tokens=48, truncate=True))


@functools.cache
def masked() -> Any:
    """The attention of a sentence with a mask, with gradients."""
    return bert().attend(MASKED, loss="masked")


@functools.cache
def repeated() -> Any:
    """The attention of the causal model in a repeated text, with gradients."""
    return causal().attend(CAUSAL_TEXT, loss="causal")


def _token_ids(model: Any, text: str) -> list[int]:
    return list(dict.fromkeys(model.tokenizer(text, add_special_tokens=False)["input_ids"]))


def answers() -> tuple[int, int]:
    """Two tokens of the causal model that may follow its text."""
    first, second = _token_ids(causal(), "mat dog")[:2]
    return first, second


# ------------------------------------------------------------------------------ maps and passes


def _of_attention(attention: Any) -> dict[str, Any]:
    """Every number of an `Attention`: of one head where it takes a head, else of all.

    A long attention refuses some of them; then the name of the error.
    """
    layer, head = attention.n_layers - 1, 1
    layers = range(attention.n_layers)
    numbers: dict[str, Study] = {
        "tokens": lambda: list(attention.tokens),
        "row sums": lambda: attention.row_sums(),
        "rows": lambda: attention.rows(layer, head, [0, 1]),
        "row blocks": lambda: list(attention.row_blocks(layer)),
        "scores": lambda: attention.scores(layer, head),
        "tile": lambda: attention.tile(layer, head, (0, 6), (0, 6), step=2),
        "top links": lambda: list(
            attention.top_links(layer, head, 12)[["query", "key", "weight"]].itertuples(
                index=False, name=None
            )
        ),
        "value norms": lambda: [attention.value_norms(each) for each in layers],
        "summed norms": lambda: [attention.summed_norms(each) for each in layers],
        "visible": lambda: attention.visible(layer, head),
        "of a query": lambda: attention.token_values("query", 2),
        "of a key": lambda: attention.token_values("key", 2, layer=layer),
        "words": lambda: attention.words.weights(),
        "mean of layers": lambda: attention.mean(each="layer").weights(),
        "maximum": lambda: attention.max(heads=[0, 1]).weights(),
        "without": lambda: attention.disabled([(0, 1)]).weights(),
        "changes": lambda: attention.disabled([(0, 1)]).changes(attention),
        "weights": lambda: attention.weights(),
        "norms": lambda: attention.norms(),
        "gradients": lambda: attention.gradients(),
        "frame": lambda: attention.to_frame(),
        "repr": lambda: repr(attention),
        "quantities": lambda: attention.quantities,
        "maps": lambda: {
            quantity: [attention.map(quantity, each, head) for each in layers]
            for quantity in attention.quantities
        },
    }
    return {name: _or_error(number) for name, number in numbers.items()}


def _or_error(number: Study) -> Any:
    """The number, or the name of the error of an input that is refused."""
    try:
        return number()
    except ValueError as error:
        return type(error).__name__


@study("attend BERT")
def _() -> Any:
    return _of_attention(masked())


@study("attend causal")
def _() -> Any:
    return _of_attention(repeated())


@study("attend a pair")
def _() -> Any:
    return bert().attend("Where is the cat?", "It is on the mat.").weights()


@study("attend encoder-decoder")
def _() -> Any:
    attention = encoder_decoder().attend("The cat sat.", target="It sat there.")
    return {name: attention.weights(stack=name) for name in attention.stacks}


@study("attend a batch")
def _() -> Any:
    texts = ["The cat sat.", "The dog slept outside."]
    return [attention.weights() for attention in bert().attend_batch(texts)]


@study("attend a chat")
def _() -> Any:
    attention = chat().attend(CHATS[0])
    return [list(attention.tokens), attention.weights()]


@study("attend a long text")
def _() -> Any:
    attention = causal().attend(CAUSAL_TEXT * 2, long=True)
    return _of_attention(attention)


@study("score parts")
def _() -> Any:
    head = public.Head(1, 2)
    return [masked().score_parts(head), repeated().score_parts(head)]


@study("generate")
def _() -> Any:
    attention = causal().generate(CAUSAL_TEXT, max_new_tokens=6)
    return [list(attention.tokens), attention.n_prompt, attention.weights()]


@study("replay")
def _() -> Any:
    attention = causal().replay("The cat sat. The cat", " sat.")
    return [list(attention.tokens), attention.n_prompt, attention.weights()]


@study("predict")
def _() -> Any:
    return {
        "BERT": bert().predict(MASKED),
        "genre": genre().predict("Please send me the report by Monday."),
        "causal": causal().predict(CAUSAL_TEXT),
    }


@study("disabled heads")
def _() -> Any:
    numbers: dict[str, Any] = {}
    reference = segments()[:3]
    for method in ("uniform", "zero", "mean", "first"):
        options: dict[str, Any] = {"method": method}
        if method == "mean":
            options["reference"] = reference
        with bert().disabled([(2, 3), (3, 8)], **options):
            numbers[method] = [bert().attend(MASKED).weights(), bert().predict(MASKED)]
    with bert().disabled(layers=[1]):
        numbers["a layer"] = bert().predict(MASKED)
    with bert().scaled_links([(2, 3), (4, 1)], 0, [(2, 3)]):
        numbers["edges"] = bert().attend(MASKED).weights()
    with bert().disabled([(2, 3)], method="patch", reference="The man washed [MASK] hands."):
        numbers["patch"] = bert().attend(MASKED).weights()
    with causal().disabled([(0, 1)], kv_group=True):
        numbers["group of keys"] = causal().attend(CAUSAL_TEXT).weights()
    return numbers


@study("changed prediction")
def _() -> Any:
    before = bert().predict(MASKED)
    with bert().disabled([(5, 8)]):
        after = bert().predict(MASKED)
    return public.PredictionChange(before, after)


@study("given weights, queries and keys")
def _() -> Any:
    random = np.random.default_rng(0)
    queries = random.standard_normal((2, 4, 5, 8)).astype(np.float32)
    keys = random.standard_normal((2, 4, 5, 8)).astype(np.float32)
    tokens = ["the", "cat", "sat", "on", "it"]
    made = public.Attention.from_queries_keys(queries, keys, scale=0.5, tokens=tokens)
    again = public.Attention.from_weights(made.weights(), tokens)
    return [made.weights(), again.weights(), made.scores(1, 1)]


@study("watched module")
def _() -> Any:
    layer = torch.nn.TransformerEncoderLayer(8, 2, batch_first=True)
    encoder = _filled(torch.nn.TransformerEncoder(layer, 3, enable_nested_tensor=False))
    random = np.random.default_rng(1).standard_normal((1, 4, 8)).astype(np.float32)
    with public.watch_attention(encoder) as watched, torch.no_grad():
        encoder(torch.from_numpy(random))
    return watched.attention(["The", "cat", "sat", "."]).weights()


# ----------------------------------------------------------------------------- texts and segments


@study("segments")
def _() -> Any:
    found = [*segments(), *causal_segments(), *public.make_segments(CHATS, chat())]
    return [dataclasses.asdict(segment) for segment in found]


@study("embedded texts")
def _() -> Any:
    return {
        "texts": {name: dataclasses.asdict(text) for name, text in public.demo_texts().items()},
        "genres": public.demo_genres(),
        "pairs": [dataclasses.asdict(pair) for pair in public.demo_minimal_pairs()],
        "trees": [dataclasses.asdict(tree) for tree in public.demo_treebank()],
        "shapes": dataclasses.asdict(public.drawn_shapes(3, seed=1)),
        "documents": [
            [document.running.text, [dataclasses.asdict(each) for each in document.mentions]]
            for document in public.demo_documents()
        ],
    }


@study("files of texts")
def _() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "pairs.jsonl")
        path.write_text(
            '{"sentence_good": "Cats purr.", "sentence_bad": "Cats purrs.", "UID": "v"}'
        )
        pairs = public.load_minimal_pairs(path)
        path = Path(folder, "two.txt")
        path.write_text("Cats 2-nsubj\npurr 0-root\n\nLook 0-root")
        sentences = public.load_treebank(path)
    return [
        [dataclasses.asdict(pair) for pair in pairs],
        [dataclasses.asdict(sentence) for sentence in sentences],
    ]


@study("links of annotations")
def _() -> Any:
    links = [*public.noun_pronoun_links(documents()), *public.subject_verb_links(trees())]
    return [dataclasses.asdict(sentence) for sentence in links]


# --------------------------------------------------------------------------------------- metrics


def metric_makers() -> dict[str, Any]:
    """The public metrics that `measure` knows by name: classes, and functions that make metrics."""
    makers: dict[str, Any] = {}
    base = attnwidget.metrics.Accumulator
    for maker in (getattr(attnwidget.metrics, name) for name in attnwidget.metrics.__all__):
        if inspect.isclass(maker):
            if issubclass(maker, base) and "name" in vars(maker) and not inspect.isabstract(maker):
                makers[maker.name] = maker
        elif _makes_a_metric(maker):
            makers[maker().name] = maker
    return makers


def _makes_a_metric(function: Any) -> bool:
    return str(inspect.signature(function).return_annotation).startswith("SegmentMeans")


def _measured(model: Any, inputs: list[Any]) -> dict[str, Any]:
    """Each metric alone; the name of an error for metrics that refuse these inputs."""
    numbers: dict[str, Any] = {}
    for name, metric in metric_makers().items():

        def measured(metric: Any = metric) -> Any:
            # A metric may need arguments, as metrics of pictures do.
            return public.measure(model, inputs, [metric()], batch_size=4, **QUIET)

        numbers[name] = _or_error(measured)
    return numbers


@study("measure BERT")
def _() -> Any:
    return _measured(bert(), segments())


@study("measure causal")
def _() -> Any:
    return _measured(causal(), causal_segments())


@study("measure chats")
def _() -> Any:
    inputs = public.make_segments(CHATS, chat())
    return _measured(chat(), inputs)


@study("measure with options")
def _() -> Any:
    metrics = attnwidget.metrics
    return {
        "released classes": public.measure(
            bert(), segments(), [metrics.Classes(variant="released")], **QUIET
        ),
        "confidence without [SEP]": public.measure(
            bert(), segments(), [metrics.Confidence("[SEP]")], **QUIET
        ),
        "released norms": public.measure(
            bert(), segments(), [metrics.Norms(layer_level=True, variant="released")], **QUIET
        ),
        "patterns of a network": public.measure(
            bert(), segments(), [metrics.Patterns("cnn")], **QUIET
        ),
        "positions": public.measure(bert(), segments(), [metrics.Position([-2, 2])], **QUIET),
        "together": public.measure(bert(), segments(), **QUIET),
    }


@study("measure an attention")
def _() -> Any:
    names = list(metric_makers())
    numbers: dict[str, Any] = {}
    long = causal().attend(CAUSAL_TEXT * 2, long=True)
    for title, attention in (("BERT", masked()), ("causal", repeated()), ("long", long)):
        for name in names:
            measured = functools.partial(public.measure_attention, attention, [name])
            numbers[f"{title} {name}"] = _or_error(measured)
    return numbers


@study("measure pictures")
def _() -> Any:
    model = _embedded("attnwidget/shapes")
    drawn = public.drawn_shapes(4, seed=2)
    metrics = attnwidget.metrics
    asked = [
        metrics.MassInPlaces(drawn.boxes),
        metrics.AttentionDistance(),
        metrics.ImageOffsets(),
        metrics.Modalities(),
    ]
    found = public.measure(model, drawn.images, asked, **QUIET)
    attention = model.attend(images=drawn.images[0])
    return {"measured": dict(found), "one": public.modality_shares(attention)}


@study("words of a transcript")
def _() -> Any:
    spans = [public.Span(0, 0.1 * step, 0.1 * (step + 1)) for step in range(20)]
    weights = np.random.default_rng(3).dirichlet(np.full(20, 0.2), (2, 3, 6))
    attention = public.Attention.from_weights(
        weights,
        ["<s>", "the", "old", "captain", "left", "</s>"],
        key_tokens=[str(step) for step in range(20)],
        stack="cross",
        places=spans,
        audio=[public.Sound(np.zeros(200, dtype=np.float32), 100)],
    )
    spoken = [("the", 0.1, 0.3), ("captain", 0.7, 1.2), ("left", 1.3, 1.9)]
    return {
        "times": public.word_times(attention),
        "one head": public.word_times(attention, [(1, 2)]),
        "weights": public.spoken_word_weights(attention, spoken),
    }


@study("measure checkpoints")
def _() -> Any:
    steps = public.induction_checkpoints()
    return public.measure_checkpoints(steps[::4], n_sequences=4, length=16, **QUIET)


@study("merge checkpoints")
def _() -> Any:
    found = public.make_segments(["It slept."] * 34, bert())
    options: dict[str, Any] = {"metrics": ["entropy"], "batch_size": 1, **QUIET}
    with tempfile.TemporaryDirectory() as folder:
        files = [f"{folder}/{part}.npz" for part in range(2)]
        for file, part in zip(files, (found[:32], found[32:]), strict=True):
            public.measure(bert(), part, resume=file, **options)
        whole = public.merge_resume_files(files, f"{folder}/whole.npz")
        return public.measure(bert(), found, resume=whole, **options)


@study("behaviors by rule")
def _() -> Any:
    metrics = ["position", "classes", "entropy", "confidence"]
    return {
        "BERT": public.clark_labels(public.measure(bert(), segments(), metrics, **QUIET)),
        "causal": public.clark_labels(
            public.measure(causal(), causal_segments(), metrics, **QUIET)
        ),
    }


@study("induction")
def _() -> Any:
    return public.induction_scores(causal(), n_sequences=4, length=20, **QUIET)


@study("retrieval")
def _() -> Any:
    return public.retrieval_scores(
        causal(),
        "It rained. " * 4,
        "The key is in the jar.",
        "The key is in the",
        max_new_tokens=4,
    )


@study("alignment")
def _() -> Any:
    pairs = [
        ("The cat sat.", "It sat there."),
        ("He went home.", "They went home."),
        ("She saw the ship.", "The ship was seen."),
    ]
    return public.monotonicity_scores(encoder_decoder(), pairs, **QUIET)


@study("rollout")
def _() -> Any:
    return [
        public.attention_rollout(masked()),
        public.attention_rollout(masked(), head=(2, 3)),
        public.attention_rollout(repeated()),
    ]


@study("flow")
def _() -> Any:
    return public.attention_flow(bert().attend("The cat sat."))


@study("broad heads")
def _() -> Any:
    return public.broad_heads(
        public.measure(bert(), segments()[:4], ["entropy", "confidence"], **QUIET)
    )


# ------------------------------------------------------------------------------------ comparisons


@study("compare")
def _() -> Any:
    inputs = segments()[:6]
    metrics = ["entropy", "position"]
    return {
        "two": public.compare(
            bert(), genre(), inputs, metrics=metrics, matches=True, across_layers=True, **QUIET
        ),
        "words": public.compare(bert(), genre(), trees()[:10], unit="words", **QUIET),
        "several": public.compare(bert(), [genre(), bert()], inputs, **QUIET),
        "seeds": public.compare(bert(), [genre(), bert()], inputs, models_are_seeds=True, **QUIET),
    }


# ---------------------------------------------------------------------------------- interventions


@study("ablate")
def _() -> Any:
    pairs = public.demo_minimal_pairs()[::50]
    genres = public.demo_genres()[::20]
    some = [(layer, head) for layer in range(6) for head in (2, 8)]
    methods = {
        f"method {method}": public.ablate(
            bert(),
            pairs,
            scoring="minimal pair",
            method=method,
            heads=[(2, 3), (5, 8)],
            reference=segments()[:3] if method == "mean" else None,
            **QUIET,
        )
        for method in ("uniform", "zero", "mean", "first")
    }
    return {
        **methods,
        "pairs": public.ablate(bert(), pairs, scoring="minimal pair", **QUIET),
        "divergence": public.ablate(bert(), segments()[:4], scoring="kl", heads=some, **QUIET),
        "layers": public.ablate(bert(), pairs, scoring="minimal pair", heads="layers", **QUIET),
        "masked loss": public.ablate(bert(), CLEAN, scoring="loss", heads=some, **QUIET),
        "accuracy": public.ablate(genre(), genres, scoring="accuracy", heads=some, **QUIET),
        "loss": public.ablate(genre(), genres, scoring="loss", **QUIET),
        "causal": public.ablate(causal(), causal_segments()[:4], scoring="kl", **QUIET),
    }


@study("importance of heads")
def _() -> Any:
    genres = public.demo_genres()[::10]
    return {
        variant: public.head_importance(genre(), genres, variant=variant, **QUIET)
        for variant in ("paper", "released", "bertology")
    } | {"masked": public.head_importance(bert(), CLEAN, **QUIET)}


@study("minimal pairs")
def _() -> Any:
    pairs = public.demo_minimal_pairs()[::15]
    return {
        "differing": public.measure_minimal_pairs(bert(), pairs, words="differing", **QUIET),
        "all": public.measure_minimal_pairs(bert(), pairs[::4], words="all", **QUIET),
        "causal": public.measure_minimal_pairs(causal(), pairs[::2], **QUIET),
    }


@study("patch heads")
def _() -> Any:
    found = {
        score: public.patch_heads(bert(), CLEAN, CORRUPTED, score, **QUIET)
        for score in ("logit difference", "loss", "accuracy")
    }
    found["into clean"] = public.patch_heads(bert(), CLEAN, CORRUPTED, patch_into="clean", **QUIET)
    found["positions"] = public.patch_heads(
        bert(), CLEAN[0], CORRUPTED[0], heads=[(2, 3), (5, 8)], by_position=True, **QUIET
    )
    found["layers"] = public.patch_heads(bert(), CLEAN, CORRUPTED, heads="layers", **QUIET)
    first, second = answers()
    found["causal"] = public.patch_heads(
        causal(), ("The cat sat. The cat", first), ("The dog sat. The dog", second), **QUIET
    )
    return found


@study("patch paths")
def _() -> Any:
    return {
        into: public.patch_path(bert(), CLEAN, CORRUPTED, (2, 1), (5, 8), patch_into=into)
        for into in ("corrupted", "clean")
    }


@study("knockout")
def _() -> Any:
    examples = [
        ("The woman washed [MASK] hands.", "her"),
        ("The man washed [MASK] hands.", "his"),
        ("The girl quickly hurt [MASK] leg.", "her"),
    ]
    subjects = {"subject": ["woman", "man", "girl"]}
    return public.knockout(bert(), examples, subjects, window=2, **QUIET)


@study("needed links")
def _() -> Any:
    masked = bert().attend("The captain told his men that [MASK] would not leave.")
    return {
        "masked": public.needed_links(masked),
        "causal": public.needed_links(causal().attend("The cat sat on the mat"), n_random_links=2),
    }


# -------------------------------------------------------------------------------- words and trees


@study("word alignment")
def _() -> Any:
    pairs = public.demo_alignments(6)
    found = public.probe_alignment(public.load_model("attnwidget/translation"), pairs, **QUIET)
    return [found, found.maps(pairs[1])]


@study("word map steps")
def _() -> Any:
    return public.word_map_steps(bert().attend("The gamekeeper slept."), 2, 8)


@study("relations")
def _() -> Any:
    return {
        "words": public.probe_relations(bert(), trees(), **QUIET),
        "first": public.probe_relations(bert(), trees()[:10], unit="first", **QUIET),
        "tokens": public.probe_relations(bert(), trees()[:10], unit="tokens", **QUIET),
        "possessive": public.probe_relations(bert(), trees()[:10], possessive=None, **QUIET),
        "causal": public.probe_relations(causal(), trees()[:10], **QUIET),
    }


@study("governors")
def _() -> Any:
    return [public.predict_governors(bert(), tree) for tree in trees()[:3]]


@study("features")
def _() -> Any:
    return {
        variant: public.probe_features(bert(), trees(), variant=variant, **QUIET)
        for variant in ("skip absent", "released")
    }


@study("explained attention")
def _() -> Any:
    return public.explained_attention(bert(), trees()[:12], **QUIET)


@study("rules")
def _() -> Any:
    rules = {"L0 H2": "previous token", "L2 H8": "determiner to its noun"}
    return public.measure_rules(bert(), trees()[:8], rules, **QUIET)


@study("rules in the place of heads")
def _() -> Any:
    attention = bert().attend("The captain told his men that he left the ship.")
    rules = {"L0 H2": "previous token", "L1 H8": "next token"}
    return public.with_rules(attention, rules).weights()


@study("looking away")
def _() -> Any:
    return public.probe_no_op(bert(), trees(), "obj", **QUIET)


@study("links")
def _() -> Any:
    nouns = public.noun_pronoun_links(documents())
    verbs = public.subject_verb_links(trees())
    return {
        "nouns": public.probe_links(bert(), nouns, **QUIET),
        "verbs": public.probe_links(bert(), verbs, pairing="zip", variant="released", **QUIET),
    }


@study("coreference")
def _() -> Any:
    return public.probe_coreference(bert(), documents(), **QUIET)


@study("places that fit a query")
def _() -> Any:
    return {
        "trees": public.find_links(bert(), trees(), query="tag=PRON", relation="nsubj", **QUIET),
        "texts": public.find_links(
            bert(), segments(), regex=r"(?P<key>the) (?P<query>[a-z]+)", n_links=3, **QUIET
        ),
    }


# ------------------------------------------------------------------------------------------ probes


@study("dependency probe")
def _() -> Any:
    train, dev = trees()[:28], trees()[28:]
    found: dict[str, Any] = {}
    for kind in ("attention", "attention+words", "distances+words"):
        options: dict[str, Any] = {"kind": kind, "seeds": 2, **QUIET}
        if kind != "attention":
            options["vectors"] = vectors()
        probe = public.train_dependency_probe(bert(), train, dev, **options)
        votes = _or_error(functools.partial(probe.votes, dev[0], 1, 0))
        found[kind] = [probe, probe.predictions(dev[0]), votes]
    found["all options"] = public.train_dependency_probe(
        bert(),
        train,
        dev,
        seeds=1,
        decode="tree",
        untrained=True,
        control=True,
        description_length=True,
        curve=True,
        **QUIET,
    )
    return found


@study("embedded probe")
def _() -> Any:
    probe = public.demo_probe().for_model(bert())
    with tempfile.TemporaryDirectory() as folder:
        again = public.load_probe(probe.save(Path(folder, "probe.npz")), bert())
    return [probe, again.uas, again.predictions(trees()[0])]


@study("dependency scores")
def _() -> Any:
    probe = public.demo_probe().for_model(bert())
    return [public.demo_dependency_scores(), public.compare_dependency_probes([probe])]


@study("pair probe")
def _() -> Any:
    return public.train_pair_probe(bert(), trees()[:28], trees()[28:], min_count=10, **QUIET)


@study("structural probe")
def _() -> Any:
    dev = trees()[28:]
    probe = public.train_structural_probe(
        bert(), trees()[:28], dev, layers=[1, 3], rank=[2, 4], epochs=2, untrained=True, **QUIET
    )
    return [probe, probe.predictions(dev[0])]


# -------------------------------------------------------------------------------------- mechanisms


@study("explain link")
def _() -> Any:
    return [
        public.explain_link(masked(), 2, 8, query=2, key=3),
        public.explain_link(masked(), 2, 8, query=2, key=3, versus=1),
        public.explain_link(repeated(), 1, 2, query=9, key=4),
    ]


@study("link factors")
def _() -> Any:
    return [
        public.link_factors(masked(), 2, 8, query=2, key=3),
        public.link_factors(masked(), 2, 8, query=2, key=3, against=1),
        public.link_factors(repeated(), 1, 2, query=9, key=4),
    ]


@study("score sources")
def _() -> Any:
    return [
        public.score_sources(masked(), 1, 3, 2, 1),
        public.score_sources(masked(), 1, 3, 2, 1, versus=3),
        public.score_sources(repeated(), 1, 2, 9, 4),
    ]


@study("score at distances")
def _() -> Any:
    return [
        public.score_at_distances(masked(), 0, 3, 6, 2, distances=range(1, 7)),
        public.score_at_distances(repeated(), 0, 2, 9, 4, distances=range(1, 10)),
    ]


@study("wavelengths")
def _() -> Any:
    return [public.wavelength_shares(repeated(), layer) for layer in range(2)]


@study("norms of tokens")
def _() -> Any:
    return [public.token_norms(masked()), public.token_norms(repeated())]


@study("biplot")
def _() -> Any:
    return [
        public.key_biplot(masked(), 2, 8),
        public.key_biplot(repeated(), 1, 2),
        public.key_biplot([masked(), bert().attend("The cat sat.")], 2, 8),
    ]


@study("writes of heads")
def _() -> Any:
    return [
        public.head_writes(masked(), 2, 8, position=2),
        public.head_writes(repeated(), 1, 2),
    ]


@study("logit lens")
def _() -> Any:
    return [public.logit_lens(masked()), public.logit_lens(repeated())]


@study("direct effects")
def _() -> Any:
    first, second = answers()
    attention = learned_positions().attend("The cat sat on the")
    return [
        public.direct_effects(repeated(), first, second),
        public.direct_effects(repeated(), first, second, with_total=True),
        public.direct_effects(attention, "mat", "dog", with_total=True),
    ]


@study("gradient effects")
def _() -> Any:
    first, second = answers()
    return [
        public.gradient_effects(masked(), "her", "his"),
        public.gradient_effects(masked(), "her", "his", with_total=True),
        public.gradient_effects(repeated(), first, second, with_total=True),
    ]


@study("composition")
def _() -> Any:
    return [public.head_composition(causal(), 1, head) for head in range(4)]


@study("copying")
def _() -> Any:
    names = _token_ids(causal(), "Anna Tom London Paris cat dog")
    return [
        public.copying_scores(causal(), names=names),
        public.copying_scores(causal(), names=names, center_unembed=True),
    ]


@study("vocabulary of heads")
def _() -> Any:
    tokens = _token_ids(causal(), "The cat sat")
    return [
        public.head_vocabulary(causal(), 1, 0, words=tokens),
        public.attended_vocabulary(causal(), 0, 1, words=tokens),
    ]


# ------------------------------------------------------------------------------ what a head does


@study("examples of heads")
def _() -> Any:
    return public.head_examples(bert(), segments()[:6], n_examples=3, **QUIET)


@study("behaviors with controls of BERT")
def _() -> Any:
    return public.measure_behaviors(
        bert(), segments(), treebank=trees(), documents=documents(), n_random_models=1, **QUIET
    )


@study("behaviors with controls of the causal model")
def _() -> Any:
    return public.measure_behaviors(
        causal(), causal_segments(), treebank=trees(), documents=(), n_random_models=1, **QUIET
    )


@study("atlas")
def _() -> Any:
    names = ["previous token", "rests on [SEP]", "duplicate token"]
    found = public.atlas(
        bert(),
        segments(),
        treebank=trees()[:6],
        behaviors=names,
        n_examples=2,
        n_effect_texts=4,
        n_random_models=0,
        **QUIET,
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "atlas.json")
        found.save(path)
        again = public.load_atlas(path)
    return {"made": found, "card": found.card(0, 2), "read": again.to_frame()}


@study("embedded atlases")
def _() -> Any:
    found = public.demo_atlas()
    cards = [found.card(layer, head) for layer, head in ((0, 2), (2, 8), (5, 8))]
    return {"BERT": found, "cards": cards, "genre": public.demo_atlas("attnwidget/genre")}


# --------------------------------------------------------------------------- from results to arrays


def leaves(value: Any, path: tuple[str, ...] = (), depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the numbers, arrays and words of a result, with the names that lead to them.

    Entries of a list have the name "*". All leaves with the same names become one array.
    """
    name = "/".join(path)
    if depth > 12:
        raise RecursionError(f"{name} contains itself")
    if type(value).__name__ in INPUTS or value is inspect.Parameter.empty:
        return
    if value is None or isinstance(value, (str, bytes, bool, int, float, complex, np.generic)):
        yield name, value
    elif isinstance(value, Path):
        yield name, str(value)
    elif isinstance(value, (np.ndarray, torch.Tensor)):
        array = np.asarray(value.detach().cpu() if isinstance(value, torch.Tensor) else value)
        if array.dtype == object:
            yield from leaves(array.tolist(), path, depth + 1)
        else:
            yield name, array
    elif isinstance(value, pd.DataFrame):
        for column in value.columns:
            yield from leaves(value[column], (*path, str(column)), depth + 1)
        yield from leaves(dict(value.attrs), (*path, "attrs"), depth + 1)
    elif isinstance(value, (pd.Series, pd.Index)):
        yield from leaves([None if v is pd.NA else v for v in value], path, depth + 1)
    elif type(value).__name__ == "Tokens":
        yield from leaves(list(value.text), path, depth + 1)
    elif dataclasses.is_dataclass(value):
        yield from _leaves_of_object(value, path, depth)
    elif isinstance(value, Mapping):
        if len(value) <= 64 and all(isinstance(key, str) for key in value):
            for key, inner in value.items():
                yield from leaves(inner, (*path, key), depth + 1)
        else:
            for key, inner in value.items():
                yield from leaves(key, (*path, "keys"), depth + 1)
                yield from leaves(inner, (*path, "*"), depth + 1)
        if hasattr(value, "to_frame"):
            yield from _leaves_of_object(value, path, depth)
    elif hasattr(value, "_fields"):
        for field in value._fields:
            yield from leaves(getattr(value, field), (*path, field), depth + 1)
    elif isinstance(value, (list, tuple, range, Iterator)):
        for inner in value:
            yield from leaves(inner, (*path, "*"), depth + 1)
    elif isinstance(value, (set, frozenset)):
        yield from leaves(sorted(value, key=str), path, depth + 1)
    elif isinstance(value, slice):
        yield from leaves([value.start, value.stop, value.step], path, depth + 1)
    elif hasattr(value, "to_frame"):
        yield from _leaves_of_object(value, path, depth)
    elif isinstance(getattr(value, "name", None), str):
        yield name, value.name  # a behavior or a metric
    elif not callable(value):
        raise TypeError(f"{name} is a {type(value).__name__}, which this script cannot store")


def _leaves_of_object(value: Any, path: tuple[str, ...], depth: int) -> Iterator[tuple[str, Any]]:
    """Yield leaves of the fields, properties and methods without arguments of an object."""
    fields = []
    if dataclasses.is_dataclass(value):
        fields = [field.name for field in dataclasses.fields(value)]
    for field in fields:
        if field.startswith("_"):
            continue
        yield from leaves(getattr(value, field), (*path, field), depth + 1)
    for name in _computed(type(value)):
        if name in fields:
            continue
        try:
            found = getattr(value, name)
            found = found() if inspect.ismethod(found) else found
        except (ValueError, KeyError) as error:
            yield "/".join((*path, name)), type(error).__name__
        else:
            yield from leaves(found, (*path, name), depth + 1)


@functools.cache
def _computed(kind: type) -> tuple[str, ...]:
    """The names of properties and of methods without arguments that give numbers or words."""
    names = []
    for name in sorted(dir(kind)):
        value = inspect.getattr_static(kind, name)
        if name.startswith("_") or name in _ITSELF:
            continue
        if isinstance(value, (property, functools.cached_property)):
            names.append(name)
        elif inspect.isfunction(value):
            _, *parameters = inspect.signature(value).parameters.values()
            needed = [p for p in parameters if p.default is p.empty and p.kind < p.VAR_KEYWORD]
            returned = str(inspect.signature(value).return_annotation)
            draws = returned == "None" or any(word in returned for word in _NO_NUMBERS)
            if not needed and not draws:
                names.append(name)
    return tuple(names)


# Views of a mapping, whose entries are read one by one, and a smaller copy of a result.
_ITSELF = {"items", "keys", "values", "get", "keep_maps", "with_measured"}
# Annotations of methods that draw or write.
_NO_NUMBERS = ("alt.", "Path", "Picture")


def packed(found: Iterable[tuple[str, Any]]) -> Arrays:
    """Return one array for each name: numbers as they are, lists of them joined, words as JSON."""
    numbers: dict[str, list[np.ndarray]] = {}
    words: dict[str, list[Any]] = {}
    for name, value in found:
        array = value if isinstance(value, np.ndarray) else None
        if array is None and isinstance(value, (bool, int, float, complex, np.generic)):
            array = np.asarray(value)
        if array is not None and array.dtype.kind in "biufc":
            numbers.setdefault(name, []).append(array)
        elif array is not None:
            words.setdefault(name, []).append(array.astype(str).tolist())
        else:
            words.setdefault(name, []).append(value if value is None else str(value))
    arrays: Arrays = {}
    for name, parts in numbers.items():
        if len(parts) == 1:
            arrays[name] = parts[0]
            continue
        arrays[name] = np.concatenate([part.ravel() for part in parts])
        if any(part.ndim for part in parts):
            shapes = json.dumps([part.shape for part in parts])
            arrays[f"{name} (shapes)"] = np.asarray(shapes)
    for name, texts in words.items():
        text = json.dumps(texts, ensure_ascii=True)
        arrays[f"{name} (words)"] = np.asarray(text)
    return arrays


def computed(names: Iterable[str] = ()) -> Arrays:
    """Return the arrays of all studies, or of some.

    A study that fails gives the name of its error, so that the other studies are compared.
    """
    torch.set_num_threads(1)
    arrays: Arrays = {}
    for name in names or STUDIES:
        torch.manual_seed(0)
        np.random.seed(0)
        start = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = packed(leaves(STUDIES[name]()))
        except Exception as error:
            traceback.print_exc()
            message = f"{type(error).__name__}: {error}"
            print(f"{name}: failed, {message}", file=sys.stderr)
            found = {"failed": np.asarray(message)}
        seconds = time.perf_counter() - start
        print(f"{name}: {len(found)} arrays, {seconds:.1f} s", file=sys.stderr, flush=True)
        arrays |= {f"{name} / {field}": array for field, array in found.items()}
    return arrays


# ------------------------------------------------------------------------- files and differences


def stored(path: str | Path) -> Arrays:
    """Read a file that `write` made."""
    with np.load(path, allow_pickle=False) as file:
        keys = json.loads(str(file["names"]))
        return {name: file[f"a{number}"] for number, name in enumerate(keys)}


def store(path: str | Path, arrays: Arrays) -> None:
    """Write arrays under any names."""
    numbered = {f"a{number}": array for number, array in enumerate(arrays.values())}
    np.savez_compressed(path, names=np.asarray(json.dumps(list(arrays))), **numbered)


def difference(before: np.ndarray, now: np.ndarray) -> str:
    """Say how two arrays differ; "" if they are equal to the last bit."""
    if before.dtype.kind == "U" and now.dtype.kind == "U":
        return "" if str(before) == str(now) else _different_words(str(before), str(now))
    if before.dtype != now.dtype or before.shape != now.shape:
        return f"{before.dtype} {before.shape} is now {now.dtype} {now.shape}"
    if before.tobytes() == now.tobytes():
        return ""
    # Booleans and integers as floats; NaN in the same place is no difference, another NaN is.
    one, other = (np.atleast_1d(array).astype(np.complex128) for array in (before, now))
    size = before.dtype.itemsize
    bits = [np.frombuffer(array.tobytes(), dtype=f"V{size}") for array in (before, now)]
    count = int((bits[0] != bits[1]).sum())
    gaps = np.abs(one - other)
    largest = float(np.nanmax(gaps)) if not np.isnan(gaps).all() else math.nan
    scale = float(np.nanmax(np.abs(one))) if not np.isnan(one).all() else math.nan
    return f"{count} of {before.size} entries, at most {largest:.3g} (largest value {scale:.3g})"


def _different_words(before: str, now: str) -> str:
    place = next(
        (i for i, (a, b) in enumerate(zip(before, now, strict=False)) if a != b),
        min(len(before), len(now)),
    )
    start = max(0, place - 20)
    return f"words {before[start : place + 40]!r} are now {now[start : place + 40]!r}"


def differences(before: Arrays, now: Arrays) -> list[str]:
    """Return one line for each array that differs, is missing or is new."""
    lines = [f"missing: {name}" for name in before if name not in now]
    lines += [f"new: {name}" for name in now if name not in before]
    for name, array in before.items():
        if name in now and (text := difference(array, now[name])):
            lines.append(f"differs: {name}: {text}")
    return lines


def summary(array: np.ndarray) -> list[Any]:
    """Return the shape, the number of finite values, their sum, that of absolutes, the largest."""
    values = np.abs(array) if array.dtype.kind == "c" else array
    values = values.astype(np.float64)
    finite = values[np.isfinite(values)]
    sizes = np.abs(finite)
    sums = finite.sum(), sizes.sum(), sizes.max(initial=0.0)
    shape = "x".join(map(str, array.shape))
    return [shape, len(finite), *(float(f"{number:.9g}") for number in sums)]


def summaries(arrays: Arrays) -> dict[str, list[Any]]:
    """Return the summary of every array of floats."""
    return {name: summary(array) for name, array in arrays.items() if array.dtype.kind in "fc"}


def each_once(arrays: Arrays) -> Arrays:
    """Return the arrays with numbers, without further arrays of a study with the same numbers."""
    found: dict[tuple[str, bytes], str] = {}
    for name, array in arrays.items():
        if array.size:
            found.setdefault((name.partition(" / ")[0], array.tobytes()), name)
    return {name: arrays[name] for name in found.values()}


#: Differences of a summary, relative to the largest value of its array.
TOLERANCE = 1e-5


def summary_differs(before: list[Any], now: list[Any], tolerance: float = TOLERANCE) -> bool:
    """Return whether two summaries differ by more than rounding.

    Each value may differ by `tolerance` times the largest value. Rounding errors of n values add
    up like a random walk, so sums may differ by the square root of n times as much.
    """
    shape, n_finite, total, absolute, largest = before
    if [shape, n_finite] != now[:2]:
        return True
    unit = tolerance * largest + 1e-12
    room = unit * math.sqrt(max(n_finite, 1))
    return (
        abs(total - now[2]) > room or abs(absolute - now[3]) > room or abs(largest - now[4]) > unit
    )


#: Numbers in which two processors, with and without AVX-512, differ by more than `TOLERANCE`:
#: trained weights, pairs of almost equal weights, and sums of differences of logits.
OF_A_PROCESSOR = frozenset(
    {
        "patch heads / logit difference/of_heads/mean",
        "patch heads / logit difference/to_frame/score/*",
        "dependency probe / attention/*/probabilities",
        "dependency probe / attention/*/scores",
        "dependency probe / distances+words/*/parameters",
        "dependency probe / distances+words/*/named/output_bias",
        "dependency probe / distances+words/*/scores",
        "behaviors with controls of BERT / scores/*/auc",
    }
)


def robust_summaries(seeds: Iterable[int] = (1, 2, 3)) -> dict[str, dict[str, list[Any]]]:
    """Return the summaries by study and field, without those that other processors may change.

    Where two heads or answers nearly tie, rounding decides which one is first, and numbers such as
    an accuracy jump. These numbers are found with tiny random changes of all weights, and left out.
    """
    global JITTER
    found = summaries(each_once(computed()))
    found = {name: numbers for name, numbers in found.items() if name not in OF_A_PROCESSOR}
    for seed in seeds:
        JITTER = seed
        _forget()
        arrays = computed()
        changed = summaries(arrays)
        for name, numbers in list(found.items()):
            # The embedded probe refuses a model with other weights.
            if f"{name.partition(' / ')[0]} / failed" in arrays:
                continue
            now = changed.get(name)
            if now is None or summary_differs(numbers, now, TOLERANCE / 3):
                print(f"left out: {name}: {numbers}, {now}", file=sys.stderr)
                del found[name]
    JITTER = None
    _forget()
    by_study: dict[str, dict[str, list[Any]]] = {}
    for name, numbers in found.items():
        title, _, field = name.partition(" / ")
        by_study.setdefault(title, {})[field] = numbers
    return by_study


def _forget() -> None:
    """Load models again when they are used next."""
    for value in globals().values():
        if hasattr(value, "cache_clear"):
            value.cache_clear()


def written_summaries(by_study: Mapping[str, Mapping[str, list[Any]]]) -> str:
    """Return JSON with a line for each array."""
    studies = []
    for title, fields in by_study.items():
        lines = ",\n".join(
            f"{json.dumps(field)}:{json.dumps(numbers, separators=(',', ':'))}"
            for field, numbers in fields.items()
        )
        studies.append(f"{json.dumps(title)}:{{\n{lines}}}")
    return "{" + ",\n".join(studies) + "}\n"


def main(arguments: list[str] | None = None) -> int:
    """Write or compare; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("task", choices=("write", "compare", "summarize"))
    parser.add_argument("file", type=Path)
    parser.add_argument("studies", nargs="*", metavar="STUDY", help="some studies; default: all")
    options = parser.parse_args(arguments)
    if unknown := set(options.studies) - set(STUDIES):
        parser.error(f"no such study: {', '.join(sorted(unknown))}; known: {', '.join(STUDIES)}")
    print(f"attnwidget from {attnwidget.__file__}", file=sys.stderr)
    start = time.perf_counter()
    if options.task == "summarize":
        by_study = robust_summaries()
        options.file.write_text(written_summaries(by_study), "utf-8")
        print(f"{sum(map(len, by_study.values()))} summaries written")
        return 0
    arrays = computed(options.studies)
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)
    failed = [name for name in arrays if name.endswith(" / failed")]
    if options.task == "write":
        if failed:
            print("nothing written: " + ", ".join(failed))
            return 1
        store(options.file, arrays)
        print(f"{len(arrays)} arrays written")
        return 0
    before = stored(options.file)
    if options.studies:
        chosen = tuple(f"{name} / " for name in options.studies)
        before = {name: array for name, array in before.items() if name.startswith(chosen)}
    lines = differences(before, arrays)
    print("\n".join(lines) if lines else f"{len(arrays)} arrays equal to the last bit")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
