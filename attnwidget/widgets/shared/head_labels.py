"""Labels and notes of heads: texts that a reader gives to heads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import Any

import traitlets

from attnwidget.capture.tapping.head import Head

#: Most characters of a label, which fits one line, and of a note, which may have several lines.
LONGEST = 80
LONGEST_NOTE = 2000


class HeadLabels(MutableMapping[Any, str]):
    """The labels of a figure by `Head`; each change reaches the page and all linked figures.

    Keys are heads in any form that names one: (1, 3), "L1 H3" or a `Head`.

    Example:
        >>> from attnwidget import HeadGrid, load_model
        >>> grid = HeadGrid(load_model().attend("The cat sat."))
        >>> grid.labels[(1, 3)] = "pronoun"
        >>> grid.labels
        {(1, 3): 'pronoun'}
        >>> del grid.labels[(1, 3)]
        >>> len(grid.labels)
        0
    """

    def __init__(self, owner: Any, trait: str) -> None:
        self._owner = owner
        self._trait = trait

    def __getitem__(self, key: Any) -> str:
        texts = self._texts
        # Linked figures compare all labels after each change: their keys are heads already.
        return texts[key if isinstance(key, Head) and key in texts else self._known(key)]

    def __setitem__(self, key: Any, text: str) -> None:
        # Another thread may change the labels between reading and writing.
        with self._owner._lock, self._owner.together():
            setattr(self._owner, self._trait, [*self.pairs(), (key, text)])

    def __delitem__(self, key: Any) -> None:
        with self._owner._lock, self._owner.together():
            texts = dict(self._texts)
            del texts[self._known(key)]
            setattr(self._owner, self._trait, texts)

    def __iter__(self) -> Iterator[Head]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def __repr__(self) -> str:
        return repr(self.short())

    def pairs(self) -> list[tuple[Head, str]]:
        """Return pairs of a head and its label, as the page receives them."""
        return list(self._texts.items())

    def short(self) -> dict[tuple[Any, ...], str]:
        """Return the labels by (layer, head), or by (layer, head, stack) if there are stacks."""
        size = 3 if len(self._owner.shapes()) > 1 else 2
        return {tuple(head[:size]): text for head, text in self._texts.items()}

    def named(self, head: Head) -> str:
        """Return the name of a head with its label, for example "L1 H3 “pronoun”"."""
        return labeled(head, self._texts)

    @property
    def _texts(self) -> dict[Head, str]:
        texts: dict[Head, str] = self._owner._trait_values[self._trait]
        return texts

    def _known(self, key: Any) -> Head:
        try:
            head: Head = self._owner._find_head(key)
        except (ValueError, TypeError) as error:
            raise KeyError(str(error)) from None
        return head


def labeled(head: Head, labels: Mapping[Head, str]) -> str:
    """Return the name of a head, with its label in quotes if it has one.

    Example:
        >>> from attnwidget import Head
        >>> from attnwidget.widgets.shared.head_labels import labeled
        >>> labeled(Head(1, 3), {Head(1, 3): "pronoun"}), labeled(Head(2, 0), {})
        ('L1 H3 “pronoun”', 'L2 H0')
    """
    return f"{head} “{labels[head]}”" if head in labels else str(head)


class Labels(traitlets.TraitType[HeadLabels, Any]):
    """A trait of labels by head: it takes a mapping or pairs, and gives a `HeadLabels`.

    Heads are checked against the owner's stacks. Spaces at the ends of a label are removed.
    """

    info_text = 'labels by head such as {(1, 3): "pronoun"}'
    #: The name of one text, the most characters, and whether it may have several lines.
    kind = "label"
    longest = LONGEST
    has_lines = False

    def make_dynamic_default(self) -> dict[Head, str]:
        """Return no labels."""
        return {}

    def get(self, obj: Any, cls: type | None = None) -> HeadLabels:
        """Return the labels of the owner as a mapping that can be changed."""
        super().get(obj, cls)
        return HeadLabels(obj, str(self.name))

    def validate(self, obj: Any, value: Any) -> Any:
        """The value as a dictionary of labels by `Head`; the last label of a head counts."""
        if isinstance(value, Mapping):
            value = list(value.items())
        if not isinstance(value, Sequence) or not all(map(_is_pair, value)):
            raise traitlets.TraitError(f"{self.name!r} takes {self.info_text}, got {value!r}")
        texts: dict[Head, str] = {}
        for key, text in value:
            try:
                head = obj._find_head(key)
            except (ValueError, TypeError) as error:
                raise traitlets.TraitError(
                    f"{self.name!r}: {key!r} is no head of this figure: {error}"
                ) from None
            texts[head] = self._checked(head, text)
        return texts

    def _checked(self, head: Head, text: Any) -> str:
        """Return a text without spaces at its ends; TraitError if it is too long or empty."""
        lines = "" if self.has_lines else " in one line"
        expected = f"the {self.kind} of {head} is a text of 1 to {self.longest} characters{lines}"
        if not isinstance(text, str):
            raise traitlets.TraitError(f"{self.name!r}: {expected}, got {text!r:.100}")
        label = text.strip()
        if not label:
            raise traitlets.TraitError(
                f"{self.name!r}: {expected}, got {text!r}; remove a {self.kind} with "
                f"del figure.{self.name}[({head.layer}, {head.head})]"
            )
        printed = label.replace("\n", "") if self.has_lines else label
        if len(label) > self.longest or not printed.isprintable():
            raise traitlets.TraitError(f"{self.name!r}: {expected}, got {text!r:.100}")
        return label


class Notes(Labels):
    """A trait of notes by head: longer texts, which may have several lines."""

    info_text = 'notes by head such as {(1, 3): "see the examples"}'
    kind = "note"
    longest = LONGEST_NOTE
    has_lines = True


def _is_pair(item: Any) -> bool:
    return isinstance(item, (list, tuple)) and len(item) == 2
