"""`reflection dataset collect` and `what-if`: collects samples by a strategy, or counts what another one would do."""

import sys

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from gate.verbs import parse_moment
from jobs.progress import open_listener
from openclaw_web.commands.groups import Outcome
from openclaw_web.commands.verbs import BY

from ..collection import job, runs, strategies
from ..collection.words import OUTCOMES


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
