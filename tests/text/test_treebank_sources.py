"""Sentences out of spaCy's documents, and treebanks fetched from a server (one of this test's)."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha1
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from attnwidget.text import treebank_fetch
from attnwidget.text.treebank_fetch import fetch_treebank
from attnwidget.text.treebank_files import load_treebank
from attnwidget.text.treebank_spacy import sentences_from_spacy
from refusals import naming

TREE = "1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n\n"


@dataclass(eq=False)
class Token:
    """As much of spaCy's `Token` as is read."""

    i: int
    text: str
    dep_: str
    pos_: str = "X"
    tag_: str = "XX"
    whitespace_: str = " "
    head: Token = field(init=False)

    @property
    def is_space(self) -> bool:
        return self.text.isspace()


class Doc:
    """As much of spaCy's `Doc` as is read."""

    def __init__(self, sentences: list[list[tuple[str, int, str]]], parsed: bool = True) -> None:
        self._parsed = parsed
        tokens: list[Token] = []
        self.sents = []
        for rows in sentences:
            start = len(tokens)
            tokens += [Token(start + k, text, dep) for k, (text, _, dep) in enumerate(rows)]
            for k, (_, head, _) in enumerate(rows):
                tokens[start + k].head = tokens[start + head]
            self.sents.append(tokens[start:])

    def has_annotation(self, name: str) -> bool:
        return self._parsed and name == "DEP"


def test_spacy_documents() -> None:
    cats = [("Cats", 2, "nsubj"), ("\n", 0, "dep"), ("purr", 2, "ROOT"), (".", 2, "punct")]
    odd = [("Go", 0, "ROOT"), (" ", 0, ""), ("on", 1, "prt")]  # under a token of white space
    first, second = sentences_from_spacy([Doc([cats, [("\n", 0, "ROOT")]]), Doc([odd])])
    assert first.words == ("Cats", "purr", ".")
    assert first.governors == (2, 0, 2)
    assert first.relations == ("nsubj", "root", "punct")
    assert first.source == "document 0, sentence 0"
    assert second.governors == (0, 1)
    assert first.text == "Cats purr ."
    tight = Doc([cats])
    for token in tight.sents[0]:
        token.whitespace_ = ""
    assert sentences_from_spacy(tight)[0].text == "Cats purr."
    assert sentences_from_spacy(Doc([cats]))[0] == first
    with pytest.raises(ValueError, match=naming("document 0", "spacy.load")):
        sentences_from_spacy([Doc([cats], parsed=False)])
    with pytest.raises(TypeError, match=naming("str", "spaCy", "pipeline")):
        sentences_from_spacy(["Cats purr."])
    with pytest.raises(ValueError, match=naming("documents", "no words")):
        sentences_from_spacy([])


@pytest.mark.slow
def test_real_spacy_documents() -> None:
    spacy = pytest.importorskip("spacy")
    vocab = spacy.blank("en").vocab
    doc = spacy.tokens.Doc(
        vocab, words=["Cats", "purr", "."], heads=[1, 1, 1], deps=["nsubj", "ROOT", "punct"]
    )
    assert sentences_from_spacy(doc)[0].governors == (2, 0, 2)


class Repository(BaseHTTPRequestHandler):
    """A server that lists and hands out one treebank's files."""

    files: ClassVar[dict[str, bytes]]
    requests: ClassVar[list[str]]
    damaged = False

    def do_GET(self) -> None:
        self.requests.append(self.path)
        name = self.path.rpartition("/")[2]
        if self.path == "/list/UD_Test-Tales/r2.16":
            host = f"http://127.0.0.1:{self.server.server_address[1]}"
            body = json.dumps(
                [
                    {
                        "name": file,
                        "type": "file",
                        "sha": sha1(b"blob %d\0" % len(text) + text).hexdigest(),
                        "download_url": f"{host}/raw/{file}",
                    }
                    for file, text in self.files.items()
                ]
                + [{"name": "not-to-release", "type": "dir"}]
            ).encode()
        elif name in self.files:
            body = self.files[name][: -1 if self.damaged else None]
        else:
            self.send_error(500 if "Broken" in self.path else 404)
            return
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Repository]]:
    Repository.files = {
        "test_tales-ud-dev.conllu": TREE.encode(),
        "test_tales-ud-test.conllu": TREE.encode() * 2,
        "LICENSE.txt": b"CC BY",
        "stats.xml": b"<xml/>",
    }
    Repository.requests = []
    Repository.damaged = False
    server = ThreadingHTTPServer(("127.0.0.1", 0), Repository)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    listing = f"http://127.0.0.1:{server.server_address[1]}/list/{{name}}/{{release}}"
    monkeypatch.setattr(treebank_fetch, "_LISTING", listing)
    yield Repository
    server.shutdown()
    server.server_close()


def test_a_treebank_is_fetched_once(repository: type[Repository], tmp_path: Path) -> None:
    path = fetch_treebank("UD_Test-Tales", folder=tmp_path)
    assert len(load_treebank(path)) == 1
    assert sorted(p.name for p in path.parent.iterdir()) == ["LICENSE.txt", path.name]
    asked = len(repository.requests)
    assert fetch_treebank("UD_Test-Tales", folder=tmp_path) == path
    assert len(repository.requests) == asked
    assert len(load_treebank(fetch_treebank("UD_Test-Tales", split="test", folder=tmp_path))) == 2


def test_the_cache_is_the_users(
    repository: type[Repository], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = fetch_treebank("UD_Test-Tales")
    assert path.parent == tmp_path / "attnwidget/treebanks/UD_Test-Tales/r2.16"


def test_what_cannot_be_fetched(repository: type[Repository], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=naming("UD_Test-None", "r2.16")):
        fetch_treebank("UD_Test-None", folder=tmp_path)
    with pytest.raises(ValueError, match=naming("'train'", "test_tales-ud-dev.conllu", "file")):
        fetch_treebank("UD_Test-Tales", split="train", folder=tmp_path)
    with pytest.raises(ConnectionError, match=naming("500", "fetch_treebank", "network")):
        fetch_treebank("UD_Broken", folder=tmp_path)
    with pytest.raises(ValueError, match=naming("'../../etc'", "'UD_English-EWT'")):
        fetch_treebank("../../etc", folder=tmp_path)
    with pytest.raises(ValueError, match=naming("release", "'a/b'")):
        fetch_treebank("UD_Test-Tales", release="a/b", folder=tmp_path)
    with pytest.raises(ValueError, match=naming("split", "'all'")):
        fetch_treebank("UD_Test-Tales", split="all", folder=tmp_path)  # type: ignore[arg-type]
    repository.damaged = True
    with pytest.raises(ConnectionError, match=naming("LICENSE.txt", "UD_Test-Tales", "damaged")):
        fetch_treebank("UD_Test-Tales", folder=tmp_path)
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


def test_without_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(treebank_fetch, "_LISTING", "http://127.0.0.1:9/{name}/{release}")
    with pytest.raises(ConnectionError, match=naming("UD_Test-Tales", "fetch_treebank", "network")):
        fetch_treebank("UD_Test-Tales", folder=tmp_path)
