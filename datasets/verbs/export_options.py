"""The options of `openclaw-web export` and `openclaw-web reflection dataset export`, declared once for both."""

from dataclasses import fields
from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from openclaw_web.commands.groups import WrongUse
from openclaw_web.errors import Refused

from ..dedup.split_plan import DUPLICATES, ONE
from ..exports.histories import EDITED, HISTORIES
from ..exports.options import BY_SESSION, FORMATS, SPLITS, TASKS, Options
from ..exports.turns import KEEP, LIST, PARALLEL, TOOL_CALLS
from ..models import Benchmark
from ..releases import dataset_store


def add_arguments(parser: CommandParser) -> None:
    """Add the options that choose samples, rows and their split."""
    parser.add_argument("--format", required=True, choices=[name.value for name in FORMATS])
    parser.add_argument("--task", default="reply", choices=[name.value for name in TASKS])
    parser.add_argument("--name", help=_("name of the export"))
    parser.add_argument(
        "--dry-run", action="store_true", help=_("count how many samples fit these options; export nothing")
    )
    # Which samples
    reviewed = parser.add_mutually_exclusive_group()
    reviewed.add_argument(
        "--all", action="store_true", help=_("also samples not reviewed yet; rejected samples only in kto")
    )
    reviewed.add_argument("--only-approved", action="store_true", help=_("only approved samples (the default)"))
    parser.add_argument("--agent", help=_("only samples of this agent"))
    parser.add_argument(
        "--sample-filter", default="", metavar="LINE", help=_("only samples that fit this filter of the page Samples")
    )
    parser.add_argument("--min-quality", type=float, metavar="SCORE", help=_("only samples with at least this score"))
    parser.add_argument(
        "--dataset", metavar="NAME", help=_("only the samples of this dataset's latest release, on their sides")
    )
    parser.add_argument("--release", type=int, metavar="N", help=_("with --dataset: of the release with this number"))
    parser.add_argument(
        "--benchmark", metavar="NAME", help=_("leave out rows that contain questions of this benchmark")
    )
    _add_split(parser)
    # The content of a row
    parser.add_argument(
        "--history",
        choices=HISTORIES,
        default=EDITED,
        help=_("what stands before a reply: approved turns with edits, one row per session, or turns not learned"),
    )
    # Tool calls
    parser.add_argument(
        "--tool-calls",
        choices=TOOL_CALLS,
        default=KEEP,
        help=_(
            "tool calls and results: in the rows, or left out with the turns whose reply rests on them; "
            "for Alpaca, which leaves them out, also as input (keep)"
        ),
    )
    parser.add_argument(
        "--parallel-calls",
        choices=PARALLEL,
        default=LIST,
        help=_("parallel tool calls as one list, or split, one after the other, each with its result (list)"),
    )
    _add_included(parser)


def read_choices(options: dict[str, Any]) -> dict[str, Any]:
    """The choices of an export, as `jobs.make_here` takes them, and its `name`.

    Raises WrongUse for options that do not go together, and Refused for a release or benchmark that does not exist.
    """
    names = ["name", *(field.name for field in fields(Options))]
    choices = {name: options[name] for name in names if name in options}
    choices |= {"only_approved": not options["all"], "train_split": options["split"]}
    choices["release"] = _find_release(options["dataset"], options["release"])
    choices["benchmark"] = _find_benchmark(options["benchmark"])
    return choices


def _add_split(parser):
    """Add the options of the split."""
    parser.add_argument(
        "--split",
        "--train-split",
        type=float,
        default=0.8,
        metavar="SHARE",
        help=_("share used for training, 0 to 1 (0.8)"),
    )
    parser.add_argument(
        "--validation-split", type=float, default=0.0, metavar="SHARE", help=_("share used for validation (0)")
    )
    parser.add_argument(
        "--split-by", choices=SPLITS, default=BY_SESSION, help=_("split by sessions, or by time (session)")
    )
    parser.add_argument(
        "--split-day",
        metavar="DAY",
        help=_("with --split-by time: sessions that ended before this UTC day are for training"),
    )
    parser.add_argument(
        "--duplicates",
        choices=DUPLICATES,
        default=ONE,
        help=_("samples that say the same, or nearly: one of each group, or all, in the same part of the split (one)"),
    )
    for name, words in (
        ("--max-per-session", _("the N best samples of each session")),
        ("--max-per-tool", _("for each tool, the N best samples of turns that called it")),
        ("--max-per-twins", _("N of the samples that say the same; replaces --duplicates")),
    ):
        parser.add_argument(name, type=int, metavar="N", help=words)
    parser.add_argument("--seed", default="0", help=_("the same seed and samples give the same split (0)"))


def _add_included(parser):
    """Add the options that include samples and texts which are otherwise left out."""
    parser.add_argument(
        "--include",
        type=lambda text: tuple(text.split(",")),
        default=(),
        metavar="KIND,...",
        help=_(
            "also what is otherwise left out: injected (turns that OpenClaw started itself, and silent replies), "
            "cut_off (replies), unrecognized (messages in lines like OpenClaw's own), interrupted (answers that ended "
            "with a tool call), pictures (questions with a picture or file), rolled_back (writes, and their turns), "
            "unexplained (corrected decisions without a reason, in preference pairs), "
            "flagged (keys or passwords that nobody has judged, redacted; logged)"
        ),
    )
    parser.add_argument(
        "--rebuild-system",
        action="store_true",
        help=_("where the system prompt is not known, rebuild it from the stored workspace files of that moment"),
    )
    parser.add_argument(
        "--weights",
        action="store_true",
        help=_("raw, csv and parquet: a column weight, 1 / the samples of the session in the export"),
    )
    parser.add_argument(
        "--include-pii", action="store_true", help=_("personal data as it stands, not redacted (logged)")
    )


def _find_release(dataset, number):
    """The id of the release that these options name; None: no release."""
    if dataset is None:
        if number is not None:
            raise WrongUse(_("Use --release with --dataset."))
        return None
    return dataset_store.find_version(dataset_store.find_dataset(dataset), number).id


def _find_benchmark(name):
    if name is None:
        return None
    benchmark_id = Benchmark.objects.filter(name=name).values_list("id", flat=True).first()
    if benchmark_id is None:
        raise Refused(_("There is no benchmark %(name)s. Add it on the page Benchmarks.") % {"name": name})
    return benchmark_id
