import sys

from artifacts.looking import fetching
from artifacts.looking.selectors import MODES, USUAL_CHARS, Selector
from openclaw_web.commands.groups import Outcome

from . import checked, db_of

HELP = "Print a bounded part of an artifact."
EXAMPLES = (
    "artifact fetch ocm_artifact:v1:sha256:… --max-chars 4000",
    "artifact fetch ocm_artifact:v1:sha256:… --mode range --lines 120:160",
    "artifact fetch ocm_artifact:v1:sha256:… --mode jsonpath --path '$.items[0].name' --json",
)


def add_arguments(parser):
    parser.add_argument("handle")
    parser.add_argument("--mode", default="headtail", choices=MODES, help="which part (%(default)s)")
    parser.add_argument("--max-chars", type=int, default=USUAL_CHARS, metavar="N", help="at most so many (%(default)s)")
    parser.add_argument("--reason", default="", help="why more than 8000 characters; recorded")
    parser.add_argument("--offset", type=int, default=0, metavar="N", help="go on from this character")
    parser.add_argument("--lines", default="", metavar="A:B", help="for range: the lines from A to B")
    parser.add_argument("--pattern", default="", metavar="RE", help="for grep: an expression as RE2 knows it")
    parser.add_argument("--ignore-case", action="store_true", help="for grep: upper and lower case are the same")
    parser.add_argument("--context", type=int, default=0, metavar="N", help="for grep: lines beside each match")
    parser.add_argument("--path", default="", metavar="JSONPATH", help="for jsonpath: as RFC 9535 has it")


def run(handle, agent, json, **options):
    names = Selector.__dataclass_fields__
    selector = Selector(**{name: value for name, value in options.items() if name in names})
    handle = checked(handle)
    answer = fetching.fetch(db_of(agent), handle, selector, by="command line", agent_id=agent)
    if not json:
        for sentence in answer.in_words(agent):
            sys.stderr.write(f"{sentence}\n")
    return Outcome(answer.as_receipt(), answer.text)
