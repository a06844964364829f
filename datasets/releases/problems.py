"""The problem of releases with members that should not be used any more."""

from collections.abc import Iterable

from django.db.models import Count, Exists, Min, OuterRef
from django.utils.translation import gettext_lazy

from openclaw_web.amounts import ngettext_lazy
from problems.kinds import BY_COUNT, Finding, Kind, Link

from ..models import DatasetVersion, VersionTaint

MOST = 200


def check_releases() -> Iterable[Finding]:
    """Find the latest release of each dataset that has tainted members."""
    released = DatasetVersion.objects.filter(state=DatasetVersion.State.RELEASED)
    later = released.filter(dataset_id=OuterRef("dataset_id"), number__gt=OuterRef("number"))
    latest = released.filter(~Exists(later)).select_related("dataset").order_by("-released_at")[:MOST]
    for version in latest:
        row = VersionTaint.objects.filter(version=version).aggregate(
            count=Count("sample_id", distinct=True), since=Min("noted_at")
        )
        if row["count"]:
            facts = {"count": row["count"], "name": version.dataset.name, "number": version.number}
            yield Finding(
                version.id,
                {**facts, "dataset": version.dataset_id},
                level=row["count"],
                since=row["since"],
            )


RELEASE_TAINTED = Kind(
    label=gettext_lazy("Release with members that should not be used"),
    severity=72,
    describe=ngettext_lazy(
        "%(count)s member of release %(number)s of %(name)s was removed, opted out, rolled back, rejected or changed.",
        "%(count)s members of release %(number)s of %(name)s were removed, opted out, rolled back, rejected, changed.",
        BY_COUNT,
    ),
    link=lambda facts: Link(
        gettext_lazy("View"), "datasets:version_detail", (str(facts["dataset"]), str(facts["number"]))
    ),
    check=check_releases,
    role="labeller",
)
