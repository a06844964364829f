"""`episodes verify`: the ledger compared with its chain, and with heads that were kept elsewhere."""

import dataclasses
import sys

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.progress import Progress, open_listener
from openclaw_web.commands.groups import Outcome
from openclaw_web.commands.verbs import FAILED

from .. import jobs
from ..chain import heads
from . import find_agent, get_path
from .head import read_file

HELP = gettext_lazy("Check that no event was changed or removed, and compare with heads that you kept.")
EXAMPLES = (
    "episodes verify --head-file /mnt/usb/openclaw-web.head",
    "episodes verify --head 12:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
)
NAME_CHARACTERS = 20


def add_arguments(parser):
    parser.add_argument(
        "--head", dest="texts", action="append", default=[], metavar="HEAD", help=_("a head that you kept; repeatable")
    )
    parser.add_argument(
        "--head-file",
        dest="files",
        action="append",
        default=[],
        metavar="FILE",
        help=_("file with a head; repeatable. Heads of all backups are compared anyway"),
    )


def run(agent, texts, files, **options):
    kept_heads = [(text.strip()[:NAME_CHARACTERS], str(heads.parse_head(text))) for text in texts]
    kept_heads += [(file, str(read_file(get_path(file)))) for file in files]
    params = {"agent": find_agent(agent).agent_id, "heads": kept_heads}
    with open_listener(sys.stderr, is_quiet=not sys.stderr.isatty()) as listener:
        result = jobs.verify(params, Progress(listener))
    outcome = Outcome(result, "\n".join([jobs.in_words(result), _("Head now: %(head)s") % {"head": result["head"]}]))
    if result["unchanged"]:
        return outcome
    return dataclasses.replace(outcome, status=FAILED, sentence=result["message"])
