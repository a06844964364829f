"""`reflection dataset export`: writes samples to training files, also to a place of one's own."""

import sys
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from jobs.progress import Listener, Progress, open_listener
from openclaw_web import amounts
from openclaw_web.commands.groups import Failed, Outcome, WrongUse
from openclaw_web.commands.verbs import BY
from openclaw_web.errors import Refused

from ..exports import jobs, report
from ..exports.export_count import count_export
from ..exports.exports import rehearse
from ..exports.options import Options, build_name
from ..models import DatasetExport
from . import check_scored, destination, export_options

HELP = gettext_lazy("Write samples to training files.")
EXAMPLES = (
    "reflection dataset export --format alpaca -o ./sft-data.jsonl",
    "reflection dataset export --format openai --train-split 0.9 --only-approved",
    "reflection dataset export --format messages --dataset support --release 3 -o ./support-3/",
)


def add_arguments(parser):
    export_options.add_arguments(parser)
    destination.add_arguments(parser)
    parser.add_argument("--quiet", action="store_true", help=_("do not show progress"))


def run(quiet, **options):
    with open_listener(sys.stderr, is_quiet=quiet) as listener:
        return make(options, listener)


def make(options: dict[str, Any], listener: Listener | None) -> Outcome:
    """Make the export that these options describe, or count its rows with `dry_run`.

    Without a name it is named after its format and the time.

    Returns its receipt, which has the paths of copies in `written`. Raises Refused for an export that cannot be made,
    and Failed for one that could not be finished, or not be copied.
    """
    target = None
    if options["output"] is not None:
        if options["dry_run"]:
            raise WrongUse(_("--dry-run writes nothing: leave out --output."))
        target = destination.parse_destination(options["output"], may_replace=options["force"])
    elif options["force"]:
        raise WrongUse(_("Use --force with --output."))
    choices = export_options.read_choices(options)
    choices["name"] = choices["name"] or build_name(options["format"])
    if choices["min_quality"] is not None:
        check_scored("--min-quality")
    if options["dry_run"]:
        choices.pop("name")
        export_count = count_export(Options(**choices))
        export_count.take_numbers(rehearse(Options(**choices), Progress(listener)))
        receipt = report.build_count_receipt(export_count) | {"written": []}
        return Outcome(receipt, report.describe_count(export_count))
    export, job = jobs.make_here(by=BY, listener=listener, **choices)
    if export.state != DatasetExport.State.READY:
        failure = Refused if job.state == job.State.REFUSED else Failed
        raise failure(report.describe_failure(export, job), reasons=export.reasons)
    receipt, words = report.build_receipt(export) | {"written": []}, report.describe_export(export)
    if target is None:
        return Outcome(receipt, words)
    paths = destination.copy_export(export, target)
    receipt["written"] = [str(path) for path in paths]
    return Outcome(receipt, f"{words}\n{_describe_copies(paths, export, target)}")


def _describe_copies(paths, export, target):
    """The copies in the place that the command named, in words."""
    if target.is_folder:
        words = ngettext("%(count)s file written to %(folder)s", "%(count)s files written to %(folder)s", len(paths))
        return words % {"count": len(paths), "folder": target.path}
    counts = export.manifest["counts"]
    rows = [counts[side] for side in ("train", "validation", "test") if counts[side]]
    return "\n".join(
        _("%(rows)s written to %(file)s") % {"rows": amounts.format_amount("rows", count), "file": path}
        for count, path in zip(rows, paths, strict=True)
    )
