"""Answer to a question after each layer, for the strip below a PredictionView."""

from __future__ import annotations

from typing import Any

from attnwidget.capture.maps.attention import Attention
from attnwidget.inputs.advised_error import on_page
from attnwidget.mechanisms.logit_lens import logit_lens
from attnwidget.widgets.prediction_view.shown_question import Answered, as_at


def answers_by_layer(attention: Attention, answered: Answered) -> dict[str, Any]:
    """Return the logit lens of a question for the page, or the reason why the model has none.

    Args:
        attention: Attention of the input.
        answered: Question with its answers.

    Returns:
        "rows": for the embeddings and each layer, the layer name, the most likely answer, its
        probability, and the probability of the tracked answer. "problem": the reason why there are
        no rows, or "".
    """
    try:
        lens = logit_lens(attention, positions=as_at(answered.position), top=1)
    except (TypeError, ValueError) as error:
        return {"rows": [], "problem": on_page(error)}
    followed = lens.probability(answered.answer)
    best = lens.log_probabilities[:, 0].argmax(-1).tolist()
    names = lens.answers.spelt(best)
    rows = [
        {
            "layer": layer,
            "answer": answer,
            "probability": float(lens.probabilities[number, 0, best[number]]),
            "followed": float(followed[number]),
        }
        for number, (layer, (answer, _)) in enumerate(zip(lens.rows, names, strict=True))
    ]
    return {"rows": rows, "problem": ""}
