"""Rules in the place of heads, in one text."""

from __future__ import annotations

from collections.abc import Mapping

from attnwidget.behaviors.effects.known_rules import text_rules
from attnwidget.behaviors.link_rule import LinkRule
from attnwidget.capture.default_method import is_causal_model
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.input_reading import Reading
from attnwidget.capture.model_reading import reading_of
from attnwidget.capture.tapping.edit_methods import RULED
from attnwidget.capture.tapping.head import Head, HeadName
from attnwidget.capture.tapping.head_rule import HeadRule
from attnwidget.corpus.attention_reader import batch_of_tokens, ids_of
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.text.near_names import among
from attnwidget.text.segments import Segment

_STACK = "self"
# Largest number of tokens for which the rules of all names are computed unasked.
_MOST_TOKENS = 1024


@in_plain_torch
def with_rules(attention: Attention, rules: Mapping[HeadName, LinkRule | str]) -> Attention:
    """Read the same input again with rules in the place of heads.

    The weights of a head become equal over the links that its rule predicts. A token without a
    predicted link has the mean output of the head over this text. Later layers see what the model
    then computes. `measure_rules` measures the loss over many texts.

    Args:
        attention: Attention of a text, with a model.
        rules: Rule of each head: the name of a behavior with a rule, such as "previous token", or a
            `LinkRule` of your own. Relations need a parse, which a text does not have.

    Raises:
        TypeError: If `attention` is not an `Attention`.
        ValueError: If there are no rules, a head or a rule does not exist, the input is no text, or
            no model can read it again.
        RuntimeError: If the model was closed, or its weights have changed.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.behaviors import with_rules
        >>> attention = load_model().attend("The cat sat.")
        >>> ruled = with_rules(attention, {"L0 H2": "previous token"})
        >>> ruled.weights("L0 H2")[2].tolist()
        [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
        >>> ruled.model_name
        'small BERT (in the package), without L0 H2 (its rule in its place: previous token)'
    """
    reading = reading_of(attention, "a rule in the place of a head")
    if not rules:
        raise ValueError("there are no rules: pass {'L0 H2': 'previous token'}")
    if _STACK not in attention.stacks:
        raise ValueError(
            f"rules predict links of texts, and this input has the stacks "
            f"{', '.join(attention.stacks)}: pass the attention of a text"
        )
    known = text_rules()
    by_head: dict[Head, HeadRule] = {}
    for name, rule in rules.items():
        if not isinstance(rule, LinkRule):
            if rule not in known:
                raise ValueError(
                    f"there is no rule {rule!r} for a text without a parse: "
                    f"{among(str(rule), known)}; your own rule is a LinkRule, and measure_rules "
                    "takes relations with the sentences of a treebank"
                )
            rule = known[rule]
        by_head[attention.head(name)] = _rule_in_text(attention, reading, rule)
    reading.rules.by_head = {**(reading.rules.by_head or {}), **by_head}
    return attention.intact.disabled(list(by_head), RULED)


def add_named_rules(attention: Attention, names: Mapping[Head, str]) -> None:
    """Add the rules of the names of heads to the input of an attention, if it has no rules yet.

    Names without a rule for texts are left out, as are long inputs and attentions without a model.

    Args:
        attention: Attention of any input.
        names: Names of heads in an atlas.
    """
    reading = attention.intact.reading
    if reading is None or reading.rules.by_head is not None:
        return
    stack = attention.stacks.get(_STACK)
    is_text = stack is not None and len(stack.query) <= _MOST_TOKENS and not attention.media
    known = text_rules() if is_text else {}
    rules = {
        name: _rule_in_text(attention, reading, known[name])
        for name in dict.fromkeys(names.values())
        if name in known
    }
    reading.rules.by_head = {head: rules[name] for head, name in names.items() if name in rules}


def _rule_in_text(attention: Attention, reading: Reading[Attention], rule: LinkRule) -> HeadRule:
    """Return the links of a rule in the text of an attention."""
    tokens = attention.stacks[_STACK].query
    batch = batch_of_tokens(tokens, Segment(tokens.raw), ids_of(tokens), {})
    links = rule.visible_links(batch, causal=is_causal_model(reading.model.hf_model))
    return HeadRule(rule.name, links[0].cpu().numpy())
