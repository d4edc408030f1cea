"""Every reader of files, with good files of its own, and what a right result of it is."""

from __future__ import annotations

import csv
import gzip
import importlib
import io
import json
import random
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from attnwidget.text.coreference import load_coreference
from attnwidget.text.framenet import load_framenet_links
from attnwidget.text.minimal_pairs import load_minimal_pairs
from attnwidget.text.segments import read_lines
from attnwidget.text.treebank_files import load_treebank
from attnwidget.text.word_links import load_links
from attnwidget.text.word_vector_files import load_vectors
from fixtures.framenet_sample import write_framenet
from robustness import mutations
from robustness.mutations import OF_TEXT, OF_XML, mutated, mutated_arrays, packed

Mutated = tuple[str, bytes]


@dataclass
class Reader:
    """A reader and what it is given.

    Attributes:
        read: takes the path of a file.
        samples: names and contents of good files.
        mutate: a good file's contents, changed, and the name of the change.
        right: raises AssertionError where what was read is not what the text of the file says.
    """

    read: Callable[[Path], Any]
    samples: dict[str, bytes]
    mutate: Callable[[bytes, random.Random], Mutated]
    right: Callable[[str, Any], None] = field(default=lambda text, found: None)

    def case(self, folder: Path, draw: random.Random) -> tuple[str, Path]:
        """A mutated file in `folder`."""
        name = draw.choice(list(self.samples))
        kind, data = self.mutate(self.samples[name], draw)
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if self.mutate is text and draw.random() < 0.05:
            kind, data = packed(data, draw)
            path = path.with_name(f"{name}.gz")
        path.write_bytes(data)
        return kind, path

    def names(self, path: Path, said: str) -> bool:
        """Whether an error names the file."""
        return path.name in said

    def check(self, path: Path, found: Any) -> None:
        """AssertionError where what was read is not what the file says."""
        data = path.read_bytes()
        content = gzip.decompress(data) if path.suffix == ".gz" else data
        if self.mutate is text and path.suffix != ".bin":
            self.right(content.decode("utf-8"), found)
        else:
            self.right("", found)


def text(data: bytes, draw: random.Random) -> Mutated:
    return mutated(data, draw, OF_TEXT)


CONLLU = """\
# newdoc id = one
# sent_id = a-1
# text = I don't go home, vámonos.
1\tI\tI\tPRON\tPRP\tCase=Nom\t4\tnsubj\t4:nsubj\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\tdo\tAUX\tVBP\t_\t4\taux\t_\t_
3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t_\t_
4\tgo\tgo\tVERB\tVB\t_\t0\troot\t_\t_
5\thome\thome\tADV\tRB\t_\t4\tadvmod\t_\tSpaceAfter=No
5.1\tghost\t_\t_\t_\t_\t_\t_\t_\t_
6\t,\t,\tPUNCT\t,\t_\t4\tpunct\t_\t_
7-8\tvámonos\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
7\tvamos\tir\tVERB\t_\t_\t4\tparataxis\t_\t_
8\tnos\tnosotros\tPRON\t_\t_\t7\tobj\t_\t_
9\t.\t.\tPUNCT\t.\t_\t4\tpunct\t_\t_

# sent_id = a-2
1\tCats\tcat\tNOUN\tNNS\t_\t2\tnsubj\t_\t_
2\tpurr\tpurr\tVERB\tVBP\t_\t0\troot\t_\tSpaceAfter=No

"""
PAIRS = "Cats 2-nsubj\npurr 0-root\n\nThe 2-det\ncat 3-nsubj\nsat 0-root\n. 3-punct\n"
COREFUD = """\
# newdoc id = one
# global.Entity = eid-etype-head-other
# sent_id = s1
1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\tEntity=(e1-person-2-
2\tcaptain\tcaptain\tNOUN\tNN\t_\t3\tnsubj\t_\tEntity=e1)
3\ttold\ttell\tVERB\tVBD\t_\t0\troot\t_\t_
3.1\t_\t_\t_\t_\t_\t_\t_\t_\tEntity=(e4-x-1-)
4-5\this'men\t_\t_\t_\t_\t_\t_\t_\t_
4\this\the\tPRON\tPRP$\t_\t5\tnmod\t_\tEntity=(e2-person-2-(e1-person-1-)
5\tmen\tman\tNOUN\tNNS\t_\t3\tobj\t_\tEntity=e2)|SpaceAfter=No
6\t.\t.\tPUNCT\t.\t_\t3\tpunct\t_\t_

# sent_id = s2
1\tShe\tshe\tPRON\tPRP\t_\t2\tnsubj\t_\tEntity=(e3[1/2]-person-1-)
2\tand\tand\tCCONJ\tCC\t_\t0\troot\t_\t_
3\the\the\tPRON\tPRP\t_\t2\tconj\t_\tEntity=(e3[2/2]-person-1-)

# newdoc id = two
1\tIt\tit\tPRON\tPRP\t_\t0\troot\t_\tEntity=(e9-thing-1-)

"""
CONLL_2012 = """\
#begin document (bc/one); part 000
bc/one 0 0 The DT (TOP* - - - spk * (12
bc/one 0 1 captain NN * - - - spk * 12)
bc/one 0 2 told VBD * - - - spk * -
bc/one 0 3 his PRP$ * - - - spk * (7|(12)
bc/one 0 4 men NNS *) - - - spk * 7)

bc/one 0 0 He PRP (TOP*) - - - spk * (12)
#end document
#begin document (bc/two); part 001
bc/two 1 0 It PRP (TOP*) - - - spk * (1)

#end document
"""
LINKS = '''\
sentence,source span,target,label
He was becoming agitated .,1,agitated,Experiencer
He was becoming agitated .,3-4,1,Other
"She said , ""go on""",2-3,1,Quoted
'''
PROSE = "One paragraph of words.\nAnother one, longer: naïve.\n\nA second document.\nIts end.\n"
GLOVE = "the 0.1 0.2 -3e-2\ncat 0.3 0.4 1\n. . . 1 2 3\nnaïve 1 1 1\n"
PAIRS_JSON = (
    '{"sentence_good": "Cats purr.", "sentence_bad": "Cats purrs.", "UID": "sv"}\n'
    '{"sentence_good": "A naïve cat.", "sentence_bad": "A naïve cats."}\n'
)


