"""Example links of every head in a corpus, in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from typing import TYPE_CHECKING, Any, cast

from attnwidget.behaviors.examples.example_links import ExampleLinks
from attnwidget.behaviors.examples.example_results import HeadExamples
from attnwidget.behaviors.link_rule import LinkRule
from attnwidget.capture.cut_inputs import says_cuts
from attnwidget.corpus.argument_checks import refuse_no_model
from attnwidget.corpus.batches import TokenTypes
from attnwidget.corpus.segment_indices import with_index
from attnwidget.corpus.segmenting import study_segments
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.metrics.measure_heads import measure

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


@in_plain_torch
@says_cuts
def head_examples(
    model: AttentionModel,
    segments: Iterable[Any],
    n_examples: int = 20,
    *,
    rule: LinkRule | None = None,
    seed: int = 0,
    batch_size: int = 8,
    progress: bool = True,
    token_types: TokenTypes = None,
) -> HeadExamples:
    """Collect example links of every head over a corpus, in one pass.

    A link is a query and a key with the weight between them. The strongest links only show a head
    at its best, so the result also has links drawn at random from the strongest tenth and from the
    middle tenth of all links. Strength is the weight times the norm of the transformed vector,
    ||a f(x)|| (Kobayashi et al. 2020), because heads can put large weights on tokens without
    content. Memory does not grow with the corpus: the two tenths come from a random sample of 100 k
    links, at the same positions for all heads.

    Args:
        model: Model from `load_model`.
        segments: Texts, segments, pictures or sounds, as in `measure`; an iterator is consumed
            during the pass. The examples of pictures have the boxes of query and key, for example
            `ExampleLink.key_place`.
        n_examples: Largest number of examples of each kind.
        rule: Rule that predicts links from the tokens, for example a behavior of the atlas. The
            result then has queries for which a head makes the predicted link, makes another link,
            or misses the predicted link.
        seed: Seed of the random examples.
        batch_size: Number of segments in a forward pass.
        progress: Whether to show a progress bar.
        token_types: Token types, as in `measure`.

    Raises:
        ValueError: If `n_examples` is below 1; or as in `measure`.
        TypeError, RuntimeError, OSError, WorkersError, KeyboardInterrupt: As in `measure`.

    Example:
        >>> from attnwidget import load_model, make_segments
        >>> from attnwidget.behaviors import head_examples
        >>> model = load_model()
        >>> segments = make_segments(["The captain told his men to wait."], model)
        >>> found = head_examples(model, segments, n_examples=2, progress=False)
        >>> [len(found.links(1, 3, kind)) for kind in ("strongest", "top tenth", "middle")]
        [2, 2, 2]
    """
    refuse_no_model(model)
    rows = with_index(study_segments(segments, model))
    metric = ExampleLinks(n_examples, seed=seed, rules=() if rule is None else [rule])
    measurements = measure(
        model,
        list(rows) if isinstance(segments, Sized) else rows,
        [metric],
        batch_size=batch_size,
        progress=progress,
        token_types=token_types,
    )
    return cast("HeadExamples", measurements[metric.name])
