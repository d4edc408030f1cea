"""The atlas that comes with the package, and the script that made it."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import make_atlas
from attnwidget import AttentionModel, load_atlas, load_model
from attnwidget.behaviors import measure_behaviors
from attnwidget.behaviors.head_atlas.atlas_result import Atlas
from attnwidget.demo import demo_atlas, demo_documents, demo_prose, demo_treebank
from attnwidget.model_facts.pickled_model import weights_digest
from refusals import naming

STORED = Path(str(files("attnwidget").joinpath("demo/atlas.json")))


@pytest.fixture(scope="module")
def stored() -> Atlas:
    return demo_atlas()


def test_the_stored_atlas_is_of_the_embedded_model(stored: Atlas, model: AttentionModel) -> None:
    assert stored.complete and stored.names.shape == (model.n_layers, model.n_heads)
    assert stored.provenance["weights"] == weights_digest(model.hf_model)
    assert stored.names[0, 2] == "previous token" and stored.names[2, 8] == "determiner to its noun"
    assert STORED.stat().st_size < 600_000
    links = [link for kinds in stored.examples.values() for link in kinds["strongest"]]
    assert len(links) == 72 * make_atlas.K


def test_a_card_says_where_the_loss_was_measured(stored: Atlas) -> None:
    next_token, determiners = str(stored.card(1, 8)), str(stored.card(2, 8))
    assert "nats at all places (" in next_token and "nan" not in next_token
    assert repr(stored.table["previous token"]) == (
        "BehaviorScore('previous token', attends to the token before: 6×12 heads, 12 texts)"
    )
    link = stored.card(1, 3).examples["strongest"][0]
    assert repr([link]) == f"[ExampleLink({link})]" and " → " in str(link)
    assert "nats where it applies (" in determiners and " elsewhere\n" in determiners


def test_the_sibling_has_an_atlas_of_its_own(stored: Atlas) -> None:
    sibling = demo_atlas("attnwidget/genre")
    model = load_model("attnwidget/genre")
    assert sibling.complete and sibling.names.shape == stored.names.shape
    assert sibling.provenance["weights"] == weights_digest(model.hf_model)
    assert sibling.provenance["texts"] == stored.provenance["texts"]
    assert STORED.with_name("atlas_genre.json").stat().st_size < 500_000
    assert not sibling.effects and "effects" in sibling.reasons
    with pytest.raises(ValueError, match=naming("model", "'attnwidget/induction'", "genre")):
        demo_atlas("attnwidget/induction")


@pytest.mark.parametrize("name", ["embedded", "attnwidget/genre"])
def test_stored_sentences_are_quotations_of_the_bundled_texts(
    name: str, model: AttentionModel
) -> None:
    sources = [demo_prose().read_text("utf-8")]
    sources += [" ".join(sentence.words) for sentence in demo_treebank()]
    sources += [document.running.text for document in demo_documents()]
    bundled = "\n".join(" ".join(model.tokenizer.tokenize(source)) for source in sources)
    passages = {
        passage.strip()
        for examples in demo_atlas(name).examples.values()
        for links in examples.values()
        for link in links
        for passage in re.split(r"\[CLS\]|\[SEP\]", " ".join(link.tokens.raw))
    }
    assert passages and [passage for passage in passages if passage not in bundled] == []


@pytest.mark.slow
def test_scores_made_again_are_the_stored_scores(stored: Atlas, model: AttentionModel) -> None:
    names = ["previous token", "rests on [CLS]", "rare words"]
    table = measure_behaviors(
        model, treebank=(), behaviors=names, n_random_models=0, progress=False
    )
    assert table.n_segments == stored.table.n_segments
    for name in names:
        for part in ("score", "control", "low", "high", "held_out", "auc"):
            made = getattr(table[name], part)
            kept = getattr(stored.table[name], part)
            # An area under a curve counts pairs of weights in order. Where two weights are almost
            # equal, the rounding of the processor decides, and each pair counts as one step.
            room = 5e-4 if part == "auc" else 1e-5
            np.testing.assert_allclose(made, kept, rtol=1e-4, atol=room, err_msg=f"{name} {part}")


def test_the_script_writes_a_small_file_that_can_be_read(
    stored: Atlas, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {}

    def same(model: AttentionModel, **options: object) -> Atlas:
        asked.update(options)
        return stored

    monkeypatch.setattr(make_atlas, "atlas", same)
    make_atlas.main(["--out", str(tmp_path / "atlas.json")])
    assert asked["n_examples"] == make_atlas.K
    assert json.loads((tmp_path / "atlas.json").read_text("utf-8")) == json.loads(
        STORED.read_text("utf-8")
    )
    assert load_atlas(tmp_path / "atlas.json").find("previous")
