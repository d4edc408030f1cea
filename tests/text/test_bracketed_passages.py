"""Passages with brackets around mentions, and the passages of the package."""

from __future__ import annotations

import pytest

from attnwidget.demo import demo_documents
from attnwidget.text.demonstrations import bracketed_passage
from refusals import naming


def test_brackets_become_mentions_and_spaces_stay_as_written() -> None:
    text = "[w An old woman] met [b [w her] brother]. [b He] didn't see [w her]!"
    document = bracketed_passage(text, "meeting")
    assert document.running.text == "An old woman met her brother. He didn't see her!"
    assert document.words[7:9] == ("He", "didn't") and document.sentence_starts == (0, 7)
    found = [(document.words[m.head], m.cluster, m.kind) for m in document.mentions]
    assert found == [
        ("woman", "w", "nominal"),
        ("her", "w", "pronoun"),
        ("brother", "b", "nominal"),
        ("He", "b", "pronoun"),
        ("her", "w", "pronoun"),
    ]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("[a The cat sat.", ("passage", "bracket", "'a'")),
        ("The cat] sat.", ("passage", "bracket", "'] sat.'")),
        ("[a ] sat.", ("span", "(0, -1, 'a')")),
    ],
)
def test_broken_brackets_are_refused(text: str, parts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=naming(*parts)):
        bracketed_passage(text)


def test_every_pronoun_of_the_package_has_one_person_that_was_named_before() -> None:
    of_gender = {"he him his": "b", "she her": "a", "they them their": "c"}
    documents = demo_documents()
    assert len(documents) == 60 and len({d.running.text for d in documents}) == 60
    for document in documents:
        assert "[" not in document.running.text and "]" not in document.running.text
        named = {m.cluster for m in document.mentions if m.kind != "pronoun"}
        assert named == {"a", "b", "c"}, document.name
        annotated = {m.head for m in document.mentions if m.kind == "pronoun"}
        for place, word in enumerate(document.words):
            for pronouns, cluster in of_gender.items():
                if word.lower() in pronouns.split():
                    assert place in annotated, (document.name, word)
                    (mention,) = [m for m in document.mentions if m.words == (place,)]
                    assert mention.cluster == cluster, (document.name, word)
                    assert any(
                        m.cluster == cluster and m.end < place and m.kind != "pronoun"
                        for m in document.mentions
                    ), (document.name, word)
