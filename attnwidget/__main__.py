"""Command line of the package: `python -m attnwidget report MODEL`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status.

    Args:
        arguments: Words of the command line; None = those of the process.
    """
    options = _parser().parse_args(arguments)
    # Import torch and transformers only after the options are checked.
    from attnwidget.capture.load import load_model
    from attnwidget.corpus.segmenting import read_segments
    from attnwidget.paper_report.build_report import report
    from attnwidget.text.coreference import load_coreference
    from attnwidget.text.treebank_files import load_treebank

    try:
        model = load_model(options.model) if options.model else load_model()
        found = report(
            model,
            None if options.texts is None else read_segments(options.texts, model),
            None if options.treebank is None else load_treebank(options.treebank),
            None if options.documents is None else load_coreference(options.documents),
            tuned=None if options.tuned is None else load_model(options.tuned),
            resume=options.resume,
        )
        path = found.save(options.output)
    except (OSError, TypeError, ValueError) as error:
        print(f"{_PROGRAM}: {error}", file=sys.stderr)
        return 1
    for entry in found.entries:
        print(f"{entry.paper} {entry.figure}".strip() + f": {entry.finding}")
    print(f"The report is in {path}")
    return 0


_PROGRAM = "python -m attnwidget"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=_PROGRAM, description="Measure the heads of a model.")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser(
        "report",
        help="write a page with the figures of the papers for a model",
        description="Write a page with the figures of five papers for a model, next to the "
        "papers' numbers.",
    )
    command.add_argument("model", nargs="?", help="name or folder; default: the bundled BERT")
    command.add_argument(
        "--texts", help="text file with a paragraph per line; default: bundled prose"
    )
    command.add_argument("--treebank", help="CoNLL-U file; default: the bundled sentences")
    command.add_argument(
        "--documents", help="file with coreference, as in load_coreference; default: bundled texts"
    )
    command.add_argument("--tuned", help="fine-tuned copy of the model, by name or folder")
    command.add_argument("--resume", help="folder for finished work, to continue after Ctrl-C")
    command.add_argument("--output", default="report.html", help="default: %(default)s")
    return parser


if __name__ == "__main__":
    sys.exit(main())
