"""The answer to a question after each layer, for the strip below a PredictionView."""

from __future__ import annotations

from typing import Any

from attnwidget.capture.maps.attention import Attention
from attnwidget.inputs.advised_error import on_page
from attnwidget.mechanisms.logit_lens import logit_lens
from attnwidget.widgets.prediction_view.shown_question import Answered, as_at


def answers_by_layer(attention: Attention, answered: Answered) -> dict[str, Any]:
    """Return the logit lens of a question for the page, or the reason why the model has none.

    Returns:
        "rows": for the embeddings and each layer its name, the likeliest answer, the probability of
        this answer, and the probability of the answer that is followed. "problem": "", or the
        reason why there are no rows.
    """
    try:
        lens = logit_lens(attention, positions=as_at(answered.position), top=1)
    except (TypeError, ValueError) as error:
        return {"rows": [], "problem": on_page(error)}
    followed = lens.probability(answered.answer)
    best = lens.log_probabilities[:, 0].argmax(-1).tolist()
    spelt = lens.answers.spelt(best)
    rows = [
        {
            "layer": layer,
            "answer": answer,
            "probability": float(lens.probabilities[place, 0, best[place]]),
            "followed": float(followed[place]),
        }
        for place, (layer, (answer, _)) in enumerate(zip(lens.rows, spelt, strict=True))
    ]
    return {"rows": rows, "problem": ""}
