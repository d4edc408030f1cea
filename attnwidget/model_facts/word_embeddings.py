"""Whether a model reads words."""

from __future__ import annotations

from typing import Any


def reads_words(hf_model: Any) -> bool:
    """Return whether a model has a table of word embeddings; False for pictures and sounds.

    Args:
        hf_model: Transformers model.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.model_facts.word_embeddings import reads_words
        >>> models = [load_model(), load_model("attnwidget/shapes")]
        >>> [reads_words(model.hf_model) for model in models]
        [True, False]
    """
    try:
        embedding = hf_model.get_input_embeddings()
    except (AttributeError, NotImplementedError):
        # Transformers does not find the embedding of some models, such as those of speech.
        return False
    return hasattr(embedding, "num_embeddings")
