"""What a user writes, for type checkers: `make check` reads it with mypy, strictly.

It is the package from outside, as the README and the notebooks use it; nothing runs it.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from attnwidget import (
    Attention,
    AttentionModel,
    CoreferenceView,
    DependencyArcs,
    Document,
    Explorer,
    Head,
    HeadGrid,
    HeadScatter,
    HeadView,
    LinkView,
    PredictionView,
    ProbeView,
    RelationTable,
    Segment,
    Sentence,
    ablate,
    compare,
    explore,
    join_figures,
    link_figures,
    load_coreference,
    load_model,
    load_probe,
    load_treebank,
    load_vectors,
    make_segments,
    measure,
    measure_attention,
    options,
    read_segments,
    run_on,
    save_page,
)
from attnwidget.demo import demo_minimal_pairs, demo_probe, demo_prose, demo_treebank
from attnwidget.interventions import head_importance, measure_minimal_pairs
from attnwidget.metrics import (
    Distances,
    Patterns,
    attention_flow,
    attention_rollout,
    clark_labels,
    induction_scores,
    retrieval_scores,
)
from attnwidget.probes import train_dependency_probe, train_pair_probe, train_structural_probe
from attnwidget.results import Measurements
from attnwidget.words import probe_coreference, probe_features, probe_relations

TEXT = "The captain told his men that he would not leave the ship."


def look(folder: Path) -> Explorer:
    """Figures of one text, linked, saved and asked for their numbers."""
    model: AttentionModel = load_model("bert-base-uncased", name="my BERT")
    attention: Attention = model.attend(TEXT)
    grid = HeadGrid(attention)
    words = HeadGrid(attention, tokens=[("query", 7)])
    view = HeadView(attention, highlight=["he"], selected=[(1, 3), (2, 4)], arrangement="beside")
    link_figures(grid, view, words)
    grid.selected = [(3, 5)]
    view.tokens = [("query", 7)]
    grid.disabled = [(5, 8), Head(2, 3)]
    chosen: Head | None = grid.head
    if chosen is not None:
        print(chosen.layer, chosen.head, chosen.paper_name)
    weights: NDArray[np.float32] = attention.weights(2, 1)
    table: pd.DataFrame = attention.to_frame()
    print(weights.shape, len(table), attention.top_links(2, 1, 3))
    view.save(folder / "head.pdf", width=480, caption=True, theme="dark")
    join_figures([view, words, grid]).save(folder / "figure.svg")
    save_page(attention, folder / "page.html")
    print(view.code(), view.caption, view.figure(width=480).svg)
    predictions = PredictionView(attention)
    if predictions.wait(10) and predictions.effects is not None:
        print(predictions.effects.max(), predictions.to_frame())
    with model.disabled([(5, 8)]):
        after = model.predict("The woman washed [MASK] hands.")
    print(after - model.predict("The woman washed [MASK] hands."))
    options.static_fallback = False
    explorer: Explorer = explore(model, TEXT, treebank=False, selected=[(1, 2)])
    print(explorer.code())
    return explorer


def choose_options(attention: Attention, folder: Path) -> None:
    """Options of figures. mypy refuses the lines that need an ignored error, and no others."""
    print(HeadView(attention, 1, 3, mode="matrix", labels={(1, 3): "pronoun"}, hidden="cls"))
    print(HeadView(attention, "L1 H3", tokens=["he"], window=(0, 4, 0, 4), token_size="L"))
    print(HeadGrid(attention, selected=Head(1, 3), versus=attention, filter=(0.1, 0.5)))
    print(HeadGrid(attention, selected=np.array([[1, 3]]), layout={"width": "50%"}, layer=1))
    print(LinkView(attention, 1, 3, query=2, versus=4, distance=None))
    print(explore(attention, tab="why", panels=["grid", "view"], quantity="norms"))
    print(save_page(attention, folder / "page.html", mode="lines", times_keys=True, theme="dark"))
    HeadView(attention, mode="matrx")  # type: ignore[arg-type]
    HeadView(attention, mod="matrix")  # type: ignore[call-arg]
    HeadGrid(attention, comparison_part="all")  # type: ignore[arg-type]
    LinkView(attention, versus="he")  # type: ignore[arg-type]
    explore(attention, tabs="why")  # type: ignore[call-arg]
    save_page(attention, folder / "page.html", scale="exp")  # type: ignore[arg-type]
    compare(load_model(), load_model())  # type: ignore[call-overload]


def study(model: AttentionModel, folder: Path) -> Measurements:
    """Studies over a corpus."""
    segments: list[Segment] = read_segments(demo_prose(), model)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor, run_on(executor):
        found = measure(model, segments, ["position", "entropy"])
    found["entropy"].chart().save(folder / "entropy.html")
    frame: pd.DataFrame = found.to_frame()
    numbers: dict[str, NDArray[np.float64]] = found.heads()
    print(frame.columns, sorted(numbers), HeadGrid(model.attend(TEXT), metrics=found))
    own = measure(model, make_segments([TEXT, ("Who?", "He.")], model), [Distances(), Patterns()])
    print(HeadScatter(own["distances"], clark_labels(own)), own["distances"].cluster(6))
    print(measure_attention(model.attend(TEXT), ["entropy"]).to_frame())
    changes = compare(model, load_model("my-bert"), segments, matches=True)
    print(changes.chart(), changes.to_frame())
    print(HeadView(model.attend(TEXT), versus=load_model("my-bert").attend(TEXT)))
    print(
        attention_rollout(model.attend(TEXT)).after_layer(3),
        attention_flow(model.attend(TEXT), queries=[0]).to_frame(),
    )
    print(induction_scores(model).heads(), head_importance(model, segments).heads())
    print(retrieval_scores(model, TEXT, "He left.", "Who left?").heads())
    pairs = demo_minimal_pairs()
    print(ablate(model, pairs, scoring="accuracy").to_frame(), measure_minimal_pairs(model, pairs))
    return own


def probes(model: AttentionModel, folder: Path) -> None:
    """Treebanks, and what is trained on them."""
    sentences: list[Sentence] = load_treebank(folder / "dev.conllu.gz")
    relations = probe_relations(model, sentences)
    print(relations.best(), RelationTable(relations), DependencyArcs(model, sentences, relations))
    vectors = load_vectors(folder / "glove.txt")
    probe = train_dependency_probe(
        model, sentences, demo_treebank(), "attention+words", vectors=vectors
    )
    print(probe.uas, probe.votes(sentences[0], 2, 3), ProbeView(demo_probe(), sentences))
    probe.save(folder / "probe.npz")
    print(load_probe(folder / "probe.npz"), train_pair_probe(model, sentences, sentences).heads())
    print(train_structural_probe(model, sentences, sentences).chart())
    print(probe_features(model, sentences).heads())
    documents: list[Document] = load_coreference(folder / "gum.conllu.gz")
    print(CoreferenceView(probe_coreference(model, documents)))


def given(weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """Maps from elsewhere."""
    attention = Attention.from_weights(weights, ["[CLS]", "cats", "[SEP]"], model_name="mine")
    return attention.words.map("weights", 0, 0)
