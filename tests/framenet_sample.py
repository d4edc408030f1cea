"""A FrameNet of two frames and eight sentences, in the files and the format of release 1.7."""

from __future__ import annotations

from pathlib import Path

_SPACES = (
    'xmlns="http://framenet.icsi.berkeley.edu" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
)
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'

# (sentence, target, frame elements of the first layer as (words, name)); spans are found by text.
EMOTION = [
    ("He was becoming agitated .", "agitated", [("He", "Experiencer")]),
    ("Soon she became quite agitated about it .", "agitated", [("she", "Experiencer")]),
    ("The old man looked rather agitated .", "agitated", [("The old man", "Experiencer")]),
    # Left out: an element beside the target; one of four words; no core set; fourteen words.
    ("They were agitated .", "agitated", [("They", "Experiencer"), ("were", "Degree")]),
    (
        "The very old man looked rather agitated .",
        "agitated",
        [("The very old man", "Experiencer")],
    ),
    ("Today he was again agitated .", "agitated", [("Today", "Time")]),
    (
        "He was , as far as I could see , again rather agitated .",
        "agitated",
        [("He", "Experiencer")],
    ),
]
# A frame without core sets contributes nothing.
MOTION = [("They then went home again to the sea .", "went", [("to the sea", "Goal")])]


def write_framenet(folder: Path) -> Path:
    """Write the sample into `folder`, as nltk's reader expects a FrameNet, and return it."""
    for name in ("frame", "lu"):
        (folder / name).mkdir(parents=True)
    frames = [
        (101, "Emotion_directed", 1, "agitated.a", EMOTION, ["Experiencer", "Degree", "Time"],
         ["Experiencer", "Stimulus"]),
        (102, "Motion", 2, "go.v", MOTION, ["Theme", "Goal"], []),
    ]  # fmt: skip
    index = []
    units = []
    for frame_id, frame, unit_id, unit, sentences, names, core in frames:
        index.append(f'<frame cDate="01/01/2001 00:00:00" name="{frame}" ID="{frame_id}"/>')
        units.append(
            f'<lu numAnnInstances="{len(sentences)}" hasAnnotation="true" frameName="{frame}" '
            f'frameID="{frame_id}" status="Finished_Initial" name="{unit}" ID="{unit_id}"/>'
        )
        elements = list(dict.fromkeys([*names, *core]))
        _write(
            folder / "frame" / f"{frame}.xml",
            _frame(frame_id, frame, unit_id, unit, elements, core),
        )
        _write(folder / "lu" / f"lu{unit_id}.xml", _unit(frame_id, frame, unit_id, unit, sentences))
    _write(folder / "frameIndex.xml", f"<frameIndex {_SPACES}>{''.join(index)}</frameIndex>")
    _write(folder / "luIndex.xml", f"<luIndex {_SPACES}>{''.join(units)}</luIndex>")
    _write(folder / "frRelation.xml", f"<frameRelations {_SPACES}></frameRelations>")
    _write(folder / "semTypes.xml", f"<semTypes {_SPACES}></semTypes>")
    _write(folder / "fulltextIndex.xml", f"<fulltextIndex {_SPACES}></fulltextIndex>")
    return folder


def _write(path: Path, xml: str) -> None:
    path.write_text(_XML + xml + "\n", encoding="utf-8")


def _frame(
    frame_id: int, frame: str, unit_id: int, unit: str, elements: list[str], core: list[str]
) -> str:
    fes = "".join(
        f'<FE bgColor="FF0000" fgColor="FFFFFF" coreType="{"Core" if name in core else "Extra"}" '
        f'cBy="made" cDate="01/01/2001 00:00:00" abbrev="{name[:4]}" name="{name}" ID="{number}">'
        f"<definition>&lt;def-root&gt;{name}&lt;/def-root&gt;</definition></FE>"
        for number, name in enumerate(elements, 10 * frame_id)
    )
    members = "".join(
        f'<memberFE ID="{10 * frame_id + elements.index(name)}" name="{name}"/>' for name in core
    )
    core_set = f"<FEcoreSet>{members}</FEcoreSet>" if core else ""
    lemma, _, pos = unit.partition(".")
    return (
        f'<frame cBy="made" cDate="01/01/2001 00:00:00" name="{frame}" ID="{frame_id}" {_SPACES}>'
        f"<definition>&lt;def-root&gt;A frame.&lt;/def-root&gt;</definition>{fes}{core_set}"
        f'<lexUnit status="Finished_Initial" POS="{pos.upper()}" name="{unit}" ID="{unit_id}" '
        f'lemmaID="{unit_id}" cBy="made" cDate="01/01/2001 00:00:00">'
        f'<definition>COD: {lemma}</definition><sentenceCount annotated="1" total="1"/>'
        f'<lexeme order="1" headword="false" breakBefore="false" POS="{pos.upper()}" '
        f'name="{lemma}"/></lexUnit></frame>'
    )


def _unit(
    frame_id: int,
    frame: str,
    unit_id: int,
    unit: str,
    sentences: list[tuple[str, str, list[tuple[str, str]]]],
) -> str:
    written = "".join(
        _sentence(1000 * unit_id + number, *sentence) for number, sentence in enumerate(sentences)
    )
    lemma, _, pos = unit.partition(".")
    return (
        f'<lexUnit status="Finished_Initial" POS="{pos.upper()}" name="{unit}" ID="{unit_id}" '
        f'frame="{frame}" frameID="{frame_id}" totalAnnotated="{len(sentences)}" {_SPACES}>'
        '<header><corpus description="made for tests" name="made" ID="1">'
        '<document description="made" name="made" ID="1"/></corpus><frame/></header>'
        f"<definition>COD: {lemma}</definition>"
        f'<lexeme POS="{pos.upper()}" name="{lemma}"/>'
        f'<subCorpus name="made">{written}</subCorpus></lexUnit>'
    )


def _sentence(number: int, text: str, target: str, elements: list[tuple[str, str]]) -> str:
    words = []
    at = 0
    for word in text.split():
        words.append(f'<label end="{at + len(word) - 1}" start="{at}" name="X"/>')
        at += len(word) + 1
    labels = "".join(_label(text, words_of, name) for words_of, name in elements)
    dated = 'cDate="01/01/2001 00:00:00"'
    return (
        f'<sentence sentNo="0" aPos="{number}" ID="{number}"><text>{text} </text>'
        f'<annotationSet {dated} status="UNANN" ID="{2 * number}">'
        f'<layer rank="1" name="BNC">{"".join(words)}</layer></annotationSet>'
        f'<annotationSet {dated} status="MANUAL" ID="{2 * number + 1}">'
        f'<layer rank="1" name="FE">{labels}'
        '<label cBy="made" feID="9" itype="DNI" name="Stimulus"/></layer>'
        f'<layer rank="1" name="GF"></layer><layer rank="1" name="PT"></layer>'
        f'<layer rank="1" name="Target">{_label(text, target, "Target")}</layer>'
        "</annotationSet></sentence>"
    )


def _label(text: str, words: str, name: str) -> str:
    start = text.index(words)
    return f'<label cBy="made" end="{start + len(words) - 1}" start="{start}" name="{name}"/>'
