from pathlib import Path

from artifacts import importing

from . import db_of

HELP = "Take over an artifacts folder of openclaw-mem. The folder is only read."


def add_arguments(parser):
    parser.add_argument("folder", type=Path, help="the artifacts folder, or OpenClaw's home with one inside")


def run(folder, agent, **options):
    result = importing.import_folder(db_of(agent, make=True), folder)
    lines = [f"{row['id']}: {row['reason']}" for row in result.problems]
    words = "\n".join([*lines, f"{result.imported:,} imported, {result.known:,} here already, {len(lines):,} refused"])
    return result.as_receipt(), words, 1 if lines else 0
