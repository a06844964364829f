"""The manifest of a backup and its list of files, field by field."""

from typing import Annotated, Literal

import orjson
from django.utils.translation import gettext as _
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from openclaw_web.errors import Refused
from openclaw_web.sqlite import known_migrations

from .backup_format import AGENT, DATABASES, GLOBAL, PATHS, find_role, misplaced

Size = Annotated[int, Field(ge=0, le=2**53)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class FileEntry(Part):
    """One file: its path in the home, its size and its hash."""

    path: Annotated[str, Field(max_length=200)]
    bytes: Size
    sha256: Sha256


class DatabaseEntry(FileEntry):
    """A copy of one database: agent, rows, migrations, and the result of its check."""

    role: Literal["global", "agent"]
    agent: str | None
    schema_version: Size = Field(description="how many migrations of ours it has seen")
    integrity: str
    rows: dict[str, Size]
    migrations: list[str]
    offset: Size = Field(description="where its part of the archive begins")
    head: Annotated[str, Field(pattern=r"^[0-9]{1,18}:[0-9a-f]{64}$")] | None = Field(
        default=None, description="head of the agent's episodic ledger: number and chain value of its last event"
    )

    @property
    def applied_migrations(self) -> set[known_migrations.Migration]:
        return {(app, name) for app, _dot, name in (migration.partition(".") for migration in self.migrations)}

    def refuse_another(self) -> None:
        """Raise Refused when this version does not read the database."""
        if known_migrations.is_other_version(self.applied_migrations):
            is_agents = self.role == AGENT
            known = known_migrations.list_agent_migrations() if is_agents else known_migrations.list_migrations()
            raise Refused(known_migrations.describe_other_version(_("This backup"), self.applied_migrations, known))


class Files(Part):
    """All files that are not databases; their list is a member of its own."""

    count: Size
    bytes: Size
    offset: Size
    list_offset: Size
    list_bytes: Size
    list_sha256: Sha256
    damaged: list[str] = Field(description="artifacts that were damaged before they were backed up; the first 100")
    missing: list[str] = Field(description="artifacts that rows refer to and that were gone before; the first 100")


class Manifest(Part):
    schema_: Literal["openclaw-web.backup.v1"] = Field(alias="schema")
    id: Annotated[str, Field(pattern=r"^[0-9A-Z]{26}$")]
    created_at: Size
    app_version: str
    with_exports: bool
    databases: Annotated[list[DatabaseEntry], Field(min_length=1)]
    files: Files
    releases: dict[str, str] = Field(
        default={}, description="SHA-256 of the seal of each release of a dataset, by its id"
    )
    emptied: list[str] = Field(description="tables and columns whose values were left out")

    @property
    def unpacked_bytes(self) -> int:
        """The size of all content, unpacked."""
        return self.files.bytes + sum(entry.bytes for entry in self.databases)

    def as_json(self) -> bytes:
        return orjson.dumps(self.model_dump(by_alias=True), option=orjson.OPT_INDENT_2)


def parse_manifest(data: bytes) -> Manifest:
    """Parse the manifest in `data`.

    Raises Refused when it is damaged, contradicts itself or has paths outside the home.
    """
    try:
        manifest = Manifest.model_validate_json(data)
    except ValidationError as exc:
        where = ".".join(str(step) for step in exc.errors()[0]["loc"])
        raise Refused(_("The manifest of this archive cannot be read (%(where)s).") % {"where": where}) from exc
    paths = [entry.path for entry in manifest.databases]
    if len(set(paths)) < len(paths):
        raise Refused(_("The manifest lists a database twice."))
    if [entry.role for entry in manifest.databases].count(GLOBAL) != 1:
        raise Refused(_("The manifest lists no global database, or several."))
    for entry in manifest.databases:
        match = PATHS[entry.role].fullmatch(entry.path)
        if not match or (entry.role == AGENT and match[1] != entry.agent):
            raise misplaced(entry.path)
        if entry.integrity != "ok":
            raise Refused(_("%(path)s was damaged when it was backed up.") % {"path": entry.path})
    return manifest


def parse_line(line: bytes) -> FileEntry:
    """Parse one line of the list of files. Raises Refused."""
    try:
        entry = FileEntry.model_validate_json(line)
    except ValidationError as exc:
        raise Refused(_("The list of files in this archive cannot be read.")) from exc
    if find_role(entry.path) in (None, *DATABASES):
        raise misplaced(entry.path)
    return entry
