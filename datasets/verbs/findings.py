"""`reflection dataset findings`: lists values that were found, judges one, or scans for new ones."""

import sys

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.models import Agent
from jobs import services as jobs
from jobs.progress import open_listener
from jobs.verbs import read_job_result
from openclaw_web import clock
from openclaw_web.commands.groups import Outcome, check_limit
from openclaw_web.commands.verbs import BY
from openclaw_web.detectors.spans import KINDS
from openclaw_web.errors import Refused
from openclaw_web.pages import glyphs

from ..finding_values import value_list, verdicts
from ..models import FindingValue, FindingVerdict

HELP = gettext_lazy("List personal data and secrets that were found, judge a value, or scan for new ones.")
EXAMPLES = (
    "reflection dataset findings --state open --kind email",
    "reflection dataset findings --dismiss 0123456789abcdef0123456789abcdef",
    "reflection dataset findings --scan",
)
VERDICTS = {"confirm": FindingVerdict.Verdict.CONFIRMED, "dismiss": FindingVerdict.Verdict.DISMISSED}


def add_arguments(parser):
    act = parser.add_mutually_exclusive_group()
    act.add_argument("--scan", action="store_true", help=_("first scan the texts that were not scanned yet"))
    act.add_argument("--confirm", metavar="HASH", help=_("say that this value is what was found"))
    act.add_argument("--dismiss", metavar="HASH", help=_("say that this value is harmless: exports keep it"))
    parser.add_argument("--notes", default="", help=_("a note on the verdict"))
    parser.add_argument("--state", choices=FindingValue.State.values, help=_("only values with this state"))
    parser.add_argument("--kind", choices=KINDS, help=_("only values of this kind"))
    parser.add_argument("--agent", help=_("only values in the texts of this agent"))
    parser.add_argument("--limit", "-l", type=int, default=20, metavar="N", help=_("how many, 1 to 1000 (20)"))
    parser.add_argument("--quiet", action="store_true", help=_("do not show progress"))


def run(scan, confirm, dismiss, notes, state, kind, agent, limit, quiet, **options):
    check_limit(limit)
    named = {"confirm": confirm, "dismiss": dismiss}
    if chosen := next((name for name, value_hash in named.items() if value_hash is not None), None):
        return _judge(named[chosen], VERDICTS[chosen], notes)
    # Raises Refused for an agent that does not exist: "No findings." would hide a typing mistake.
    if agent is not None and not Agent.objects.filter(agent_id=agent).exists():
        raise Refused(_("There is no agent %(name)s.") % {"name": glyphs.to_one_line(agent)})
    scanned = _scan(is_quiet=quiet) if scan else None
    listing = value_list.fits(None, state=state, kind=kind, agent=agent or "")
    values = listing.first(limit)
    texts = value_list.read_values([value.value_hash for value in values])
    lines = [line for value in values for line in _format_lines(value, texts)] or [_("No findings.")]
    unscanned, lag = value_list.describe_lag()
    head = [scanned["message"]] if scanned else []
    receipt = {"findings": [_to_json(value, texts) for value in values], "unscanned": unscanned, "scan": scanned}
    return Outcome(receipt, "\n".join([*head, *lines, lag]))


def _judge(value_hash, verdict, notes):
    value = FindingValue.objects.filter(value_hash=value_hash).first()
    if value is None:
        raise Refused(_("There is no finding %(hash)s.") % {"hash": glyphs.to_one_line(value_hash)})
    scope = FindingVerdict.Scope.VALUE
    verdicts.decide(verdict, scope=scope, value_hash=value_hash, rule=value.rule, by=BY, notes=notes)
    value.refresh_from_db()
    texts = value_list.read_values([value_hash])
    return Outcome({"finding": _to_json(value, texts)}, "\n".join(_format_lines(value, texts)))


def _scan(*, is_quiet):
    """Run the scan as a job in this process, and return its counts."""
    with open_listener(sys.stderr, is_quiet=is_quiet) as listener:
        return read_job_result(jobs.run_now("findings_scan", {}, by=BY, listener=listener))


def _to_json(value, texts):
    names = ("value_hash", "kind", "rule", "confidence", "state", "places", "agents", "first_found_at")
    facts = {name: getattr(value, name) for name in (*names, "decided_by", "decided_at")}
    return facts | {"shown": texts.get(value.value_hash)}


def _format_lines(value, texts):
    """Yield a value in two lines: time, state, kind, hash; the value and its places."""
    yield f"{clock.format_utc(value.first_found_at)}  {value.state:<9}  {value.kind:<11}  {value.value_hash}"
    words = {
        "value": glyphs.to_one_line(texts.get(value.value_hash) or "–"),
        "places": f"{value.places:,}",
        "agents": f"{value.agents:,}",
        "rule": glyphs.to_one_line(value.rule),
    }
    yield "  " + _("%(value)s | places: %(places)s, agents: %(agents)s, rule: %(rule)s") % words
