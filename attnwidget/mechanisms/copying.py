"""Copying scores: heads that promote or suppress the attended token."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from attnwidget.corpus.argument_checks import one_of
from attnwidget.corpus.results import HeadHeatMap, HeadResult, per_head
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.norm_gains import NormGain
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.mechanisms.circuit_weights import CircuitWeights
from attnwidget.mechanisms.head_vocabulary import read_vectors
from attnwidget.mechanisms.single_tokens import single_tokens, token_of_word
from attnwidget.mechanisms.token_vectors import TokenVectors

if TYPE_CHECKING:
    import altair as alt

    from attnwidget.capture.model import AttentionModel

NAMES = (
    "Michael",
    "Christopher",
    "Jessica",
    "Matthew",
    "Ashley",
    "Jennifer",
    "Joshua",
    "Amanda",
    "Daniel",
    "David",
    "James",
    "Robert",
    "John",
    "Joseph",
    "Andrew",
    "Ryan",
    "Brandon",
    "Jason",
    "Justin",
    "Sarah",
    "William",
    "Jonathan",
    "Stephanie",
    "Brian",
    "Nicole",
    "Nicholas",
    "Anthony",
    "Heather",
    "Eric",
    "Elizabeth",
    "Adam",
    "Megan",
    "Melissa",
    "Kevin",
    "Steven",
    "Thomas",
    "Timothy",
    "Christina",
    "Kyle",
    "Rachel",
    "Laura",
    "Lauren",
    "Amber",
    "Richard",
    "Amy",
    "Mark",
    "Emily",
    "Charles",
    "Rebecca",
    "Paul",
    "Mary",
    "Peter",
    "Alice",
    "Jane",
)
"""Frequent first names of the United States; `copying_scores` uses the first 30 single tokens."""
N_NAMES = 30
_FEWEST = 5
_SEED = 0


@dataclass(frozen=True, eq=False, repr=False)
class CopyingScores(HeadResult):
    """Copying and suppression of the attended token by each head. Made by `copying_scores`.

    Attributes:
        copying: Share of names with a rank below `top` among the tokens that the head promotes
            when it reads the name, [L, H].
        suppression: Share of names with a rank below `top` among the tokens that the head
            suppresses most, [L, H].
        copying_of_others: Share of the other names instead of the name that the head reads, [L, H].
            A head with the same output for every name scores no more.
        suppression_of_others: Share of the other names for `suppression`, [L, H].
        eigenvalues: Sum of the eigenvalues of the circuit from embedding to logits, divided by the
            sum of their absolute values, from -1 to 1, [L, H].
        shuffled: Eigenvalue score with shuffled token logits, [L, H]: the score of a head that
            treats all tokens alike.
        names: Names that were used.
        top: Number of ranks that count for `copying` and `suppression`.
        model_name: Name of the model.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms import copying_scores
        >>> found = copying_scores(load_model("attnwidget/induction"), names=[5, 6, 7])
        >>> found.copying.shape, list(found.heads())[:2]
        ((2, 4), ['copying', 'suppression'])
    """

    copying: Float64Array = field(metadata=per_head("copying"))
    suppression: Float64Array = field(metadata=per_head("suppression"))
    copying_of_others: Float64Array = field(metadata=per_head("copying, control: other names"))
    suppression_of_others: Float64Array = field(
        metadata=per_head("suppression, control: other names")
    )
    eigenvalues: Float64Array = field(metadata=per_head("copying (eigenvalues)"))
    shuffled: Float64Array = field(metadata=per_head("copying (eigenvalues), shuffled control"))
    names: tuple[str, ...]
    top: int

    figure = HeadHeatMap(
        "eigenvalues",
        "Copying by eigenvalues",
        "sum / sum of sizes",
        "{self.model_name}; from the effective embedding of every token to its logit",
        diverging=True,
    )

    def chart(self, form: str = "names", *, width: int = 640) -> alt.TopLevelMixin:
        """Draw copying and suppression of names, or the eigenvalue score with form="eigenvalues".

        Args:
            form: Scores to draw: "names" or "eigenvalues".
            width: Width of the whole figure in pixels.

        Raises:
            ValueError: If the form is unknown.
        """
        from attnwidget.charts.answer_title import answer_title
        from attnwidget.charts.head_heatmap import head_heatmaps

        one_of("form", form, ("names", "eigenvalues"))
        if form == "eigenvalues":
            return super().chart(width=width)
        return head_heatmaps(
            {"copying": self.copying, "suppression": self.suppression},
            title=answer_title(
                f"Names that heads copy and suppress\n{self.model_name}; "
                f"{len(self.names)} names, among {self.top} tokens",
                {"copying": self.copying, "suppression": self.suppression},
            ),
            value_title="share of names",
            width=width,
        )


@in_plain_torch
def copying_scores(
    model: AttentionModel,
    *,
    names: Sequence[str | int] | None = None,
    top: int = 5,
    center_unembed: bool = False,
) -> CopyingScores:
    """Score how much each head copies or suppresses an attended token, from the weights alone.

    - Names (Wang et al. 2023): each name as its effective embedding h = e + MLP_0(LN(e)) goes
      through the head, h W_V W_O, and through the last norm to logits. Copying is the share of
      names that are among the `top` largest of their own logits. Suppression, or negative copying,
      is this share with -W_V W_O instead of W_V W_O. The control of both is the share of the other
      names instead of the name that the head reads. A head that promotes the same tokens for every
      input scores no more than its control.
    - Eigenvalues (Elhage et al. 2021): sum(lambda) / sum(|lambda|) of W_E W_V W_O W_U over the
      vocabulary, with effective embeddings as the last norm and the norm before the head see them.
      If embeddings are close to unembeddings, every head scores high. Compare the score with the
      control, which shuffles the token logits.

    Heads of layer 0 read e itself. The bias of the values is excluded, because it is the same for
    every token.

    The behaviors "copying" and "negative copying" of `measure_behaviors` are `copying` and
    `suppression` over half of the names, with a test and a held-out half. Use them for a claim
    about a head.

    Args:
        model: Causal language model with norms before the attention, such as GPT-2 or Llama.
        names: Words of a single token, or ids; None = the first 30 single-token names of a list of
            English first names.
        top: Number of ranks that count.
        center_unembed: Whether to subtract the mean of W_U over the vocabulary for the eigenvalues,
            as in TransformerLens. The mean raises all logits equally and changes no probability,
            but it changes the eigenvalues. Copying and suppression of names are the same in both
            cases.

    Raises:
        TypeError: If `model` does not come from `load_model`, or names have another form.
        ValueError: If fewer than 5 of the listed names are one token, a word has several tokens, or
            the model lacks these circuits, with the reason, as in `head_vocabulary`.

    Example:
        >>> from transformers import LlamaConfig, LlamaForCausalLM
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms import copying_scores
        >>> config = LlamaConfig(vocab_size=99, hidden_size=32, intermediate_size=48,
        ...     num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2)
        >>> model = load_model(LlamaForCausalLM(config), device="cpu")
        >>> copying_scores(model, names=[5, 6, 7]).copying.shape
        (2, 4)
    """
    weights = CircuitWeights(model)
    vectors = TokenVectors(weights)
    if not 1 <= top < vectors.n_tokens:
        raise ValueError(f"top must be from 1 to the size of the vocabulary, got {top}")
    name_list = known_names(model) if names is None else names
    ids, texts = single_tokens(model, name_list, vectors.n_tokens)
    products = _TokenProducts(vectors, center_unembed)
    shape = (weights.numbers.n_layers, model.n_heads)
    copying, suppression, copied_others, suppressed_others, eigenvalues, shuffled = (
        np.full(shape, np.nan) for _ in range(6)
    )
    for layer in weights.numbers.numbers:
        circuits = weights.layer(layer)
        normed_vectors = read_vectors(vectors, circuits, layer, ids)
        for head in range(model.n_heads):
            logits = vectors.logits(normed_vectors @ circuits.value[head] @ circuits.output[head])
            name_ids = ids.to(logits.device)
            copying[layer, head] = float(share_among_top(logits, name_ids, top))
            suppression[layer, head] = float(share_among_top(-logits, name_ids, top))
            copied_others[layer, head] = float(share_of_others_among_top(logits, name_ids, top))
            suppressed_others[layer, head] = float(
                share_of_others_among_top(-logits, name_ids, top)
            )
        own_logits, other_logits = products.sums(circuits.norm, effective=layer > 0)
        eigenvalues[layer] = _eigenvalues(circuits.output, own_logits, circuits.value)
        shuffled[layer] = _eigenvalues(circuits.output, other_logits, circuits.value)
    return CopyingScores(
        copying=copying,
        suppression=suppression,
        copying_of_others=copied_others,
        suppression_of_others=suppressed_others,
        eigenvalues=eigenvalues,
        shuffled=shuffled,
        names=texts,
        top=top,
        model_name=model.name,
    )


class _TokenProducts:
    """W_U W_E of a model, [d, d], shared by all layers with the same kind of norm."""

    def __init__(self, vectors: TokenVectors, center_unembed: bool) -> None:
        self._vectors = vectors
        self._centered = center_unembed
        self._known: dict[tuple[bool | None, bool], tuple[Tensor, Tensor]] = {}

    def sums(self, norm: NormGain | None, *, effective: bool) -> tuple[Tensor, Tensor]:
        """Return the sum over tokens of unembedding x normed embedding, and the shuffled sum."""
        kind = (None if norm is None else norm.centers, effective)
        if kind not in self._known:
            self._known[kind] = self._sums(norm, effective)
        return self._known[kind]

    def _sums(self, norm: NormGain | None, effective: bool) -> tuple[Tensor, Tensor]:
        unembedding = self._vectors.unembedding
        if self._centered:
            unembedding = unembedding - unembedding.mean(-1, keepdim=True)
        n_tokens = self._vectors.n_tokens
        others = torch.from_numpy(np.random.default_rng(_SEED).permutation(n_tokens))
        own = unembedding.new_zeros(len(unembedding), len(unembedding))
        shuffled = own.clone()
        start = 0
        for part in self._embeddings(
            torch.arange(n_tokens, dtype=torch.long, device="cpu"), effective
        ):
            embedded = part if norm is None else norm.normalized(part)
            stop = start + len(part)
            own += unembedding[:, start:stop] @ embedded
            shuffled += unembedding[:, others[start:stop]] @ embedded
            start = stop
        return own, shuffled

    def _embeddings(self, ids: Tensor, effective: bool) -> Iterator[Tensor]:
        if effective:
            return self._vectors.parts_after_first_mlp(ids)
        return iter([self._vectors.embedded(ids)])


def _eigenvalues(output: Tensor, products: Tensor, value: Tensor) -> Float64Array:
    scores: Float64Array = eigenvalue_copying(output, products, value).double().cpu().numpy()
    return scores


def known_names(model: AttentionModel) -> list[int]:
    """Return the ids of the first 30 of `NAMES` that are a single token.

    Raises:
        ValueError: If the model has no tokenizer, or fewer than 5 names are a single token.
    """
    if model.tokenizer is None:
        raise ValueError("names need a tokenizer: pass ids, or load_model(model, tokenizer)")
    candidates = (token_of_word(model.tokenizer, name) for name in NAMES)
    ids = [token for token in candidates if token is not None]
    if len(ids) < _FEWEST:
        raise ValueError(
            f"{len(ids)} of {len(NAMES)} first names are one token in this vocabulary: pass "
            "words that are, names=[...]"
        )
    return ids[:N_NAMES]


def eigenvalue_copying(output: Tensor, tokens: Tensor, value: Tensor) -> Tensor:
    """Return the eigenvalue score of W_E W_V W_O W_U (Elhage et al. 2021).

    This is the sum of the eigenvalues divided by the sum of their absolute values. 1 means that the
    head raises the logits of the tokens that it reads, in every direction; -1 means that it lowers
    them. The matrix has the size of the vocabulary; W_O W_U W_E W_V has the same eigenvalues except
    for zeros.

    Args:
        output: Output matrix W_O, [..., Dv, d].
        tokens: Token matrix W_U W_E, [d, d]: the sum over the vocabulary of each token's
            unembedding times its embedding.
        value: Value matrix W_V, [..., d, Dv].

    Returns:
        Scores from -1 to 1, [...]; 0 for a head that writes nothing.

    Example:
        >>> import torch
        >>> from attnwidget.mechanisms.copying import eigenvalue_copying
        >>> eigenvalue_copying(torch.eye(3)[:2], torch.eye(3), torch.eye(3)[:, :2])
        tensor(1.)
    """
    eigenvalues = torch.linalg.eigvals(output @ tokens @ value)
    size = eigenvalues.abs().sum(-1)
    return torch.where(size > 0, eigenvalues.real.sum(-1) / size, 0.0)


def share_among_top(logits: Tensor, ids: Tensor, top: int) -> Tensor:
    """Return the share of tokens that are among the `top` largest of their own logits.

    Args:
        logits: Logits, [..., T, V], one row per token.
        ids: Id of each token, int64 [T].
        top: Number of ranks that count.

    Returns:
        Shares from 0 to 1, [...].

    Example:
        >>> import torch
        >>> from attnwidget.mechanisms.copying import share_among_top
        >>> logits = torch.tensor([[3.0, 2.0, 1.0], [3.0, 2.0, 1.0]])
        >>> share_among_top(logits, torch.tensor([0, 2]), top=1)
        tensor(0.5000)
    """
    return (ranks(logits, ids) < top).float().mean(-1)


def share_of_others_among_top(logits: Tensor, ids: Tensor, top: int) -> Tensor:
    """Return the share of the other tokens among the `top` largest logits of a row.

    This is the control of `share_among_top`, with the same arguments. A head with the same output
    for every token has equal shares of read tokens and of other tokens.

    Returns:
        Mean over the T rows and the T - 1 other tokens of each row, [...], from 0 to 1.

    Example:
        >>> import torch
        >>> from attnwidget.mechanisms.copying import share_among_top, share_of_others_among_top
        >>> same = torch.tensor([3.0, 2.0, 1.0]).expand(3, 3)
        >>> ids = torch.tensor([0, 1, 2])
        >>> share_of_others_among_top(same, ids, top=1), share_among_top(same, ids, top=1)
        (tensor(0.3333), tensor(0.3333))
    """
    # As in `ranks`, ties count against a token.
    bound = logits.topk(top + 1, dim=-1).values[..., -1:]
    is_among_top = logits[..., ids] > bound  # [..., T, T]
    is_other = ~torch.eye(len(ids), dtype=torch.bool, device=logits.device)
    return (is_among_top & is_other).float().sum((-2, -1)) / is_other.sum()


def ranks(logits: Tensor, ids: Tensor) -> Tensor:
    """Return the number of other tokens with at least the logit of the row's token.

    Ties count against the token, so a head without output favors no token.

    Args:
        logits: Logits, [..., T, V], one row per token.
        ids: Id of each token, int64 [T].

    Returns:
        Ranks from 0, int64 [..., T].

    Example:
        >>> import torch
        >>> from attnwidget.mechanisms.copying import ranks
        >>> ranks(torch.tensor([[3.0, 2.0, 1.0]]), torch.tensor([1]))
        tensor([1])
    """
    index = ids.expand(logits.shape[:-1])[..., None]
    return (logits >= logits.gather(-1, index)).sum(-1) - 1