def _tsv() -> bytes:
    made = io.StringIO()
    csv.writer(made, delimiter="\t").writerows(csv.reader(io.StringIO(LINKS)))
    return made.getvalue().encode()


def _binary() -> bytes:
    rows = [(b"the", [1.0, 2.0]), (b"cat", [3.0, 4.0]), ("naïve".encode(), [5.0, 6.0])]
    return b"3 2\n" + b"".join(w + b" " + np.array(v, "<f4").tobytes() + b"\n" for w, v in rows)


def _npz(**arrays: Any) -> bytes:
    made = io.BytesIO()
    np.savez(made, **arrays)
    return made.getvalue()


# What is right, told by readers of the formats that are as plain as can be.


def _plain_lines(content: str) -> list[str]:
    return [line.rstrip("\r\n") for line in content.removeprefix("\ufeff").split("\n")]


def _same_words(content: str, sentences: Any) -> None:
    numbered = [line.split("\t") for line in _plain_lines(content) if re.match(r"\d+\t", line)]
    found = [
        (word, str(governor), relation)
        for one in sentences
        for word, governor, relation in zip(one.words, one.governors, one.relations, strict=True)
    ]
    if numbered:
        given = [(cells[1], str(int(cells[6])), cells[7]) for cells in numbered]
        assert found == given, "other words than the file's"
    else:
        lines = [line.strip() for line in _plain_lines(content) if line.strip()]
        pairs = [re.sub(r" 0+(\d)", r" \1", line) for line in lines]
        assert [f"{w} {g}-{r}" for w, g, r in found] == pairs, "other lines than the file's"
    for one in sentences:
        assert sum(governor == 0 for governor in one.governors) == 1


def _same_document_words(content: str, documents: Any) -> None:
    lines = _plain_lines(content)
    words = [line.split("\t")[1] for line in lines if re.match(r"\d+\t", line)]
    found = [word for one in documents for word in one.words]
    assert found == words, "other words than the file's"
    for one in documents:
        for mention in one.mentions:
            assert 0 <= mention.start <= mention.head <= mention.end < len(one.words)


def _same_columns(content: str, documents: Any) -> None:
    rows = [line.split() for line in _plain_lines(content) if line.strip()]
    words = [cells[3] for cells in rows if not cells[0].startswith("#")]
    assert [word for one in documents for word in one.words] == words, "other words"


def _same_rows(content: str, sentences: Any) -> None:
    by = "\t" if "\t" in content.partition("\n")[0] else ","
    rows = [row for row in csv.reader(io.StringIO(content, newline=""), delimiter=by) if any(row)]
    assert sum(len(one.links) for one in sentences) == len(rows) - 1, "other links than rows"


def _same_vectors(content: str, vectors: Any) -> None:
    lines = [line for line in _plain_lines(content) if line.strip()]
    if re.fullmatch(r"\d+ \d+", lines[0].rstrip()):
        del lines[0]
    assert len(vectors.matrix) == len(lines), "another number of words than lines"
    assert np.isfinite(vectors.matrix).all()


