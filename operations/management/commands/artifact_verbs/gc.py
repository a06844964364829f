from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.commands.groups import Outcome

from ....artifact_gc import services as artifact_gc

HELP = gettext_lazy("Remove artifacts that nothing refers to, and remains of interrupted writes.")
EXAMPLES = ("artifact gc --dry-run", "artifact gc --older-than 30d --json")


def add_arguments(parser):
    parser.add_argument(
        "--older-than", default="0s", metavar="AGE", help=_("only artifacts stored longer ago: 12h, 7d, ...")
    )
    parser.add_argument("--dry-run", action="store_true", help=_("only show what would be removed"))


def run(older_than, dry_run, **options):
    age = artifact_gc.parse_age(older_than)
    result = artifact_gc.collect_garbage(older_than=age, is_dry_run=dry_run, by="command line")
    return Outcome(result.as_receipt(), artifact_gc.in_words(result))
