"""Slow, literal numpy versions of norms and gradient importance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def vectors(
    value: Array, weight: Array | None = None, heads: int = 0, *, shares: Array | None = None
) -> Array:
    """f_h(x_j) = v_j W_O,h, one head and key at a time: [Hkv,K,Dv] -> [H,K,d].

    From the whole projection `weight` [d, H*Dv], or each head's share of it [H, Dv, d].
    """
    if shares is None:
        assert weight is not None
        size = value.shape[-1]
        shares = np.stack([weight[:, h * size : (h + 1) * size].T for h in range(heads)])
    group = len(shares) // value.shape[0]
    out = np.zeros((len(shares), value.shape[1], shares.shape[-1]))
    for h, share in enumerate(shares):
        for j in range(value.shape[1]):
            out[h, j] = value[h // group, j].astype("f8") @ share.astype("f8")
    return out


def norms(f: Array) -> Array:
    """||f_h(x_j)||: [H,K,d] -> [H,K]."""
    return np.array([[np.sqrt(sum(x * x for x in vector)) for vector in head] for head in f])


def norm_maps(weights: Array, f: Array) -> Array:
    """||a f(x_j)||, each vector scaled before it is measured: [H,Q,K], [H,K,d] -> [H,Q,K]."""
    out = np.zeros(weights.shape)
    for h, i, j in np.ndindex(*weights.shape):
        out[h, i, j] = np.linalg.norm(weights[h, i, j] * f[h, j])
    return out


def summed_norm_maps(weights: Array, f: Array) -> Array:
    """||sum over heads of a f(x_j)||, the vectors built: [H,Q,K], [H,K,d] -> [Q,K]."""
    out = np.zeros(weights.shape[1:])
    for i, j in np.ndindex(*out.shape):
        out[i, j] = np.linalg.norm(sum(weights[h, i, j] * f[h, j] for h in range(len(f))))
    return out


def mean_loss(logits: Array, targets: NDArray[np.int64], counted: NDArray[np.bool_]) -> float:
    """Mean of -ln p(target) over the counted positions, [n,V]; 0 without one."""
    losses = []
    for row, target, counts in zip(logits.astype("f8"), targets, counted, strict=True):
        if counts:
            losses.append(np.log(sum(np.exp(x) for x in row)) - row[target])
    return float(np.mean(losses)) if losses else 0.0


def class_importance(gradients: Array, members: NDArray[np.bool_]) -> Array:
    """Mean of |dL/da| over all queries and the keys of a class, [H,n,n] -> [H]; 0 without one."""
    out = np.zeros(len(gradients))
    for h, head in enumerate(gradients):
        entries = [abs(row[j]) for row in head for j in range(len(row)) if members[j]]
        out[h] = np.mean(entries) if entries else 0
    return out
