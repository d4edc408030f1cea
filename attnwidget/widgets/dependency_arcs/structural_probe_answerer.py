"""Structural probe as an answerer, which predicts the distances between words in a layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.probes.structural.structural_result import PredictedTree, StructuralProbe
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.dependency_arcs.answerer import ArcsOptions
from attnwidget.widgets.dependency_arcs.probe_answerer import ProbeAnswerer, score_note
from attnwidget.widgets.pages.encoding import as_json_value
from attnwidget.widgets.wire.values import to_wire


class StructuralProbeAnswerer(ProbeAnswerer[PredictedTree]):
    """Answerer for a probe from `train_structural_probe`, with a tree for each probed layer."""

    label = "structural probe"

    def __init__(self, probe: StructuralProbe) -> None:
        super().__init__(probe.model)
        self._probe = probe

    def described(self) -> dict[str, Any]:
        """Return the kind, the name and the probed layers, for the page."""
        layers = [int(layer) for layer in self._probe.map_layers]
        return {"kind": "structural probe", "name": self.label, "layers": layers}

    def opening(self, traits: Mapping[str, Any]) -> dict[str, Any]:
        """Return the layer with the best score."""
        return {"layer": self._probe.best_map_layer}

    def note(self, options: ArcsOptions) -> str:
        """Return the undirected attachment score of the layer; "" for a layer without a probe."""
        probe = self._probe
        if options.layer not in probe.map_layers:
            return ""
        rank = probe.ranks.index(probe.map_ranks[-1])
        value, low, high = probe.scores[rank, :, 0, probe.layers.index(options.layer)]
        note = score_note("UUAS", value, (low, high), probe.options["n_dev"])
        chain = float(probe.chain[0, 0])
        return f"{note}, below the chain ({100 * chain:.1f}\xa0%)" if value <= chain else note

    def answers(self, sentence: Sentence, layer: int) -> PredictedTree:
        """Return the tree of a layer at the largest rank."""
        compute = partial(self._probe.predictions, sentence, layer=layer)
        return self._kept((sentence, layer), compute)

    def answered(self, sentence: Sentence, options: ArcsOptions) -> dict[str, Any]:
        """Return the links and the distances of the predicted tree."""
        tree = self.answers(sentence, options.layer)
        gold = {*tree.gold_edges}
        links = [(*edge, edge in gold) for edge in tree.edges]
        structure = {
            "layer": tree.layer,
            "links": to_wire(np.array(links, np.int32).reshape(-1, 3)),
            "found": to_wire(tree.found.astype(np.int32)),
            "root": tree.root,
            "gold": to_wire(tree.gold_distances.astype(np.int32)),
            "distances": to_wire(tree.distances.astype(np.float32)),
            "depths": to_wire(tree.depths.astype(np.float32)),
        }
        return {"structure": structure}

    def outcomes(
        self, sentence: Sentence, words: list[int], options: ArcsOptions
    ) -> NDArray[np.int64]:
        """Return 1 for each word that is linked to its governor, else 0; -1 for punctuation."""
        outcomes: NDArray[np.int64] = self.answers(sentence, options.layer).found[words]
        return outcomes

    def _page_layers(self, sentence: Sentence, options: ArcsOptions) -> dict[str, Any]:
        """Return drawing data and notes of all layers, for the layer steps of a saved page."""
        options_by_layer = [replace(options, layer=layer) for layer in range(self.model.n_layers)]
        return {
            "probe": {
                str(layer_options.layer): as_json_value(self.drawn(0, sentence, layer_options))
                for layer_options in options_by_layer
            },
            "notes": {
                str(layer_options.layer): self.note(layer_options)
                for layer_options in options_by_layer
            },
        }
