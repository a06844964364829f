"""Schemas of datasets, releases and benchmarks in the API."""

from typing import Any, Literal

from pydantic import Field

from openclaw_web.endpoints.schemas import Body, PageQuery, Schema
from openclaw_web.endpoints.table_schemas import table_schema
from openclaw_web.lists.api_query import list_query

from ..exports.api import SampleOptions
from ..exports.options import LONGEST_NAME, SAMPLE_KINDS
from ..models import Benchmark, Dataset, DatasetMember, DatasetVersion, ReleaseSeal
from .dataset_list import DatasetFilters
from .dataset_store import LONGEST_DESCRIPTION
from .release import LONGEST_NOTES

Side = Literal["train", "validation", "test"]


class DatasetOptions(SampleOptions):
    """The samples of each release, and their split."""

    include: list[Literal[SAMPLE_KINDS]] = Field(  # type: ignore[valid-type]
        [], max_length=len(SAMPLE_KINDS), description="what is left out otherwise, as for exports"
    )


class DatasetIn(Body):
    """A new dataset."""

    name: str = Field(max_length=LONGEST_NAME)
    description: str = Field("", max_length=LONGEST_DESCRIPTION)
    options: DatasetOptions = Field(default_factory=DatasetOptions)


class DatasetQuery(list_query(DatasetFilters)):
    pass


class DatasetOut(table_schema(Dataset)):
    pass


class ReleaseIn(Body):
    notes: str = Field("", max_length=LONGEST_NOTES)


class VersionOut(table_schema(DatasetVersion)):
    dataset_id: str
    counts: dict[str, Any] = Field(
        description="`sides`, `statuses`, `excluded` by reason, `judged_meanwhile`, `difference`"
    )
    rules: dict[str, Any] = Field(description="versions of the rules that it follows")


class DatasetDetail(DatasetOut):
    options: dict[str, Any]
    versions: list[VersionOut] = Field(description="the newest 200 releases, the newest first")

    @staticmethod
    def resolve_versions(dataset: Dataset) -> list[DatasetVersion]:
        return list(dataset.versions.order_by("-number")[:200])


class PersonOut(Schema):
    name: str
    exports: list[str]
    last_at: int


class SealOut(table_schema(ReleaseSeal)):
    pass


class VersionDetail(VersionOut):
    options: dict[str, Any]
    seal: SealOut | None = Field(
        description="null: its members were not those of its checksum when it was to be sealed"
    )
    taints: dict[str, int] = Field(description="members that should not be used any more, by reason")
    downloads: list[PersonOut] = Field(description="who created or downloaded exports of this release")
    exports: list[str] = Field(description="ids of its exports, the newest 200")


class MemberQuery(PageQuery):
    side: Side | None = None


class MemberOut(table_schema(DatasetMember)):
    pass


class GroupOut(Schema):
    count: int
    samples: list[str]


class DifferenceOut(Schema):
    before: int = Field(description="number of the earlier release")
    after: int = Field(description="number of the later release")
    added: GroupOut
    gone: GroupOut
    changed: GroupOut
    judged_again: GroupOut
    moved: GroupOut
    same: int


class BenchmarkIn(Body):
    """A benchmark as text: larger files are uploaded on the page."""

    name: str = Field(max_length=LONGEST_NAME)
    text: str = Field(max_length=4_000_000, description="JSONL: an object or a text on each line")


class BenchmarkOut(table_schema(Benchmark)):
    pass


class ReportIn(Body):
    """A dataset, a release or an export to compare with a benchmark."""

    dataset_id: str | None = Field(None, max_length=26)
    version_id: str | None = Field(None, max_length=26)
    export_id: str | None = Field(None, max_length=26)


class ReleaseOfSample(Schema):
    dataset: str
    dataset_id: str
    number: int
    version_id: str
    side: str
    status: str
    taints: list[str]


class RowOfSample(Schema):
    export_id: str
    export: str
    format: str
    side: str
    row: int = Field(description="its number in the file of the side, from 1")


class UsesOut(Schema):
    releases: list[ReleaseOfSample]
    rows: list[RowOfSample]
