from artifacts.looking import fetching
from artifacts.looking.selectors import MOST_PEEK_CHARS, PEEK_CHARS
from openclaw_web.commands.groups import Outcome

from . import checked, db_of

HELP = "Print a small preview of an artifact and what is known of it."
EXAMPLES = ("artifact peek ocm_artifact:v1:sha256:… --preview-chars 300",)


def add_arguments(parser):
    parser.add_argument("handle")
    parser.add_argument(
        "--preview-chars", type=int, default=PEEK_CHARS, metavar="N", help=f"1 to {MOST_PEEK_CHARS} (%(default)s)"
    )


def run(handle, preview_chars, agent, **options):
    handle = checked(handle)
    receipt = fetching.peek(db_of(agent), handle, chars=preview_chars)
    return Outcome(receipt, f"{receipt['summary']}\n\n{receipt['preview']}")
