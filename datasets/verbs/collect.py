"""`reflection dataset collect` and `what-if`: collects samples by a strategy, or counts what another one would do."""

import sys

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from gate.verbs import parse_moment
from jobs.progress import open_listener
from openclaw_web.commands.groups import Outcome, WrongUse
from openclaw_web.commands.verbs import BY

from ..collection import job, runs, strategies, what_if
from ..collection.words import ANSWERS, OUTCOMES, SIDES


class CollectVerb:
    """The verb `collect`."""

    HELP = gettext_lazy("Collect samples from turns, by the strategy in force.")
    EXAMPLES = (
        "reflection dataset collect --dry-run",
        "reflection dataset collect --since 2026-03-01 --auto-approve",
    )

    def add_arguments(self, parser):
        parser.add_argument("--since", metavar="TIME", help=_("turns at or after this ISO 8601 time"))
        parser.add_argument("--until", metavar="TIME", help=_("turns before this ISO 8601 time"))
        parser.add_argument("--session", "-s", default="", metavar="ID", help=_("only turns of this session"))
        parser.add_argument("--agent", default="", help=_("only turns of this agent"))
        parser.add_argument(
            "--type", "-t", choices=runs.TYPES, default=runs.ALL, help=_("all, or only right or wrong decisions")
        )
        parser.add_argument(
            "--auto-approve", action="store_true", help=_("approve samples where the strategy has no doubt")
        )
        parser.add_argument("--strategy", default=strategies.DEFAULT, metavar="NAME", help=_("name (%(default)s)"))
        parser.add_argument("--dry-run", action="store_true", help=_("only count: create and change no sample"))
        parser.add_argument("--quiet", action="store_true", help=_("do not show progress"))

    def run(self, since, until, session, agent, type, auto_approve, strategy, dry_run, quiet, **_more):
        options = {"since": parse_moment(since, "--since"), "until": parse_moment(until, "--until")}
        options |= {"session": session, "agent": agent, "type": type, "auto_approve": auto_approve}
        with open_listener(sys.stderr, is_quiet=quiet) as listener:
            run = job.run_here(by=BY, listener=listener, is_dry=dry_run, strategy=strategy, **options)
        funnel = runs.build_funnel(run.counts)
        lines = [job.describe_run(run), *(f"  {OUTCOMES[name]}: {count:,}" for name, count in run.counts.items())]
        receipt = {"run": run.id, "strategy": str(run.strategy), "dry_run": run.is_dry, **funnel}
        return Outcome({"collection": receipt}, "\n".join(lines))


class WhatIfVerb:
    """The verb `what-if`."""

    HELP = gettext_lazy("Count what other switches and thresholds would do with the turns that runs checked.")
    EXAMPLES = (
        "reflection dataset what-if --set minQualityScore=0.6 --set noUserObjection=false",
        "reflection dataset what-if --set turns=true --save default",
    )

    def add_arguments(self, parser):
        parser.add_argument(
            "--set", action="append", default=[], metavar="NAME=VALUE", help=_("a switch or threshold; may be repeated")
        )
        parser.add_argument("--save", metavar="NAME", help=_("store them as the next version of this strategy"))

    def run(self, set, save, **_more):
        changes = dict(_parse_change(text) for text in set)
        before = strategies.find_in_force()
        result = what_if.compare(before.criteria, strategies.change_criteria(before.criteria, changes))
        receipt, lines = {"strategy": str(before), **result.to_json()}, [*_format_result(result)]
        if save:
            stored = strategies.save_version(changes, by=BY, name=save)
            receipt["saved"] = str(stored)
            lines.append(_("Saved: %(name)s") % {"name": stored})
        return Outcome({"what_if": receipt}, "\n".join(lines))


def _parse_change(text):
    name, equals, value = text.partition("=")
    words = {"true": True, "false": False}
    if not equals:
        raise WrongUse(_("--set takes a name and a value, such as minQualityScore=0.6."))
    try:
        return name, words[value] if value in words else float(value) if "." in value else int(value)
    except ValueError as exc:
        raise WrongUse(_("%(value)s is neither true, false nor a number.") % {"value": value}) from exc


def _format_result(result):
    for side, words in SIDES.items():
        yield f"{words}: {result.before[side]:,} → {result.after[side]:,}"
    for change in result.examples:
        reasons = (f"{name}: {ANSWERS[first]} → {ANSWERS[then]}" for name, first, then in change.reasons)
        place = f"{change.row.agent_id} {change.row.session_id} {change.row.turn_number}"
        yield f"  {place}: {SIDES[change.before]} → {SIDES[change.after]} ({', '.join(reasons)})"
