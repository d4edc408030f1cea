"""Words with the linguistic features of Kovaleva et al. 2019, section 4.4."""

from __future__ import annotations

from collections.abc import Callable

from attnwidget.text.near_names import among
from attnwidget.text.treebank import Sentence

# Pairs of Penn tags and universal tags, which are used for treebanks without Penn tags.
_TAGS = {
    "NOUN": ({"NN", "NNP", "NNPS", "NNS"}, {"NOUN", "PROPN"}),
    "PRON": ({"PRP", "PRP$"}, {"PRON"}),
    "VERB": ({"VB", "VBD", "VBG", "VBN", "VBP", "VBZ"}, {"VERB", "AUX"}),
}
# Relations in Stanford Dependencies, in spaCy and in Universal Dependencies.
_RELATIONS = {
    "SUBJ": {"nsubj", "csubj", "nsubjpass", "csubjpass", "agent", "obl:agent", "expl"},
    "OBJ": {"obj", "iobj", "dobj", "dative", "attr", "oprd"},
}
_NEGATIONS = (
    "neither nor not n't n’t nt never none nothing nowhere don't won't didn't hadn't haven't can't "
    "isn't wasn't shouldn't couldn't"
)
_PUNCTUATION = frozenset({".", ",", ":", "``", "''", "-LRB-", "-RRB-", "HYPH", "NFP"})
_PENN = frozenset().union(*(penn for penn, _ in _TAGS.values()))

FEATURES = ("NOUN", "PRON", "VERB", "SUBJ", "OBJ", "NEG", "PUNCT")


def feature_words(sentence: Sentence, feature: str) -> list[int]:
    """Return the indices, counted from 0, of the words that have a linguistic feature.

    The features are:

    - NOUN: words tagged NN, NNS, NNP or NNPS.
    - PRON: words tagged PRP or PRP$.
    - VERB: words tagged VB, VBD, VBG, VBN, VBP or VBZ, which includes auxiliaries but not modals.
    - SUBJ: words with the relation nsubj, csubj (with all subtypes), expl or obl:agent.
    - OBJ: words with the relation obj or iobj.
    - NEG: the negation words in the paper's code, and "n't" if the treebank splits it off. Only
      complete words count, while the paper's code also matches parts of words ("not" in "another").
    - PUNCT: words tagged PUNCT, or with a punctuation tag of the Penn Treebank.

    In sentences without Penn tags, universal tags count: NOUN and PROPN; PRON, including relative
    and demonstrative pronouns; VERB and AUX, including modals. SUBJ and OBJ include the relations
    nsubjpass, csubjpass, agent, dobj, dative, attr and oprd from Stanford Dependencies and spaCy;
    Universal Dependencies have no equivalent of attr and oprd.

    Args:
        sentence: Sentence of a treebank.
        feature: Name of a feature, one of `FEATURES`.

    Raises:
        ValueError: There is no such feature, or the sentence has no tags.

    Example:
        >>> from attnwidget.text.linguistic_features import feature_words
        >>> from attnwidget.text.treebank import Sentence
        >>> sentence = Sentence.from_lists(
        ...     ["Cats", "never", "swim"], [3, 3, 0], ["nsubj", "advmod", "root"],
        ...     tags=["NOUN", "ADV", "VERB"])
        >>> feature_words(sentence, "SUBJ"), feature_words(sentence, "NEG")
        ([0], [1])
    """
    has = _member(sentence, feature)
    return [word for word in range(len(sentence)) if has(word)]


def _member(sentence: Sentence, feature: str) -> Callable[[int], bool]:
    """Return a function that tests whether a word has a feature."""
    if feature in _RELATIONS:
        labels = _RELATIONS[feature]
        relations = sentence.relations
        return lambda word: relations[word] in labels or relations[word].split(":")[0] in labels
    if feature == "NEG":
        words = sentence.words
        negations = frozenset(_NEGATIONS.split())
        return lambda word: words[word].lower() in negations
    if feature not in FEATURES:
        raise ValueError(f"there is no feature {feature!r}: {among(feature, FEATURES)}")
    xpos = sentence.xpos
    tags = sentence.tags
    if not any(xpos) and not any(tags):
        raise ValueError(
            f"{sentence.label} has no tags, by which {feature} is told; load a treebank that has "
            "them, or ask for features among SUBJ, OBJ, NEG"
        )
    if feature == "PUNCT":
        if any(tags):
            return lambda word: tags[word] == "PUNCT"
        return lambda word: xpos[word] in _PUNCTUATION
    penn, universal = _TAGS[feature]
    if not _PENN.isdisjoint(xpos) or not any(tags):
        return lambda word: xpos[word] in penn
    return lambda word: tags[word] in universal
