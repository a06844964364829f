import sys
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web import reasons
from openclaw_web.commands.verbs import DONE, FAILED, INTERRUPTED, REFUSED, WRONG_USE, Verb

from ...staging import opt_outs, stage


class Command(Verb):
    help = gettext_lazy("Copy what imports may read of an OpenClaw folder, for a site on another machine.")
    examples = (
        "stage --to ~/openclaw-staged",
        "stage --to ~/openclaw-staged --opted-out ~/opted-out.txt",
        "stage --to /srv/staged --source /srv/openclaw --json",
    )
    statuses = (DONE, FAILED, WRONG_USE, REFUSED, INTERRUPTED)
    schema = "openclaw-web.stage.v1"
    needs_database = works_in_home = False

    def add_arguments(self, parser):
        add = parser.add_argument
        add(
            "--to", metavar="DIR", required=True, help=_("the folder of the copy: a new one, or that of an earlier run")
        )
        add("--source", metavar="HOME", help=_("the OpenClaw folder (OPENCLAW_STATE_DIR, else ~/.openclaw)"))

        add(
            "--opted-out",
            metavar="FILE",
            help=_("ids and names of people to leave out, one a line; - = standard input"),
        )

    def run(self, to, source, opted_out, **options):
        names = self._read_names(opted_out) if opted_out else None
        receipt = stage.run(Path(source or settings.STATE_DIR).expanduser(), Path(to).expanduser(), names)
        self.answer(receipt, stage.in_words(receipt))

    def _read_names(self, file):
        try:
            if file == "-":
                return opt_outs.read_list(sys.stdin.buffer)
            with Path(file).expanduser().open("rb") as opened:
                return opt_outs.read_list(opened)
        except OSError as exc:
            words = {"file": file, "reason": reasons.describe_os_error(exc)}
            self.fail(_("%(file)s was not read: %(reason)s.") % words, REFUSED)
