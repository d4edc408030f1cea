"""Function `explore`, which opens an explorer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from attnwidget.behaviors.head_atlas.atlas_result import Atlas
from attnwidget.corpus.progress_bar import said_when_slow
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.probes.dependency.dependency_results import DependencyProbe
from attnwidget.probes.structural.structural_result import StructuralProbe
from attnwidget.widgets.explorer.given_text import WithMedia
from attnwidget.widgets.explorer.widget import Explorer
from attnwidget.widgets.shared.option_text import takes_options_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from attnwidget.widgets.explorer.explorer_figure import ExplorerOptions


@takes_options_of(Explorer)
@in_plain_torch
def explore(
    model: Any = None,
    text: Any = None,
    pair: str | None = None,
    *,
    images: Any = None,
    audio: Any = None,
    target: str | None = None,
    versus: Any = None,
    versus_text: str | None = None,
    max_new_tokens: int | None = None,
    treebank: Any = None,
    probe: DependencyProbe | StructuralProbe | None = None,
    metrics: Any = None,
    atlas: Atlas | Literal[False] | None = None,
    **traits: Unpack[ExplorerOptions],
) -> Explorer:
    """Explore a model's attention to a text in one widget, with all heads and with single heads.

    Choose an example, or edit the text and run it. Step through the layers and select heads in any
    panel; the other panels follow. Slow measurements (distances between heads, accuracies of heads
    on relations) start when the figure is on the page, or with `wait()`.

    On the bundled model, an example opens on a head that suits it. One word is locked, and a
    sentence explains the picture. For any other text, the explorer opens on the strongest link
    between two words compared with what is usual: from a pronoun, a content word, or the last word
    of a causal model, in a head whose name suits the word. For a causal model that predicts the
    next word, the explorer opens on the head that carries this word, if the search is fast enough.
    `selected` or `layer` choose another head. Further texts open in the same way until you select a
    head.

    Args:
        model: Model from `load_model`, an argument of `load_model`, or an attention in place of
            model and text. None = the model of an attention that is passed as `text`, otherwise the
            bundled model. An attention of given weights, of given queries and keys, or of a watched
            module has no model: the explorer then shows its maps and metrics, and the page lists
            what is not available.
        text: Text, or another input of `AttentionModel.attend`: a list of words, vocabulary ids, a
            chat (a list of messages), or a dict of inputs; or the attention of an input. None = the
            text of `example`, by default the first of `demo_texts()`.
        images: Pictures that are read with the text, or without text by vision models, as in
            `AttentionModel.attend`. The view then shows a head on the picture. A text that is typed
            on the page is read with the same pictures.
        audio: Sounds that are read with the text, as in `AttentionModel.attend`.
        pair: Second sentence, for models trained on pairs.
        target: Text for the decoder of an encoder-decoder; None = the model generates it.
        versus: Second model, in the same forms as `model`. It reads the same text, and grid and
            view show the difference: the first model minus the second model.
        versus_text: Second text to compare with the first text. The second model reads it, or the
            same model if there is no second model.
        max_new_tokens: Maximum number of tokens that the model generates greedily after the text.
            The view then has a slider over the generated tokens. None = do not generate.
        treebank: Sentences to measure relations on: the path of a CoNLL-U file, a list of
            `Sentence`s, the result of `probe_relations`, or `(accuracies, sentences)`. True =
            `demo_treebank()`. False = no relations. None = `demo_treebank()` for the embedded
            model; for other models the page has a button that measures the relations.
        probe: A result of `train_dependency_probe` or `train_structural_probe`. The arcs show its
            answers instead of the answers of the shown head. A structural probe answers for the
            stepped layer.
        metrics: Metrics in the forms of `HeadGrid`, for example the result of `measure`. The map of
            heads uses their distances. None = measure the shown text; the panels say so.
        atlas: An atlas of the model, made with `atlas(model)`. The tab "this head" has the card of
            the shown head, the sentence says what the head does, and heads without an entry in
            `labels` get their names as labels. None = the atlas that comes with an embedded model
            (`demo_atlas`) or was kept for the model (`keep_names`); else the page has a button that
            names the heads. False = no atlas.
        traits: Options of the explorer, such as `example`, `selected` or `tab`; `help(Explorer)`
            lists them.

    Raises:
        ValueError: If the text is empty or too long for the model; if the model does not generate
            text, or cannot generate after a second sentence or a target; if the treebank has no
            sentences; if both a text and an example are given; if an attention, the probe or the
            atlas belongs to another model; if the second model has another shape; if the texts have
            no common token; or if `AttentionModel.attend` raises it.
        TypeError: If an option is unknown, or if the text, the treebank or the atlas has another
            type.
        traitlets.TraitError: If an option is out of range, or if the metrics do not fit the model.
        OSError: If the model does not exist, or if a file cannot be read.

    Example:
        >>> from attnwidget import explore
        >>> explorer = explore(example="passive")
        >>> explorer.wait()
        True
        >>> explorer.choose("det")
        >>> explorer.grid.selected == explorer.view.selected == explorer.selected
        True
        >>> explorer.close()
    """
    options = {"pair": pair, "target": target, "treebank": treebank, "metrics": metrics}
    options |= {"versus": versus, "versus_text": versus_text, "probe": probe, "atlas": atlas}
    options["max_new_tokens"] = max_new_tokens
    if images is not None or audio is not None:
        text = WithMedia(text, images, audio)
    with said_when_slow("Reading the text …"):
        return Explorer(model, text, **options, **traits)
