"""`reflection guardian record`: writes of a plugin, out of a file or from standard input."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from gate.verbs import agent_of
from openclaw_web.commands import told
from openclaw_web.commands.groups import Outcome
from openclaw_web.errors import Refused

from ..recording import recorded
from ..recording.schemas import MOST, WriteIn
from . import BY

HELP = gettext_lazy("Record writes to memory files: JSON, a JSON list, or JSON lines.")
EXAMPLES = (
    "reflection guardian record writes.jsonl",
    "reflection guardian record --agent main --json < writes.json",
)


def add_arguments(parser):
    parser.add_argument("file", nargs="?", metavar="FILE", help=_("file with the writes (standard input)"))


def run(agent, file, **options):
    found = agent_of(agent)
    writes = told.checked(told.read(file), WriteIn, body="writes")
    if not writes:
        raise Refused(_("There is no write in what was given."))
    counts = {"recorded": 0, "known": 0, "withheld": 0}
    for start in range(0, len(writes), MOST):
        stored = _stored(found, writes[start : start + MOST], counts)
        counts["recorded"] += len(stored.new)
        counts["known"] += len(stored.known)
        counts["withheld"] += stored.withheld
    return Outcome(counts, _in_words(counts))


def _stored(agent, some, counts):
    """Store a batch. Raises Refused, which says what of the batches before it was stored."""
    try:
        return recorded.record(agent, some, by=BY)
    except Refused as exc:
        if not sum(counts.values()):
            raise
        words = {"sentence": exc.sentence, "before": _in_words(counts)}
        raise Refused(_("%(sentence)s Before it: %(before)s") % words, reasons=exc.reasons) from exc


def _in_words(counts):
    words = {
        "recorded": ngettext("%(count)s write recorded", "%(count)s writes recorded", counts["recorded"]),
        "known": ngettext("%(count)s already known", "%(count)s already known", counts["known"]),
        "withheld": ngettext(
            "%(count)s withheld because somebody opted out",
            "%(count)s withheld because somebody opted out",
            counts["withheld"],
        ),
    }
    said = [words[name] % {"count": count} for name, count in counts.items() if count or name == "recorded"]
    return f"{', '.join(said)}."
