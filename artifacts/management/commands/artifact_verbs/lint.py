from dataclasses import asdict
from pathlib import Path

from artifacts.lint import LINT_SCHEMA, lint_paths

HELP = "Find lines of prompts and playbooks that would pour whole outputs into a context."


def add_arguments(parser):
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="files, or folders of text files")


def run(paths, **options):
    hits = list(lint_paths(paths))
    lines = [f"{hit.file}:{hit.line}: {hit.rule}: {hit.text}\n    {hit.better}" for hit in hits]
    words = "\n".join([*lines, f"{len(hits):,} found"])
    return {"schema": LINT_SCHEMA, "hits": [asdict(hit) for hit in hits]}, words, 1 if hits else 0
