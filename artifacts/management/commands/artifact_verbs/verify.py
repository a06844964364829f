from artifacts import handles, verifying

from . import db_of

HELP = "Read contents in full and compare them with their names; without handles, all of them."


def add_arguments(parser):
    parser.add_argument("handle", nargs="*")


def run(handle, agent, **options):
    wanted = map(handles.parse, handle) if handle else verifying.everything(db_of(agent))
    result = verifying.verify(wanted)
    lines = [f"{row['id']}: {row['reason']}" for row in result.problems]
    words = "\n".join([*lines, f"{result.sound:,} sound ({result.bytes:,} bytes), {len(lines):,} not"])
    return result.as_receipt(), words, 1 if lines else 0
