"""An explorer in Solara: each page makes its own."""

import solara

from attnwidget import Explorer, explore


@solara.component
def Page() -> None:  # noqa: N802 - the name that Solara looks for
    explorer: Explorer = solara.use_memo(explore, [])
    # Solara's style sheet hides the arrows of selects.
    solara.Style(".attnw-root select { appearance: auto }")
    solara.display(explorer)
