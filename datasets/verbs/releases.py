"""`reflection dataset release`, `verify` and `diff`: numbered releases of a dataset."""

import sys

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.progress import Progress, open_listener
from openclaw_web.commands.groups import Outcome, WrongUse
from openclaw_web.commands.verbs import BY, FAILED
from openclaw_web.errors import Refused
from openclaw_web.pages import glyphs

from ..models import DatasetVersion
from ..releases import dataset_store, differences, release, verification


class ReleaseVerb:
    """The verb `release`: the next numbered version of a dataset."""

    HELP = gettext_lazy("Release the next version of a dataset: a number, its members and their sides.")
    EXAMPLES = (
        'reflection dataset release support --create --notes "First release"',
        "reflection dataset release support",
    )

    def add_arguments(self, parser):
        _add_name(parser)
        parser.add_argument("--create", action="store_true", help=_("create the dataset first"))
        parser.add_argument("--notes", default="", help=_("what this release is about"))
        parser.add_argument(
            "--anew", type=int, metavar="N", help=_("release anew from the members of release N, which was changed")
        )
        parser.add_argument("--quiet", action="store_true", help=_("do not show progress"))

    def run(self, name, create, notes, anew, quiet, **options):
        dataset = dataset_store.create_dataset(name, by=BY) if create else dataset_store.find_dataset(name)
        try:
            with open_listener(sys.stderr, is_quiet=quiet) as listener:
                version = release.release_here(dataset, by=BY, notes=notes, remade_from=anew, listener=listener)
        except Refused:
            if create and not dataset.versions.exists():
                dataset.delete()  # nothing is left behind, so that the same command works once samples fit
            raise
        return Outcome({"release": _to_json(dataset, version)}, f"{dataset.name}: {release.describe_release(version)}")


class VerifyVerb:
    """The verb `verify`: compares a release with what was released."""

    HELP = gettext_lazy("Compare a release with what was released, and with its samples as they are now.")
    EXAMPLES = ("reflection dataset verify support", "reflection dataset verify support --number 3 --json")

    def add_arguments(self, parser):
        _add_name(parser)
        parser.add_argument("--number", type=int, metavar="N", help=_("number of the release (the latest)"))
        parser.add_argument("--quiet", action="store_true", help=_("do not show progress"))

    def run(self, name, number, quiet, **options):
        version = dataset_store.find_version(dataset_store.find_dataset(name), number)
        with open_listener(sys.stderr, is_quiet=quiet) as listener:
            progress = Progress(listener)
            result = verification.verify(version, lambda count: progress.update(count, version.member_count))
        words = f"{name} {version.number}: {result['message']}"
        lines = [words, *(_describe_difference(row) for row in result["differences"])]
        if result["is_intact"]:
            return Outcome({"verification": result}, "\n".join(lines))
        return Outcome({"verification": result}, "\n".join(lines), FAILED, result["message"])


class DiffVerb:
    """The verb `diff`: what changed between two releases."""

    HELP = gettext_lazy("Show what changed between two releases of a dataset.")
    EXAMPLES = ("reflection dataset diff support", "reflection dataset diff support --from 1 --to 3")

    def add_arguments(self, parser):
        _add_name(parser)
        parser.add_argument("--from", type=int, metavar="N", dest="first", help=_("earlier release (the one before)"))
        parser.add_argument("--to", type=int, metavar="N", dest="last", help=_("later release (the latest)"))

    def run(self, name, first, last, **options):
        dataset = dataset_store.find_dataset(name)
        later = dataset_store.find_version(dataset, last)
        earlier = dataset_store.find_version(dataset, first) if first is not None else _find_before(dataset, later)
        if earlier.number >= later.number:
            raise WrongUse(_("--from must be an earlier release than --to."))
        result = differences.compare(earlier, later)
        return Outcome({"difference": result}, "\n".join(_format_differences(dataset, result)))


def _add_name(parser):
    parser.add_argument("name", metavar="NAME", help=_("name of the dataset"))


def _to_json(dataset, version):
    names = ("id", "number", "member_count", "checksum", "counts", "notes", "remade_from", "released_by", "released_at")
    return {"dataset": dataset.name} | {name: getattr(version, name) for name in names}


def _find_before(dataset, version):
    released = dataset.versions.filter(state=DatasetVersion.State.RELEASED, number__lt=version.number)
    before = released.order_by("-number").first()
    if before is None:
        words = {"name": dataset.name, "number": version.number}
        raise Refused(_("The dataset %(name)s has no release before release %(number)s.") % words)
    return before


def _describe_difference(row):
    subject = glyphs.to_one_line(row["sample"] or _("members"))
    now = row["now"] or "–"
    return f"  {subject}: {row['kind']}: {row['before'] or '–'} → {now}"


def _format_differences(dataset, result):
    words = {"name": dataset.name, "first": result["from"]["number"], "last": result["to"]["number"]}
    yield _("%(name)s, release %(first)s to release %(last)s") % words
    for label, kind in (
        (_("added"), differences.ADDED),
        (_("removed"), differences.GONE),
        (_("changed"), differences.CHANGED),
        (_("judged again"), differences.JUDGED),
        (_("on another side"), differences.MOVED),
    ):
        group = result[kind]
        yield f"  {label}: {group['count']:,}"
        yield from (f"    {glyphs.to_one_line(sample)}" for sample in group["samples"])
    yield "  " + _("the same: %(count)s") % {"count": f"{result['same']:,}"}
