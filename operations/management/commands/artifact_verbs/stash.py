import sys

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from artifacts import receipts, services
from openclaw_web import reasons
from openclaw_web.commands.groups import Outcome, WrongUse

from . import get_alias, parse_json_object

HELP = gettext_lazy("Store the content of a file, or of standard input, and print its handle.")
EXAMPLES = (
    "artifact stash --from page.html --kind page",
    "artifact stash --gzip --json < build.log | jq -r .handle",
)


def add_arguments(parser):
    parser.add_argument("--from", dest="source", metavar="FILE", help=_("file with the content (standard input)"))
    parser.add_argument("--kind", default=services.OUTPUT_KIND, help=_("kind of content (%(default)s)"))
    parser.add_argument("--meta-json", default="{}", metavar="JSON", help=_("metadata to store: a small JSON object"))
    parser.add_argument("--gzip", action="store_true", help=_("store the content compressed"))


def run(source, kind, meta_json, gzip, agent, **options):
    meta, db = parse_json_object(meta_json), get_alias(agent, make=True)
    if source is None:
        row, stored = _stash(db, sys.stdin.buffer, kind, meta, gzip)
    else:
        try:
            file = open(source, "rb")  # noqa: SIM115, PTH123 - closed below; only opening it may fail for this reason
        except OSError as exc:
            raise WrongUse(
                _("%(file)s cannot be read: %(reason)s.") % {"file": source, "reason": reasons.describe_os_error(exc)}
            ) from exc
        with file:
            row, stored = _stash(db, file, kind, meta, gzip)
    return Outcome(receipts.build_stash_receipt(row, stored), f"{row.handle}\n{row.summary}")


def _stash(db, file, kind, meta, gzip):
    return services.stash(db, file, kind=kind, meta=meta, is_compressed=gzip)
