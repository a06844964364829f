"""`reflection dataset list`: finds and prints samples."""

from dataclasses import replace

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web import clock
from openclaw_web.amounts import format_plural
from openclaw_web.commands.groups import Outcome, WrongUse, check_limit
from openclaw_web.lists.paging import Term
from openclaw_web.pages import glyphs

from ..models import DatasetSample, SampleQuerySet
from ..sample_list import SAMPLES, build_rows
from ..sample_order import Filters
from ..words import UNDONE
from . import check_scored

HELP = gettext_lazy("List samples, newest first.")
EXAMPLES = ("reflection dataset list --needs-review", "reflection dataset list --status approved --quality-above 0.8")
NEEDS_REVIEW = DatasetSample.Status.NEEDS_REVIEW
FIELDS = (*SAMPLES.fields, "quality_factors", "collection_strategy")
WIDTH = 152


def add_arguments(parser):
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--status", choices=DatasetSample.Status.values, help=_("only samples with this status"))
    which.add_argument(
        "--needs-review", dest="status", action="store_const", const=NEEDS_REVIEW, help=_("only samples to be reviewed")
    )
    parser.add_argument("--type", "-t", choices=DatasetSample.Type.values, help=_("only samples of this type"))
    parser.add_argument("--agent", default="", help=_("only samples of this agent"))
    parser.add_argument("--session", "-s", default="", metavar="ID", help=_("only samples of this session"))
    parser.add_argument("--quality-above", type=float, metavar="SCORE", help=_("only samples with a higher score"))
    parser.add_argument("--limit", "-l", type=int, default=10, metavar="N", help=_("how many, 1 to 1000 (10)"))


def run(status, type, agent, session, quality_above, limit, **options):
    check_limit(limit)
    filters = Filters(status=status or "", type=type or "", agent=agent, session=session)
    rows = find_samples(filters, quality_above, limit)
    lines = [line for row in rows for line in _format_lines(row, filters)]
    receipt = [{name: row[name] for name in FIELDS} for row in rows]
    facts = {"samples": receipt}
    if quality_above is not None:
        facts["unscored"] = filters.narrow(DatasetSample.objects.filter(quality_score=None)).count()
        if facts["unscored"]:
            sentence = format_plural(
                "%(count)s sample without a score is left out.",
                "%(count)s samples without a score are left out.",
                facts["unscored"],
            )
            lines.append(sentence)
    return Outcome(facts, "\n".join(lines) or _("No samples."))


def find_samples(filters: Filters, quality_above: float | None, limit: int) -> list[dict]:
    """The first `limit` samples that fit, as dictionaries, newest first; texts are cut after 200 characters.

    Raises WrongUse for a score other than 0 to 1, and Refused while no sample has one.
    """
    terms = []
    if quality_above is not None:
        if not 0 <= quality_above <= 1:
            raise WrongUse(_("--quality-above must be 0 to 1."))
        check_scored("--quality-above")
        terms = [Term("quality_score", "gt", quality_above)]
    listing = filters.listing(DatasetSample.objects.all(), terms)
    columns = dict.fromkeys((*SampleQuerySet.READ, *FIELDS))
    return replace(listing, rows=listing.rows.for_reading().values(*columns)).first(limit)


def _format_lines(row, filters):
    """Return a sample in two lines: time, status, type and id; then its texts."""
    (texts,) = build_rows([row], filters)
    at, status = clock.format_utc(row["created_at"]), row["annotation_status"] or UNDONE
    score = "" if row["quality_score"] is None else f"  {row['quality_score']:.2f}"
    yield f"{at}  {status:<13}  {row['sample_type']:<23}  {glyphs.to_one_line(row['id'])}{score}"
    yield f"  {_clip(texts['title'])} → {_clip(texts['reply'] or row['decision'] or '–')}"


def _clip(text):
    return text if len(text) <= WIDTH else f"{text[:WIDTH]}…"
