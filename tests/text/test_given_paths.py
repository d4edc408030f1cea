"""Errors about paths name the full path, what is expected there, and the next step."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from attnwidget import (
    HeadView,
    fetch_treebank,
    load_atlas,
    load_coreference,
    load_framenet_links,
    load_links,
    load_minimal_pairs,
    load_model,
    load_probe,
    load_treebank,
    load_vectors,
    make_segments,
    measure,
    read_segments,
    resume_from,
    save_page,
    save_table,
)
from attnwidget.behaviors.scores.measure_behaviors import measure_behaviors
from attnwidget.demo import demo_atlas, demo_treebank
from attnwidget.metrics import measure_checkpoints, merge_resume_files
from attnwidget.probes.features import extract_features
from attnwidget.probes.saved_arrays import write_probe
from attnwidget.text.given_paths import (
    looks_like_path,
    make_folder,
    refuse_no_file,
    refuse_no_folder,
    refuse_no_parent,
)
from attnwidget.text.places import picture_array
from attnwidget.text.sound_file import sound_of
from attnwidget.widgets.pages.write_page import write_page
from refusals import naming

if TYPE_CHECKING:
    from attnwidget import AttentionModel

Use = Callable[["AttentionModel", Path], Any]


def never_loaded() -> AttentionModel:
    raise AssertionError("a checkpoint was loaded before all paths were checked")


#: By function a missing file or folder, the format in the message, and a call.
READERS: dict[str, tuple[str, str, Use]] = {
    "load_treebank": ("ewt.conllu", "treebank", lambda model, path: load_treebank(path)),
    "load_coreference": ("gum.conllu", "CorefUD", lambda model, path: load_coreference(path)),
    "load_framenet_links": (
        "framenet_v17",
        "FrameNet",
        lambda model, path: load_framenet_links(path),
    ),
    "load_minimal_pairs": (
        "blimp.jsonl",
        "minimal pairs",
        lambda model, path: load_minimal_pairs(path),
    ),
    "load_links": ("links.csv", ".tsv", lambda model, path: load_links(path)),
    "GloVe": ("glove.txt", "GloVe", lambda model, path: load_vectors(path)),
    "word2vec": ("vectors.bin", "word2vec", lambda model, path: load_vectors(path)),
    "arrays of vectors": ("vectors.npz", ".npz", lambda model, path: load_vectors(path)),
    "pipeline of spaCy": ("pipeline", "spaCy", lambda model, path: load_vectors(str(path))),
    "load_atlas": ("atlas.json", "Atlas.save", lambda model, path: load_atlas(path)),
    "load_probe": ("probe.npz", "probe", lambda model, path: load_probe(path)),
    "read_segments": ("wiki.txt", "text file", lambda model, path: read_segments(path, model)),
    "load_model": ("bert", "config.json", lambda model, path: load_model(str(path))),
    "measure_checkpoints": (
        "bert",
        "config.json",
        lambda model, path: measure_checkpoints([("first", never_loaded), ("last", str(path))]),
    ),
    "a tokenizer": (
        "bert",
        "tokenizer",
        lambda model, path: load_model(model.hf_model, str(path)),
    ),
    "a picture": ("cat.png", "picture", lambda model, path: picture_array(path)),
    "a sound": ("word.wav", ".wav", lambda model, path: sound_of(path)),
    "merge_resume_files": (
        "part.npz",
        "resume file",
        lambda model, path: merge_resume_files([path], path.with_name("whole.npz")),
    ),
}


def measured(model: AttentionModel, path: Path) -> Any:
    segments = make_segments(["The cat sat."], model, max_tokens=16)
    return measure(model, segments, ["entropy"], resume=path, progress=False)


def measured_in_a_block(model: AttentionModel, path: Path) -> Any:
    segments = make_segments(["The cat sat."], model, max_tokens=16)
    with resume_from(path):
        return measure(model, segments, ["entropy"], progress=False)


#: By function a file to write, and a call.
WRITERS: dict[str, tuple[str, Use]] = {
    "save_table": ("a.csv", lambda model, path: save_table(pd.DataFrame({"a": [1]}), path)),
    "save_page": ("a.html", lambda model, path: save_page(model.attend("The cat sat."), path)),
    "write_page": (
        "a.html",
        lambda model, path: write_page(HeadView(model.attend("The cat sat.")), path),
    ),
    "save of a figure": (
        "a.svg",
        lambda model, path: HeadView(model.attend("The cat sat.")).save(path),
    ),
    "save of an atlas": ("a.json", lambda model, path: demo_atlas().save(path)),
    "save of a chart": ("a.svg", lambda model, path: demo_atlas().chart().save(path)),
    "save of a probe": ("a.npz", lambda model, path: write_probe(path, "probe", {}, {})),
    "resume=": ("a.npz", measured),
    "resume_from": ("a.npz", measured_in_a_block),
    "merge_resume_files": (
        "a.npz",
        lambda model, path: merge_resume_files([measured_part(model, path)], path),
    ),
    "cache=": (
        "features",
        lambda model, path: extract_features(model, demo_treebank()[:1], path, progress=False),
    ),
}


def measured_part(model: AttentionModel, path: Path) -> Path:
    part = path.parent.parent / "part.npz"
    measured(model, part)
    return part


@pytest.mark.parametrize(("name", "expected", "read"), READERS.values(), ids=READERS)
def test_a_missing_path_is_named_in_full(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    model: AttentionModel,
    name: str,
    expected: str,
    read: Use,
) -> None:
    path = tmp_path / "data" / name
    with pytest.raises(FileNotFoundError, match=naming(str(path), expected, "os.listdir")):
        read(model, path)
    # The folder above is misspelled.
    (tmp_path / "date").mkdir()
    with pytest.raises(FileNotFoundError, match=naming(str(path), f"'{tmp_path / 'date'}'?")):
        read(model, path)
    # A file or folder beside it is spelled alike.
    near = path.with_name(f"my{name}")
    (near.mkdir if "." not in name else near.parent.mkdir)(parents=True)
    if "." in name:
        near.write_bytes(b"x")
    if "spaCy" not in expected:  # a pipeline is a folder, and vectors are a file
        with pytest.raises(FileNotFoundError, match=naming(str(path), f"did you mean '{near}'?")):
            read(model, path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=naming(str(path), f"directory is '{tmp_path}'")):
        read(model, Path("..", tmp_path.name, "data", name))


@pytest.mark.parametrize(("name", "expected", "read"), READERS.values(), ids=READERS)
def test_a_folder_for_a_file_is_named_and_the_reverse(
    tmp_path: Path, model: AttentionModel, name: str, expected: str, read: Use
) -> None:
    path = tmp_path / name
    if "." in name:
        if "vectors" in expected or name.startswith(("glove", "vectors")):
            return  # a folder is a pipeline of spaCy
        path.mkdir()
        with pytest.raises(IsADirectoryError, match=naming(str(path), expected, "folder")):
            read(model, path)
    elif "spaCy" not in expected:
        path.write_text("x")
        with pytest.raises(NotADirectoryError, match=naming(str(path), expected, f"'{tmp_path}'")):
            read(model, path)


@pytest.mark.parametrize(
    ("name", "expected", "read"),
    [case for case in READERS.values() if "." in case[0] and case[1] != "resume file"],
    ids=[key for key, case in READERS.items() if "." in case[0] and case[1] != "resume file"],
)
def test_an_empty_file_is_named(
    tmp_path: Path, model: AttentionModel, name: str, expected: str, read: Use
) -> None:
    (tmp_path / name).touch()
    with pytest.raises(ValueError, match=naming(name, "empty", expected)):
        read(model, tmp_path / name)


def test_an_empty_resume_file_is_named(tmp_path: Path, model: AttentionModel) -> None:
    path = tmp_path / "run.npz"
    path.touch()
    for read in (measured, READERS["merge_resume_files"][2]):
        with pytest.raises(ValueError, match=naming(str(path), "empty", "resume file")):
            read(model, path)


@pytest.mark.parametrize(("name", "write"), WRITERS.values(), ids=WRITERS)
def test_a_missing_folder_to_write_in_is_named_in_full(
    tmp_path: Path, model: AttentionModel, name: str, write: Use, recording: None
) -> None:
    folder = tmp_path / "figures"
    with pytest.raises(FileNotFoundError, match=naming(f"'{folder}'", f"'{name}'", "mkdir")):
        write(model, folder / name)
    (tmp_path / "figure").mkdir()
    near = f"did you mean '{tmp_path / 'figure'}'?"
    with pytest.raises(FileNotFoundError, match=naming(f"'{folder}'", near, "mkdir")):
        write(model, folder / name)
    assert not folder.exists()
    folder.write_text("a file")
    with pytest.raises(NotADirectoryError, match=naming(f"'{folder}'", f"'{name}'", "file")):
        write(model, folder / name)


def test_a_folder_that_is_made_is_no_file(tmp_path: Path, model: AttentionModel) -> None:
    file = tmp_path / "file"
    file.touch()
    for path in (file, file / "inner"):
        with pytest.raises(NotADirectoryError, match=naming(f"'{file}'", f"'{path}'", "figures")):
            make_folder(path, "figures")
    with pytest.raises(NotADirectoryError, match=naming(f"'{file}'", "treebanks")):
        fetch_treebank("UD_English-EWT", folder=file)
    with pytest.raises(NotADirectoryError, match=naming(f"'{file}'", "resume files")):
        measure_behaviors(model, make_segments(["The cat sat."], model), resume=file)
    assert make_folder(tmp_path / "a" / "b", "figures").is_dir()


@pytest.fixture
def closed_folder() -> Iterator[Path]:
    """A folder of other users, which this process may not read."""
    with tempfile.TemporaryDirectory() as place:
        closed = Path(place, "closed")
        closed.mkdir()
        (closed / "a.txt").write_text("text")
        (Path(place) / "a.txt").write_text("text")
        os.chmod(place, 0o755)
        os.chmod(Path(place) / "a.txt", 0)
        os.chmod(closed, 0)
        root = os.geteuid() == 0
        if root:  # root may read everything
            os.seteuid(65534)
        try:
            yield closed
        finally:
            if root:
                os.seteuid(0)
            os.chmod(closed, 0o700)


def test_a_file_without_permission_is_named(closed_folder: Path) -> None:
    for path in (closed_folder / "a.txt", closed_folder.parent / "a.txt"):
        with pytest.raises(PermissionError, match=naming(str(path), "prose", "permissions")):
            refuse_no_file(path, "prose")
    with pytest.raises(PermissionError, match=naming(str(closed_folder), "models")):
        refuse_no_folder(closed_folder, "models")
    with pytest.raises(PermissionError, match=naming(str(closed_folder / "inner"), "'a.csv'")):
        refuse_no_parent(closed_folder / "inner" / "a.csv")
    with pytest.raises(PermissionError, match=naming(str(closed_folder / "new"), "atlases")):
        make_folder(closed_folder / "new", "atlases")


def test_other_reasons_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a.txt").write_text("text")
    with pytest.raises(FileNotFoundError, match=naming('"~"', f"'{tmp_path / 'a.txt'}'")):
        refuse_no_file("~/a.txt", "prose")
    (tmp_path / "link.txt").symlink_to("gone.txt")
    with pytest.raises(FileNotFoundError, match=naming("link", f"'{tmp_path / 'gone.txt'}'")):
        refuse_no_file(tmp_path / "link.txt", "prose")
    with pytest.raises(NotADirectoryError, match=naming(f"'{tmp_path / 'a.txt'}'", "file")):
        refuse_no_file(tmp_path / "a.txt" / "b.txt", "prose")
    with pytest.raises(FileNotFoundError, match=naming("'https://a.b/c.txt'", "download")):
        load_treebank(Path("https://a.b/c.txt"))


def test_a_suggestion_is_more_than_an_equal_ending(tmp_path: Path) -> None:
    for name in ("other.conllu", "en_ewt-ud-dev.conllu.gz"):
        (tmp_path / name).write_text("text")
    with pytest.raises(FileNotFoundError) as error:
        refuse_no_file(tmp_path / "french.conllu", "a treebank")
    assert "did you mean" not in str(error.value)
    with pytest.raises(FileNotFoundError, match=naming("en_ewt-ud-dev.conllu.gz'?")):
        refuse_no_file(tmp_path / "en_ewt-ud-dev.conllu", "a treebank")


def test_names_on_the_hub_are_no_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    paths = ["./a", "../a", "/a", "~/a", "a\\b", "C:\\a", "a/b/c", "a/"]
    assert [path for path in [*paths, Path("a")] if not looks_like_path(path)] == []
    # A folder with the name of the owner hides no model on the Hub.
    names = ["gpt2", "google/vit", "", "a.b", "owner/a.b", "runs/a"]
    assert [name for name in names if looks_like_path(name)] == []
