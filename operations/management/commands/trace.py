from pathlib import Path

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.progress import Progress
from jobs.verbs import JobGroup
from openclaw_web.commands.groups import Outcome, WrongUse
from openclaw_web.commands.verbs import BY, DONE, FAILED, INTERRUPTED, PARTLY, REFUSED, WRONG_USE
from openclaw_web.disk import drafts, publication
from openclaw_web.errors import Refused
from openclaw_web.pages import glyphs

from ...traces.export import FORMATS, REASONS, TraceRequest, write_traces
from ...traces.job import describe, record_export


class Export:
    HELP = gettext_lazy("Write whole sessions to files, redacted as training files are.")
    EXAMPLES = (
        "trace export --format atif --agent main --session 7dc772a1 --to session.json",
        "trace export --format hf-sessions --filter 'origin:cron errors' --to traces/",
        "trace export --format scout --agent main --to transcripts/ --json",
    )

    def add_arguments(self, parser):
        parser.add_argument("--format", required=True, choices=list(FORMATS))
        parser.add_argument(
            "--to",
            required=True,
            metavar="FILE|FOLDER/",
            help=_("new file for one session, or new or empty folder for many sessions"),
        )
        parser.add_argument("--agent", default="", metavar="NAME", help=_("only this agent (all agents)"))
        parser.add_argument("--session", default="", metavar="ID", help=_("only this session of the agent"))
        parser.add_argument(
            "--filter", default="", metavar="LINE", help=_("only sessions that fit this filter of the page Sessions")
        )
        parser.add_argument(
            "--include-flagged",
            action="store_true",
            help=_("also sessions with keys and passwords that nobody has judged, redacted"),
        )
        parser.add_argument("--include-pii", action="store_true", help=_("leave personal data as it is"))

    def run(self, listener, to, **options):
        names = ("format", "agent", "session", "filter", "include_flagged", "include_pii")
        request = TraceRequest(**{name: options[name] for name in names})
        if request.session and not request.agent:
            raise WrongUse(_("Name the agent of the session: --agent NAME."))
        request.check(is_admin=True)
        is_file = bool(request.session) and not (to.endswith("/") or Path(to).is_dir())
        target = Path(to).absolute()
        if not target.parent.is_dir():
            raise Refused(_("There is no folder %(folder)s. Create it first.") % {"folder": target.parent})
        if target.exists() and (is_file or not target.is_dir() or any(target.iterdir())):
            raise Refused(_("%(file)s already exists. Choose another name.") % {"file": target})
        with drafts.create_draft(target) as draft:
            receipt = write_traces(request, draft, Progress(listener))
            record_export(request, "", by=BY)
            if not is_file:
                drafts.sync_folder(draft)
                draft.rename(target)
            elif receipt["files"]:
                publication.publish(draft / receipt["files"][0]["name"], target)
        receipt["written"] = str(target) if target.exists() else ""
        lines = [describe(receipt), *filter(None, [receipt["written"]])]
        for reason, group in receipt["left_out"].items():
            first = glyphs.to_one_line(", ".join(place["session"] for place in group["sessions"][:3]))
            lines.append(f"{REASONS[reason]}: {group['count']:,} ({first})")
        if not receipt["left_out"]:
            return Outcome(receipt, "\n".join(lines))
        status = PARTLY if receipt["sessions"] else REFUSED
        return Outcome(receipt, "\n".join(lines), status, _("Some sessions were left out."))


class Command(JobGroup):
    help = gettext_lazy("Export whole sessions for other programs.")
    examples = Export.EXAMPLES
    verbs = {"export": Export()}
    statuses = (DONE, FAILED, WRONG_USE, REFUSED, PARTLY, INTERRUPTED)
    schema = "openclaw-web.trace.v1"
