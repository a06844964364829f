import sys

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from artifacts.excerpts import content_fetch
from artifacts.excerpts.selectors import MODES, USUAL_CHARS, Selector
from openclaw_web.commands.groups import Outcome

from . import get_alias, parse_handle

HELP = gettext_lazy("Print a part of an artifact, limited in size.")
EXAMPLES = (
    "artifact fetch ocm_artifact:v1:sha256:… --max-chars 4000",
    "artifact fetch ocm_artifact:v1:sha256:… --mode range --lines 120:160",
    "artifact fetch ocm_artifact:v1:sha256:… --mode jsonpath --path '$.items[0].name' --json",
)


def add_arguments(parser):
    parser.add_argument("handle")
    parser.add_argument("--mode", default="headtail", choices=MODES, help=_("how the part is chosen (%(default)s)"))
    parser.add_argument(
        "--max-chars", type=int, default=USUAL_CHARS, metavar="N", help=_("characters to print at most (%(default)s)")
    )
    parser.add_argument("--reason", default="", help=_("reason for more than 8000 characters; recorded"))
    parser.add_argument("--offset", type=int, default=0, metavar="N", help=_("start at this character"))
    parser.add_argument("--lines", default="", metavar="A:B", help=_("range: the lines from A to B"))
    parser.add_argument("--pattern", default="", metavar="RE", help=_("grep: a regular expression in RE2 syntax"))
    parser.add_argument("--ignore-case", action="store_true", help=_("grep: ignore upper and lower case"))
    parser.add_argument("--context", type=int, default=0, metavar="N", help=_("grep: lines around each match"))
    parser.add_argument("--path", default="", metavar="JSONPATH", help=_("jsonpath: a path as in RFC 9535"))


def run(handle, agent, json, **options):
    names = Selector.__dataclass_fields__
    selector = Selector(**{name: value for name, value in options.items() if name in names})
    handle = parse_handle(handle)
    answer = content_fetch.fetch(get_alias(agent), handle, selector, by="command line", agent_id=agent)
    if not json:
        for sentence in answer.in_words(agent):
            sys.stderr.write(f"{sentence}\n")
    return Outcome(answer.as_receipt(), answer.text)
