"""The page on how to add: its examples are applied to the sources, built, run and counted."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import attnwidget
from project.added_sources import PAGE, build_with, section, shown_files

ROOT = Path(__file__).parents[2]
# What the examples of the page would make.
EXAMPLES = re.compile(r"(diagonal|governor.weights|received_bars(/\w+)?)\.(test\.)?\w+$")


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


@pytest.mark.parametrize(("title", "most"), [("A control", 5), ("A widget", 10)])
def test_the_files_of_an_example_are_those_of_its_list_and_few(title: str, most: int) -> None:
    listed = re.findall(r"^\| `((?:attnwidget|js/src)/[^`]+)` \|", section(title), re.M)
    assert listed == [shown.path for shown in shown_files(title)]
    assert len(listed) <= most
    numbers = {5: "five", 10: "ten"}
    assert f"{numbers[len(listed)]} files" in " ".join(section(title).split())


def test_the_counts_of_files_are_those_of_the_lists() -> None:
    rows = re.findall(
        r"^\| \[(a \w+)\]\(#[\w-]+\) \| (\d+)\b[^|]* \| (\d+) \|$", PAGE.read_text("utf-8"), re.M
    )
    assert [title for title, _, _ in rows] == ["a metric", "a study", "a control", "a widget"]
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
    assert "Attention that tokens receive" in made["page"] and "attnw-received_bars" in made["page"]
