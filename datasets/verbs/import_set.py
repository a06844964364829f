"""`reflection dataset import`: a judged set of another tool becomes samples."""

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web import reasons
from openclaw_web.commands.groups import Outcome
from openclaw_web.commands.verbs import BY
from openclaw_web.errors import Refused

from ..imported_sets.rows import FORMATS
from ..imported_sets.service import import_set

HELP = gettext_lazy("Import a judged set of another tool: its rows become samples of their own origin.")
EXAMPLES = (
    "reflection dataset import support.jsonl --format messages --name support-2025",
    "reflection dataset import records.json --format argilla --name reviewed",
)


def add_arguments(parser):
    parser.add_argument("file", metavar="FILE", help=_("JSON lines, a JSON array, or Parquet"))
    parser.add_argument("--format", required=True, choices=list(FORMATS), help=_("the shape of its rows"))
    parser.add_argument("--name", required=True, metavar="NAME", help=_("name of the set: the origin of its samples"))


def run(file, format, name, **options):
    with ExitStack() as stack:
        try:
            opened = stack.enter_context(Path(file).open("rb"))
        except OSError as exc:
            raise Refused(
                _("%(file)s cannot be read: %(reason)s.") % {"file": file, "reason": reasons.describe_os_error(exc)}
            ) from exc
        receipt = import_set(opened, name=name, row_format=format, by=BY)
    return Outcome({"import": asdict(receipt)}, receipt.sentence)
