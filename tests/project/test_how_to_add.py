"""The page on how to add: its examples are applied to the sources, built, run and counted."""

from __future__ import annotations

import base64
import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

import attnwidget
from attnwidget.behaviors import measure_behaviors
from attnwidget.behaviors.registry import family_of, known_behaviors
from project.added_sources import PAGE, build_with, section, shown_files

ROOT = Path(__file__).parents[2]
# What the examples of the page would make.
EXAMPLES = re.compile(
    r"(diagonal|prepositions|own.mean|governor.weights|received_bars(/\w+)?)\.(test\.)?\w+$"
)


@pytest.fixture(scope="module")
def page_code() -> ModuleType:
    spec = spec_from_file_location("docs_page_code", ROOT / "docs" / "page_code.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_metric_and_the_study_have_the_right_numbers(page_code: ModuleType) -> None:
    names: dict[str, Any] = {}
    blocks = page_code.code_blocks(PAGE.read_text("utf-8"))
    *blocks, last = [block for block in blocks if block.runs]
    for block in blocks:
        page_code.run_block(block, names, "<how-to-add>")
    study = page_code.run_block(last, names, "<how-to-add>")
    model = names["model"]
    of_segments = names["over_segments"]["diagonal"]

    maps = model.attend("The cat sat on the mat.").weights()
    expected = np.trace(maps, axis1=2, axis2=3) / maps.shape[-1]
    np.testing.assert_allclose(names["over_one_text"]["diagonal"].itself, expected, atol=1e-6)
    alone = [
        attnwidget.measure(model, [segment], [names["Diagonal"]()], progress=False)
        for segment in names["segments"]
    ]
    expected = np.mean([one["diagonal"].itself for one in alone], axis=0)
    np.testing.assert_allclose(of_segments.itself, expected, atol=1e-6)
    assert of_segments.n_documents == len(alone) == 4
    assert of_segments.to_frame()["metric"].unique().tolist() == ["to itself"]
    assert "to itself" in str(of_segments.chart().to_dict())

    means = []
    for sentence in attnwidget.demo.demo_treebank()[:8]:
        between = attnwidget.words.predict_governors(model, sentence).maps
        pairs = [(word, g - 1) for word, g in enumerate(sentence.governors) if g]
        means.append(np.mean([between[:, :, word, governor] for word, governor in pairs], axis=0))
    np.testing.assert_allclose(study.weights, np.mean(means, axis=0), atol=1e-6)
    assert (study.n_sentences, study.n_skipped, study.complete) == (8, 0, True)


def test_every_file_that_is_named_is_there() -> None:
    text = PAGE.read_text("utf-8")
    named = set(re.findall(r"`((?:attnwidget|tests|docs|js)/[\w/.-]+|CHANGELOG\.md)`", text))
    there = {name for name in named if not EXAMPLES.search(name)}
    assert len(there) >= 20 and [name for name in there if not (ROOT / name).exists()] == []


@pytest.fixture
def added_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Import the one file of an example, as a module of the package's folder."""

    def import_example(title: str) -> ModuleType:
        (shown,) = shown_files(title)
        path = Path(shown.path)
        folder = import_module(".".join(path.parent.parts))
        (tmp_path / path.name).write_text(shown.text, "utf-8")
        monkeypatch.setattr(folder, "__path__", [*folder.__path__, str(tmp_path)])
        module = import_module(f"{folder.__name__}.{path.stem}")
        monkeypatch.delattr(folder, path.stem)
        monkeypatch.delitem(sys.modules, module.__name__)
        return module

    return import_example


def test_the_behavior_is_found_and_has_the_right_numbers(
    added_module: Callable[[str], ModuleType],
) -> None:
    found_once = (known_behaviors, family_of)
    before = known_behaviors()
    try:
        added_module("A behavior")
        for function in found_once:
            function.cache_clear()
        assert known_behaviors()[:-1] == before
        assert family_of("prepositions") == "grammar"
        model = attnwidget.load_model(device="cpu")
        texts = [
            "The cat sat on the mat with a dog.",
            "He lives in a house.",
            "She came from the city by car.",
        ]
        table = measure_behaviors(
            model,
            attnwidget.make_segments(texts, model),
            ["prepositions"],
            n_random_models=0,
            progress=False,
        )
    finally:
        sys.modules.pop("attnwidget.behaviors.prepositions", None)
        for function in found_once:
            function.cache_clear()

    scores = []
    controls = []
    for text in texts[::2]:  # the other texts are held out
        maps = model.attend(text).weights()
        tokens = model.attend(text).stacks["self"].key.text
        keys = [k for k, token in enumerate(tokens) if token in ("on", "with", "from", "by")]
        assert len(keys) == 2
        score = np.zeros(maps.shape[:2])
        control = np.zeros(maps.shape[:2])
        queries = set()
        for query, key in itertools.product(range(len(tokens)), keys):
            others = [
                maps[:, :, other, other + key - query]
                for other in range(len(tokens))
                if 0 <= other + key - query < len(tokens) and other + key - query not in keys
            ]
            if others:
                score += maps[:, :, query, key]
                control += np.mean(others, axis=0)
                queries.add(query)
        scores.append(score / len(queries))
        controls.append(control / len(queries))
    found = table["prepositions"]
    np.testing.assert_allclose(found.score, np.mean(scores, axis=0), atol=1e-5)
    np.testing.assert_allclose(found.control, np.mean(controls, axis=0), atol=1e-5)


def test_the_intervention_has_the_right_numbers(
    added_module: Callable[[str], ModuleType],
) -> None:
    ablate_differences = added_module("An intervention").ablate_differences
    model = attnwidget.load_model(device="cpu")
    examples = [("The woman washed [MASK] hands.", "her"), ("He said [MASK] was late.", "he")]
    heads = [(2, 1), (2, 8), (5, 8)]
    found = ablate_differences(model, examples, heads=heads, progress=False)
    assert found.examples == tuple(examples) and found.complete and not found.note

    def loss(text: str, answer: str) -> float:
        return -float(np.log(model.predict(text).probability(answer)))

    np.testing.assert_allclose(found.intact, [loss(*example) for example in examples], atol=1e-4)
    for layer, head in heads:
        projection = model.hf_model.bert.encoder.layer[layer].attention.output.dense
        size = projection.in_features // model.n_heads
        part = slice(head * size, (head + 1) * size)

        def even(_: Any, inputs: tuple[torch.Tensor], part: slice = part) -> tuple[torch.Tensor]:
            outputs = inputs[0].clone()
            outputs[:, :, part] = outputs[:, :, part].mean(1, keepdim=True)
            return (outputs,)

        hook = projection.register_forward_pre_hook(even)
        try:
            expected = [loss(*example) for example in examples]
        finally:
            hook.remove()
        np.testing.assert_allclose(found.head_scores[layer, head], expected, atol=1e-4)
        assert np.abs(found.intact - expected).max() > 1e-3
    assert np.isnan(found.head_scores).all(-1).sum() == 72 - len(heads)


@pytest.mark.parametrize(
    ("title", "most"),
    [("A behavior", 1), ("An intervention", 1), ("A control", 4), ("A widget", 6)],
)
def test_the_files_of_an_example_are_those_of_its_list_and_few(title: str, most: int) -> None:
    listed = re.findall(r"^\| `((?:attnwidget|js/src)/[^`]+)` \|", section(title), re.M)
    assert listed == [shown.path for shown in shown_files(title)]
    assert len(listed) <= most
    numbers = {1: "One file", 4: "four files", 6: "six files"}
    assert numbers[len(listed)] in " ".join(section(title).split())


def test_the_counts_of_files_are_those_of_the_lists() -> None:
    rows = re.findall(
        r"^\| \[(an? \w+)\]\(#[\w-]+\) \| (\d+)\b[^|]* \| (\d+) \|$", PAGE.read_text("utf-8"), re.M
    )
    assert [title for title, _, _ in rows] == [
        "a metric",
        "a behavior",
        "an intervention",
        "a study",
        "a control",
        "a widget",
    ]
    for title, n_sources, n_files in rows:
        cells = re.findall(r"^\| (`[^|]+`) \|", section(title.capitalize()), re.M)
        # "…" stands for a file that only some studies need.
        files = [name for name in re.findall(r"`([^`]+)`", " ".join(cells)) if "…" not in name]
        sources = [name for name in files if name.startswith(("attnwidget/", "js/src/"))]
        assert (len(sources), len(files)) == (int(n_sources), int(n_files)), title


# Both examples together, as a script would use them: pictures, captions, a page.
SCRIPT = """
import json, sys
import numpy as np
from attnwidget import Attention, HeadView, ReceivedBars

tokens = ["one", "two", "three", "four"]
maps = np.random.default_rng(0).dirichlet(np.ones(4), (2, 3, 4)).astype("f4")
attention = Attention.from_weights(maps, tokens)
found = {"means": maps[1, 2].mean(0).tolist()}
for mode in ("matrix", "lines"):
    view = HeadView(attention, 1, 2, mode=mode)
    plain = view.figure().svg
    view.diagonal = True
    framed = view.figure()
    found[mode] = [plain, framed.svg, framed.caption.text()]
bars = ReceivedBars(attention, selected=[(1, 2)], tokens=[("key", 1)])
picture = bars.figure(width=480)
found["bars"] = [picture.svg, picture.caption.text(), picture.table.values.tolist()]
bars.hidden = ["first"]
found["hidden"] = bars.figure().table["token"].tolist()
bars.selected = []
found["nothing"] = bars.figure().svg
bars.selected = [(0, 1)]
found["page"] = bars.save(sys.argv[1]).read_text("utf-8")
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the script finds, in a copy of the sources with the examples, whose types agree."""
    copy = tmp_path_factory.mktemp("sources")
    node = build_with([*shown_files("A control"), *shown_files("A widget")], copy)
    types = subprocess.Popen(
        [node, "node_modules/typescript/bin/tsc"],
        cwd=copy / "js",
        stdout=subprocess.PIPE,
        text=True,
    )
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(copy / "bars.html")],
        cwd=copy,
        env=os.environ | {"PYTHONPATH": str(copy), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    said, _ = types.communicate()
    assert run.returncode == 0, run.stderr
    assert types.returncode == 0, said
    found: dict[str, Any] = json.loads(run.stdout)
    return found


@pytest.mark.slow
def test_the_control_is_drawn_and_said(made: dict[str, Any]) -> None:
    plain, framed, caption = made["matrix"]
    assert "diagonal framed" in caption
    added = framed.count('stroke="#1565c0"') - plain.count('stroke="#1565c0"')
    assert added == 4, "a frame a token"
    plain, framed, caption = made["lines"]
    assert "diagonal" not in caption
    assert re.sub("<metadata>.*?</metadata>", "", framed) == re.sub(
        "<metadata>.*?</metadata>", "", plain
    )


@pytest.mark.slow
def test_the_widget_is_drawn_said_and_saved(made: dict[str, Any]) -> None:
    svg, caption, rows = made["bars"]
    assert caption.startswith("Attention that tokens receive")
    assert "L1 H2 (2-3)" in caption and "mean over queries" in caption
    tokens, values = zip(*rows, strict=True)
    assert tokens == ("one", "two", "three", "four")
    np.testing.assert_allclose(values, made["means"], rtol=1e-6)
    widths = [float(w) for w in re.findall(r'<rect [^>]*width="([\d.]+)" height="10"', svg)]
    np.testing.assert_allclose(widths, 240 * np.divide(values, max(values)), atol=0.01)
    assert len(re.findall('<rect [^>]*fill="#1565c0"', svg)) == 1, "the locked token"
    assert made["hidden"] == ["two", "three", "four"]
    assert "Select a head" in made["nothing"]
    page = made["page"]
    assert "Attention that tokens receive" in page and "attnw-received_bars" in page
    data = re.search(r'<script type="application/json" id="attnw-data">(.*?)</script>', page)
    assert data is not None
    (figure,) = json.loads(data[1])["figures"]
    assert figure["label"] == "attention received" and figure["state"]["selected"] == [
        [0, 1, "self"]
    ]
    stored = figure["state"]["_received"]["tokens"]["self"]["means"]
    means = np.frombuffer(base64.b64decode(stored["view"]), "<f4").reshape(stored["shape"])
    assert means.shape == (2, 3, 4)
    np.testing.assert_allclose(means[1, 2], made["means"], rtol=1e-6)
