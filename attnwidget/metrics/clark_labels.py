"""Labels of head behavior by the rules of Clark et al. 2019, Figure 6."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attnwidget.hidden_frames import hides_frames

if TYPE_CHECKING:
    from attnwidget.corpus.results import Measurements

OTHER = "other"


@hides_frames
def clark_labels(
    measured: Measurements | Mapping[str, NDArray[np.float64]], *, broad_entropy: float = 3.8
) -> NDArray[np.str_]:
    """Label every head by the rules of Clark et al. 2019, Figure 6; later rules take precedence.

    "next token" and "previous token": mean attention above 0.5. "attends broadly": entropy above
    `broad_entropy` nats. "to [CLS]", "to [SEP]", "to . ,": mean attention above 0.6. Otherwise
    "other". In a model without [CLS], the rule for [CLS] applies to the first token. Rules are
    ignored if their metric was not measured, or if the texts lack their tokens.

    The default of 3.8 nats was chosen for segments of 128 tokens, where uniform attention has 4.79
    nats: use a smaller value for shorter segments. The six linguistic heads of the figure belong to
    one checkpoint, bert-base-uncased, and are not labeled.

    Clark's rules compare a mean with a fixed threshold, without a control or a test. The names of
    `measure_behaviors` and of an `Atlas` have both, and may therefore differ: a head that gives 38
    % of its attention to the previous token, and 8 % to its neighbors, is "other" here and
    "previous token" there. Use these labels to compare with the figure, and the names of an atlas
    for a claim about a head.

    Args:
        measured: Result of `measure` with "position", "entropy" and "classes", or float64 [L, H]
            arrays by the titles of these metrics.
        broad_entropy: Entropy in nats above which a head "attends broadly".

    Returns:
        Labels, strings [L, H].

    Raises:
        ValueError: If no metric of the rules was measured.

    Example:
        >>> import numpy as np
        >>> from attnwidget.metrics import clark_labels
        >>> clark_labels({"next token": np.array([[0.9, 0.1]]), "to [SEP]": np.array([[0, 0.7]])})
        array([['next token', 'to [SEP]']], dtype='<U...')
    """
    heads = _heads(measured)
    first = "to [CLS]" if "to [CLS]" in heads else "to first token"
    rules = {
        "next token": ("next token", 0.5),
        "previous token": ("previous token", 0.5),
        "attends broadly": ("entropy", broad_entropy),
        first: (first, 0.6),
        "to [SEP]": ("to [SEP]", 0.6),
        "to . ,": ("to . ,", 0.6),
    }
    applicable = {label: rule for label, rule in rules.items() if rule[0] in heads}
    if not applicable:
        titles = ", ".join(repr(title) for title, _ in rules.values())
        raise ValueError(
            f"labels of heads follow from {titles}, "
            f"got {', '.join(map(repr, heads)) or 'nothing'}: "
            'measure(model, segments, ["position", "entropy", "classes"])'
        )
    shape = np.shape(next(iter(heads.values())))
    labels = np.full(shape, OTHER, dtype=f"<U{max(map(len, (OTHER, *applicable)))}")
    for label, (title, threshold) in applicable.items():
        labels[np.asarray(heads[title]) > threshold] = label
    return labels


def _heads(
    measured: Measurements | Mapping[str, NDArray[np.float64]],
) -> Mapping[str, NDArray[np.float64]]:
    method = getattr(measured, "heads", None)
    return method() if callable(method) else measured
