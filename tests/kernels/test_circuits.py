"""Kernels of circuits: copying, composition, gains of norms and matrices of linear functions."""

from __future__ import annotations

import pytest
import torch

from attnwidget.kernels.norm_gains import NormGain
from attnwidget.mechanisms.circuit_weights import linear_map, unit_probes
from attnwidget.mechanisms.copying import eigenvalue_copying, ranks, share_among_top
from attnwidget.mechanisms.head_composition import composition, random_composition


def test_eigenvalues_are_those_of_the_matrix_of_the_vocabulary() -> None:
    torch.manual_seed(0)
    embedding = torch.randn(50, 16, dtype=torch.float64)
    unembedding = torch.randn(16, 50, dtype=torch.float64)
    value = torch.randn(3, 16, 4, dtype=torch.float64)
    output = torch.randn(3, 4, 16, dtype=torch.float64)
    small = eigenvalue_copying(output, unembedding @ embedding, value)
    for head in range(3):
        whole = torch.linalg.eigvals(embedding @ value[head] @ output[head] @ unembedding)
        whole = whole[whole.abs() > 1e-6 * whole.abs().max()]
        expected = (whole.sum() / whole.abs().sum()).real
        assert float(small[head]) == pytest.approx(float(expected), abs=1e-9)


def test_eigenvalues_tell_copying_from_suppression() -> None:
    eye = torch.eye(6)
    assert float(eigenvalue_copying(eye[:2], eye, eye[:, :2])) == 1
    assert float(eigenvalue_copying(-eye[:2], eye, eye[:, :2])) == -1
    assert float(eigenvalue_copying(0 * eye[:2], eye, eye[:, :2])) == 0


def test_ties_do_not_count_as_copying() -> None:
    """A head that writes nothing gives all tokens the same logit."""
    ids = torch.tensor([0, 3])
    assert float(share_among_top(torch.zeros(2, 9), ids, top=5)) == 0
    assert ranks(torch.zeros(2, 9), ids).tolist() == [8, 8]
    logits = torch.tensor([[5.0, 4.0, 3.0, 2.0], [5.0, 4.0, 3.0, 2.0]])
    assert ranks(logits, ids).tolist() == [0, 3]
    assert [float(share_among_top(logits, ids, top)) for top in (1, 3, 4)] == [0.5, 0.5, 1]


def test_composition_is_the_ratio_of_norms() -> None:
    torch.manual_seed(0)
    writer_in, reader_in = torch.randn(2, 32, 4), torch.randn(32, 5)
    writer_out, reader_out = torch.randn(2, 4, 32), torch.randn(5, 32)
    norm = torch.linalg.matrix_norm
    writer = writer_in @ writer_out
    reader = reader_in @ reader_out
    expected = norm(writer @ reader) / (norm(writer) * norm(reader))
    assert torch.allclose(composition(writer_in, writer_out, reader_in, reader_out), expected)
    nothing = composition(0 * writer_in, writer_out, reader_in, reader_out)
    assert nothing.tolist() == [0, 0]


def test_unrelated_circuits_score_as_stated() -> None:
    """The mean of squares over random rotations is 1 / d for any two circuits."""
    torch.manual_seed(0)
    size = 24
    writer_in, writer_out = torch.randn(size, 3) * 5, torch.randn(3, size)
    reader_in, reader_out = torch.randn(size, 4), torch.randn(4, size) ** 3
    rotations = torch.linalg.qr(torch.randn(2000, size, size)).Q
    scores = composition(writer_in, writer_out @ rotations, reader_in, reader_out)
    root = float(scores.square().mean().sqrt())
    assert root == pytest.approx(random_composition(size), rel=0.03)


@pytest.mark.parametrize("centers", [True, False])
def test_gains_move_into_the_matrices_around_a_norm(centers: bool) -> None:
    torch.manual_seed(0)
    gain, vectors, reader = torch.rand(8) + 0.5, torch.randn(5, 8), torch.randn(8, 3)
    norm = NormGain(gain, torch.zeros(8), centers)
    if centers:
        normed = torch.nn.functional.layer_norm(vectors, (8,), gain)
        size = vectors.std(-1, correction=0, keepdim=True)
    else:
        normed = torch.nn.functional.rms_norm(vectors, (8,), gain)
        size = vectors.square().mean(-1, keepdim=True).sqrt()
    assert torch.allclose(vectors / size @ norm.read_by(reader), normed @ reader, atol=1e-4)
    assert torch.allclose(
        norm.normalized(vectors) @ norm.read_by(reader), normed @ reader, atol=1e-4
    )
    assert torch.allclose(norm.after(vectors) / size, normed, atol=1e-4)


def test_a_linear_function_gives_its_matrix_and_others_none() -> None:
    torch.manual_seed(0)
    matrix, bias = torch.randn(2, 6, 3), torch.randn(2, 1, 3)
    found = linear_map(unit_probes(6) @ matrix + bias, 1e-5)
    assert found is not None
    assert torch.allclose(found[0], matrix, atol=1e-6) and torch.equal(found[1], bias[:, 0])
    assert linear_map(torch.nn.functional.normalize(unit_probes(6) @ matrix, dim=-1), 1e-3) is None
