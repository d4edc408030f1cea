"""Labels and notes of heads, which are texts by the user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import Any

import traitlets

from attnwidget.capture.tapping.head import Head

#: Maximum number of characters in a label, which is one line, and in a note, which may have several
#: lines.
LONGEST = 80
LONGEST_NOTE = 2000


class HeadLabels(MutableMapping[Any, str]):
    """Labels of a figure by `Head`; each change is sent to the page and to all linked figures.

    Keys may be any name of a head: (1, 3), "L1 H3" or a `Head`.

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
        # Look up heads directly, because linked figures compare all labels after each change.
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
        """Return pairs of a head and its label, for the page."""
        return list(self._texts.items())

    def short(self) -> dict[tuple[Any, ...], str]:
        """Return the labels by (layer, head), or by (layer, head, stack) if there are several."""
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
    """Trait for labels by head, which accepts a mapping or pairs and returns a `HeadLabels`.

    A head that the owner does not have raises TraitError. Spaces at the ends of a label are
    removed.
    """

    info_text = 'labels by head such as {(1, 3): "pronoun"}'
    #: Name of a text in errors, its maximum length, and whether it may have several lines.
    kind = "label"
    longest = LONGEST
    has_lines = False

    def make_dynamic_default(self) -> dict[Head, str]:
        """Return the default value, which has no labels."""
        return {}

    def get(self, obj: Any, cls: type | None = None) -> HeadLabels:
        """Return the labels of the owner as a mutable mapping."""
        super().get(obj, cls)
        return HeadLabels(obj, str(self.name))

    def validate(self, obj: Any, value: Any) -> Any:
        """Return a dictionary of labels by `Head`; if a head has several labels, the last one."""
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
        """Return a text without spaces at its ends; raise TraitError if it is too long or empty."""
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
    """Trait for notes by head, which are longer texts and may have several lines."""

    info_text = 'notes by head such as {(1, 3): "see the examples"}'
    kind = "note"
    longest = LONGEST_NOTE
    has_lines = True


def _is_pair(item: Any) -> bool:
    return isinstance(item, (list, tuple)) and len(item) == 2