def _finite(content: str, vectors: Any) -> None:
    assert len(vectors) and np.isfinite(vectors.matrix).all()


def _same_paragraphs(content: str, lines: Any) -> None:
    content = re.sub("\r+(\n|\\Z)", r"\1", content.removeprefix("\ufeff"))
    given = io.StringIO(content, newline=None).read()
    assert "\n".join(lines).rstrip("\n") == given.rstrip("\n"), "other lines than the file's"


def _same_pairs(content: str, pairs: Any) -> None:
    lines = content.removeprefix("\ufeff").replace("\r", "\n").split("\n")
    given = [json.loads(line) for line in lines if line.strip()]
    assert [one.good for one in pairs] == [one["sentence_good"] for one in given]


def _framenet() -> Reader:
    importlib.import_module("nltk.corpus.reader.framenet")  # takes longer than an input may

    folder = Path(tempfile.mkdtemp(prefix="attnwidget-framenet-"))
    write_framenet(folder / "good")
    good = {
        path.relative_to(folder / "good").as_posix(): path.read_bytes()
        for path in sorted((folder / "good").rglob("*.xml"))
    }
    shutil.rmtree(folder)

    def read(path: Path) -> Any:
        whole = next(up for up in path.parents if (up / "frameIndex.xml").exists())
        try:
            return load_framenet_links(whole)
        finally:
            # The next case has one changed file as well.
            path.write_bytes(good[path.relative_to(whole).as_posix()])

    def mutate(data: bytes, draw: random.Random) -> Mutated:
        return mutated(data, draw, OF_XML)

    reader = Reader(read, good, mutate)
    reader.case = _framenet_case(reader, good)  # type: ignore[method-assign]
    # Where no sentence is left the folder is named; else its file, or two that belong together.
    reader.names = lambda path, said: "/framenet" in said  # type: ignore[method-assign]
    return reader


def _framenet_case(reader: Reader, good: dict[str, bytes]) -> Any:
    def case(folder: Path, draw: random.Random) -> tuple[str, Path]:
        root = folder / "framenet"
        if not root.exists():
            for name, data in good.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_bytes(data)
        # Most of what is read is in the units.
        name = draw.choice([*good, *(n for n in good if n.startswith(("lu/", "frame/")))])
        kind, data = reader.mutate(good[name], draw)
        (root / name).write_bytes(data)
        return kind, root / name

    return case


def _of_lines(path: Path) -> list[str]:
    return list(read_lines(path))


READERS: dict[str, Callable[[], Reader]] = {
    "CoNLL-U": lambda: Reader(
        load_treebank,
        {"bank.conllu": CONLLU.encode(), "bank.txt": PAIRS.encode()},
        text,
        _same_words,
    ),
    "CorefUD": lambda: Reader(
        load_coreference, {"gum.conllu": COREFUD.encode()}, text, _same_document_words
    ),
    "CoNLL-2012": lambda: Reader(
        load_coreference, {"onto.conll": CONLL_2012.encode()}, text, _same_columns
    ),
    "FrameNet": _framenet,
    "links": lambda: Reader(
        load_links, {"links.csv": LINKS.encode(), "links.tsv": _tsv()}, text, _same_rows
    ),
    "segments": lambda: Reader(_of_lines, {"prose.txt": PROSE.encode()}, text, _same_paragraphs),
    "minimal pairs": lambda: Reader(
        load_minimal_pairs, {"pairs.jsonl": PAIRS_JSON.encode()}, text, _same_pairs
    ),
    "word vectors": lambda: Reader(
        load_vectors,
        {"glove.txt": GLOVE.encode(), "w2v.txt": f"4 3\n{GLOVE}".encode()},
        text,
        _same_vectors,
    ),
    "word vectors (.bin)": lambda: Reader(load_vectors, {"w2v.bin": _binary()}, text, _finite),
    "word vectors (.npz)": lambda: Reader(
        load_vectors,
        {"vectors.npz": _npz(words=np.array(["the", "cat"]), vectors=np.eye(2, 5))},
        mutated_arrays,
        _finite,
    ),
}


#: Those of `saved_work`, which need a model.
SAVED = (
    "resume files",
    "resume files of ablations",
    "saved probes",
    "saved structural probes",
)


@cache
def reader(name: str) -> Reader:
    if name in READERS:
        return READERS[name]()
    from robustness.saved_work import SAVED_WORK

    return SAVED_WORK[name]()


def woken() -> int:
    """How many pickles were loaded."""
    return mutations.Alive.woken
