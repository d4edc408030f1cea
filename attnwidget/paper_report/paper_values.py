"""Numbers of the papers, which a report shows next to the numbers of the user's model."""

from __future__ import annotations

from typing import NamedTuple


class PaperFigure(NamedTuple):
    """Figure or table of a paper.

    Attributes:
        paper: Authors and year.
        figure: Number of the figure, table or section.
        value: What the paper reports for its model, with the numbers.
    """

    paper: str
    figure: str
    value: str


CLARK = "Clark et al. 2019"
KOVALEVA = "Kovaleva et al. 2019"
KOBAYASHI = "Kobayashi et al. 2020"
COENEN = "Coenen et al. 2019"
HEWITT = "Hewitt and Manning 2019"
OLSSON = "Olsson et al. 2022"

#: Figures of a report in the order of the papers, by study. Layers such as L4 are counted from 0,
#: as in the report. Heads such as 8-10 have the papers' names, which count from 1.
PAPER_FIGURES = {
    "classes": PaperFigure(
        CLARK, "Figure 2", "BERT-base gives [SEP] 49 to 58 % of its attention in L4 to L9"
    ),
    "position": PaperFigure(
        CLARK,
        "Section 3.1",
        "in BERT-base, 4 of 144 heads give more than half of their attention to the previous "
        "token, and 5 to the next",
    ),
    "gradients": PaperFigure(
        CLARK, "Figure 3", "in BERT-base, the gradients for [SEP] are small from L4 on"
    ),
    "entropy": PaperFigure(
        CLARK,
        "Figure 4",
        "BERT-base has broad heads in its first layers; the last layer has 3.89 nats from [CLS]",
    ),
    "broad heads": PaperFigure(
        CLARK,
        "Section 3.3",
        "broad heads of BERT-base give at most 10 % of their attention to any single word; from "
        "[CLS], the last layer has 3.89 nats",
    ),
    "distances": PaperFigure(
        CLARK, "Figure 6", "heads of BERT-base cluster by behavior, and often by layer"
    ),
    "relations": PaperFigure(
        CLARK,
        "Table 1",
        "the best head of BERT-base finds 34.5 % of all governors (best offset 26.3 %); det: 8-11 "
        "with 94.3 %, dobj: 8-10 with 86.8 %",
    ),
    "gallery": PaperFigure(
        CLARK,
        "Figure 5",
        "six heads of BERT-base, such as 8-10 for objects (86.8 %) and 8-11 for determiners (94.3 "
        "%)",
    ),
    "coreference": PaperFigure(
        CLARK,
        "Table 2",
        "head 5-4 of BERT-base finds 65 % of the antecedents, the nearest mention 27 %, the rules "
        "69 %",
    ),
    "dependency probes": PaperFigure(
        CLARK,
        "Table 3",
        "attention of BERT-base with words finds 77 % of the governors, attention only 61 %, "
        "distances and words 58 %, the same model with random weights 30 %, the next word 26 %",
    ),
    "pattern examples": PaperFigure(
        KOVALEVA, "Figure 1", "five maps of BERT-base, one for each pattern, without numbers"
    ),
    "patterns": PaperFigure(
        KOVALEVA,
        "Figure 2",
        "in BERT-base, 30 % of the labeled maps are vertical, and 32 to 61 % heterogeneous, by "
        "task",
    ),
    "links": PaperFigure(
        KOVALEVA,
        "Figure 3 and section 4.5",
        "along links of FrameNet, two heads of BERT-base have 0.201 and 0.209, and all heads 0.037 "
        "on average; heads along subjects and verbs coincide with diagonals",
    ),
    "comparison": PaperFigure(
        KOVALEVA,
        "Figure 5",
        "fine-tuning changes the last two layers of BERT-base most; the paper has no control",
    ),
    "features": PaperFigure(
        KOVALEVA,
        "Figures 6 and 7",
        "special tokens have the largest weights of BERT-base; on most tasks, [CLS] of the last "
        "layer attends most to [SEP]",
    ),
    "heads off": PaperFigure(
        KOVALEVA,
        "Figures 8 and 9",
        "in a fine-tuned BERT-base, the best head to switch off gains 0.1 to 1.2 points of the "
        "score of a task; without the first layer, RTE gains 3.2 points",
    ),
    "norms": PaperFigure(
        KOBAYASHI,
        "Figure 3",
        "[SEP] has about half of the attention of BERT-base, and hardly any norm",
    ),
    "norm pairs": PaperFigure(
        KOBAYASHI,
        "Figure 4",
        "in BERT-base, [SEP] has a strong negative correlation of weight and norm, about -0.7 as "
        "others cite it",
    ),
    "norms by frequency": PaperFigure(
        KOBAYASHI,
        "Figure 5",
        "in BERT-base, frequent tokens have shorter vectors: rank correlation about 0.75 as others "
        "cite it",
    ),
    "alignment": PaperFigure(
        KOBAYASHI,
        "Section 5",
        "a model for German to English: the best layer has an alignment error rate of 29.8 % by "
        "weights and 25.0 % by norms, from the row that reads the word",
    ),
    "pairs": PaperFigure(
        COENEN,
        "Section 3.1",
        "linear classifiers on the attention of all heads of BERT-base: 85.8 % for whether there "
        "is a dependency, 71.9 % for which of 30 relations; the paper has no baseline",
    ),
    "edge lengths": PaperFigure(
        COENEN,
        "Figure 3",
        "edges of BERT-base have mean squared lengths of 1.2 (prt, advcl) to 2.5 (mwe, parataxis)",
    ),
    "trees": PaperFigure(
        HEWITT,
        "Table 1",
        "layer 7 of BERT-base has 79.8 % of the edges of the trees, the chain 48.9 %, on the Wall "
        "Street Journal",
    ),
    "induction": PaperFigure(
        OLSSON, "Induction heads", "an induction head attends to the tokens after earlier copies"
    ),
}
