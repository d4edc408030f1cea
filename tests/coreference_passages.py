"""Ten short passages and what the three rules choose in each, worked out by hand.

`text`: words with their tags, mentions in brackets whose first has a cluster: "[a The_DT
captain_NN ]". `answers`: for each evaluated mention, in order, what is chosen by nearest, head
match and rule-based: mentions are written as their words and the index of the first, "his@3"; a
star stands before a right one; None = nothing found.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Passage:
    name: str
    text: str
    answers: dict[str, tuple[str | None, str | None, str | None]]
    governors: tuple[int, ...] = ()

    @property
    def words(self) -> list[str]:
        return [item.partition("_")[0] for item in self._items if "_" in item]

    @property
    def tags(self) -> list[str]:
        return [item.partition("_")[2] for item in self._items if "_" in item]

    @property
    def spans(self) -> list[tuple[int, int, str]]:
        spans = []
        opened = []
        word = 0
        for item in self._items:
            if item.startswith("["):
                opened.append((word, item[1:]))
            elif item == "]":
                start, cluster = opened.pop()
                spans.append((start, word - 1, cluster))
            else:
                word += 1
        return spans

    @property
    def _items(self) -> list[str]:
        return self.text.split()


PASSAGES = [
    Passage(
        "a pronoun within a mention, and one after another's",
        "[a The_DT captain_NN ] told_VBD [b [a his_PRP$ ] men_NNS ] that_IN [a he_PRP ] "
        "would_MD stay_VB ._.",
        {
            "his@3": ("*The captain@0", None, "*The captain@0"),
            # "his men" begins where "his" does and ends later: it is the nearer one. The third
            # sieve leaves it out, for men are several, and takes "his".
            "he@6": ("his men@3", None, "*his@3"),
        },
    ),
    Passage(
        "the same words",
        "[a The_DT old_JJ ship_NN ] left_VBD ._. [b A_DT boat_NN ] followed_VBD "
        "[a the_DT old_JJ ship_NN ] ._.",
        {"the old ship@8": ("A boat@5", "*The old ship@0", "*The old ship@0")},
    ),
    Passage(
        "the same head word, of another ship",
        "[a A_DT red_JJ ship_NN ] passed_VBD [b a_DT white_JJ ship_NN ] ._. "
        "[a The_DT red_JJ ship_NN ] won_VBD ._.",
        {"The red ship@8": ("a white ship@4", "a white ship@4", "a white ship@4")},
    ),
    Passage(
        "names have no gender",
        "[a Mary_NNP ] met_VBD [b John_NNP ] ._. [a She_PRP ] greeted_VBD [b him_PRP ] ._.",
        {
            "She@4": ("John@2", None, "John@2"),
            "him@6": ("She@4", None, "*John@2"),
        },
    ),
    Passage(
        "pronouns have one",
        "[a She_PRP ] said_VBD [b he_PRP ] knew_VBD [a her_PRP ] ._.",
        {"her@4": ("he@2", None, "*She@0")},
    ),
    Passage(
        "number",
        "[a The_DT girls_NNS ] saw_VBD [b a_DT dog_NN ] ._. [a They_PRP ] fed_VBD [b it_PRP ] ._.",
        {
            "They@6": ("a dog@3", None, "*The girls@0"),
            "it@8": ("They@6", None, "*a dog@3"),
        },
    ),
    Passage(
        "nothing agrees: the last sieve takes any",
        "[a The_DT team_NN ] won_VBD ._. [a They_PRP ] cheered_VBD ._.",
        {"They@4": ("*The team@0", None, "*The team@0")},
    ),
    Passage(
        "person, of which names have none",
        "[a I_PRP ] told_VBD [b Ann_NNP ] :_: [b you_PRP ] know_VBP [a me_PRP ] ._.",
        {
            "you@4": ("*Ann@2", None, "*Ann@2"),
            "me@6": ("you@4", None, "Ann@2"),
        },
    ),
    Passage(
        "the same pronoun, in another case of letters",
        "[a He_PRP ] left_VBD ._. [b The_DT man_NN ] saw_VBD [a him_PRP ] ._. [a he_PRP ] ran_VBD "
        "._.",
        {
            "him@6": ("The man@3", None, "The man@3"),
            "he@8": ("*him@6", "*He@0", "*He@0"),
        },
    ),
    Passage(
        "head words by the tree: Smith, not the mayor, is head of the first mention",
        "[a Smith_NNP ,_, [a the_DT mayor_NN ] ] ,_, resigned_VBD ._. [a The_DT mayor_NN ] "
        "left_VBD ._.",
        {
            "the mayor@2": ("*Smith , the mayor@0", None, "*Smith , the mayor@0"),
            "The mayor@7": ("*the mayor@2", "*the mayor@2", "*the mayor@2"),
        },
        governors=(5, 3, 3, 0, 3, -1, 5, 8, 9, -1, 9),
    ),
]
