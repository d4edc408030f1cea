"""Links between words from the annotations of treebanks and coreference."""

from __future__ import annotations

from collections.abc import Iterable

from attnwidget.corpus.argument_checks import DOCUMENTS, SENTENCES, all_of
from attnwidget.hidden_frames import hides_frames
from attnwidget.text.antecedents import clusters_of_spans
from attnwidget.text.loaded import Loaded, left_out_of
from attnwidget.text.mentions import Document
from attnwidget.text.treebank import Sentence
from attnwidget.text.word_links import Link, LinkedSentence


@hides_frames
def subject_verb_links(sentences: Iterable[Sentence]) -> list[LinkedSentence]:
    """Return links "SUBJ to VERB" and "VERB to SUBJ" (Kovaleva et al. 2019, section 4.5).

    A subject has the relation nsubj without a subtype to a word tagged VERB in UPOS. In treebanks
    without UPOS, Penn tags that begin with VB count. Sentences without a subject have no links.

    Example:
        >>> from attnwidget import Sentence
        >>> from attnwidget.words import subject_verb_links
        >>> cats = Sentence.from_lists(["Cats", "purr"], [2, 0], ["nsubj", "root"],
        ...                            tags=["NOUN", "VERB"])
        >>> [link.label for link in subject_verb_links([cats])[0].links]
        ['SUBJ to VERB', 'VERB to SUBJ']
    """
    sentences = all_of(Sentence, sentences, SENTENCES)
    pairs = []
    for sentence in sentences:
        links = []
        for word, (governor, relation) in enumerate(
            zip(sentence.governors, sentence.relations, strict=True)
        ):
            if relation == "nsubj" and _is_verb(sentence, governor - 1):
                links.append(Link((word,), (governor - 1,), "SUBJ to VERB"))
                links.append(Link((governor - 1,), (word,), "VERB to SUBJ"))
        pairs.append(
            LinkedSentence(sentence.words, tuple(links), sentence.label, sentence.space_after)
        )
    return Loaded(pairs, left_out_of(sentences))


@hides_frames
def noun_pronoun_links(documents: Iterable[Document]) -> list[LinkedSentence]:
    """Return links "PRON to NOUN" and "NOUN to PRON" within the sentences of documents.

    The head word of a pronoun is linked to the head word of the nearest earlier mention in the
    cluster that is not a pronoun. Sentences without such a pair have no links.

    Example:
        >>> from attnwidget import Document
        >>> from attnwidget.words import noun_pronoun_links
        >>> words = "The captain told his men .".split()
        >>> document = Document.from_spans(words, [(0, 1, "a"), (3, 3, "a"), (3, 4, "b")])
        >>> noun_pronoun_links([document])[0].links[0]
        Link(source=(3,), target=(1,), label='PRON to NOUN')
    """
    pairs = []
    for document in all_of(Document, documents, DOCUMENTS):
        starts = document.sentence_starts
        clusters = clusters_of_spans(document)
        for number, (start, end) in enumerate(
            zip(starts, (*starts[1:], len(document.words)), strict=True), 1
        ):
            links = []
            sentence_mentions = [m for m in document.mentions if start <= m.start and m.end < end]
            for rank, mention in enumerate(sentence_mentions):
                earlier = [
                    other.head
                    for other in sentence_mentions[:rank]
                    if clusters[other.words] & clusters[mention.words]
                    and other.kind != "pronoun"
                    and other.start < mention.start
                    and other.head != mention.head
                ]
                if mention.kind == "pronoun" and earlier:
                    pronoun = (mention.head - start,)
                    noun = (earlier[-1] - start,)
                    links.append(Link(pronoun, noun, "PRON to NOUN"))
                    links.append(Link(noun, pronoun, "NOUN to PRON"))
            name = f"{document.name or 'document'}, sentence {number}"
            text = document.running.part(start, end)
            pairs.append(LinkedSentence(text.words, tuple(links), name, text.space_after))
    return pairs


def _is_verb(sentence: Sentence, word: int) -> bool:
    if any(sentence.tags):
        return sentence.tags[word] == "VERB"
    return bool(sentence.xpos) and sentence.xpos[word].startswith("VB")
