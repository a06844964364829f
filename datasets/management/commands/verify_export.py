from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.progress import Progress, open_listener
from openclaw_web.commands.verbs import DONE, FAILED, INTERRUPTED, REFUSED, WRONG_USE, Verb
from openclaw_web.errors import Refused

from ...exports import verification
from ...models import DatasetExport


class Command(Verb):
    help = gettext_lazy("Compare the files of exports with what was written.")
    examples = ("verify_export first", "verify_export", "verify_export first --json | jq '.exports[].files[].state'")
    statuses = (DONE, FAILED, WRONG_USE, REFUSED, INTERRUPTED)
    schema = "openclaw-web.export-verification.v1"
    has_progress = True

    def add_arguments(self, parser):
        parser.add_argument(
            "export", nargs="*", metavar="NAME", help=_("name or id of an export; without names, all exports")
        )

    def run(self, export, quiet, **options):
        ready_exports = [_find_ready(name) for name in export] if export else list(_list_ready())
        results = []
        with open_listener(self.stderr, is_quiet=quiet) as listener:
            results = [verification.verify(ready_export, Progress(listener)) for ready_export in ready_exports]
        facts, words = {"exports": results}, "\n".join(line for result in results for line in _format_lines(result))
        reasons = [
            {"id": f"{result['name']}/{file['name']}", "reason": file["reason"]}
            for result in results
            for file in result["files"]
            if file["state"] != verification.INTACT
        ]
        if reasons:
            self.end_partly(facts, words, _("Some files are not what was written."), reasons, status=FAILED)
        self.answer(facts, words or _("No exports yet"))


def _list_ready():
    return DatasetExport.objects.filter(state=DatasetExport.State.READY).order_by("exported_at", "id")


def _find_ready(name):
    ready_export = _list_ready().filter(export_name=name).last() or _list_ready().filter(id=name).first()
    if ready_export is None:
        raise Refused(_("There is no finished export %(name)s. Check the name on the page Exports.") % {"name": name})
    return ready_export


def _format_lines(result):
    words = {
        verification.INTACT: _("intact"),
        verification.CHANGED: _("changed"),
        verification.MISSING: _("missing"),
        verification.UNEXPECTED: _("unexpected"),
    }
    yield f"{result['name']} ({result['export_id']}): {result['message']}"
    for file in result["files"]:
        yield "  ".join(filter(None, ["", words[file["state"]], file["name"], file["reason"]]))
