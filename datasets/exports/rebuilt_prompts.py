"""System texts rebuilt from the workspace files that the store holds for the moment of a turn.

OpenClaw puts these files into its prompts, and cuts the prompts that it records. A version counts from the time of the
file on: one that is later than the turn is in no text of it.
"""

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from operator import itemgetter

from agents.models import Agent
from findings.models import Source
from guardian import services, versions
from guardian.collectors.workspace import LOWER_CASE
from guardian.detail.line_blame import FileBlame
from guardian.detail.opted_out_lines import has_withheld_lines
from guardian.files import MEMORY_FILES
from guardian.models import ProvenanceRecord, WriteGuardianAudit
from guardian.standing.file_standing import LIMIT, LIMITS
from guardian.standing.files import GUARDED, list_prompt_files
from guardian.standing.provenance import record_from_row
from ledger import consent
from ledger.models import Session

from ..markers import has_open, has_unscanned
from ..redaction import Place, Redactor
from .histories import truncate_text
from .prompt_columns import FLAGGED, NOT_RECORDED, OPTED_OUT, REBUILT, SYSTEM, TOO_LONG, Part, build_empty_part

# The files of ordinary prompts in their order, where no report names them.
USUAL = ("AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "HEARTBEAT.md", MEMORY_FILES[0], LOWER_CASE)
MOST_BYTES = 1_000_000  # of a file: OpenClaw takes 20,000 characters of it
KEPT_FILES, KEPT_PARTS = 256, 64  # texts in memory, each of the longest text of a column at most
HEAD = "[Rebuilt from the workspace files of that time ({names}): the system prompt itself is not recorded.]"
Versions = tuple[tuple[str, str], ...]  # name and id of each


class StoredFiles:
    """The versions of an agent's workspace files, and the texts that they make for prompts."""

    def __init__(self, agent: Agent, redactor: Redactor, characters: int, *, include_flagged: bool):
        self.agent = agent
        self.redactor = redactor
        self.characters = characters
        self.include_flagged = include_flagged
        self.build_part = lru_cache(KEPT_PARTS)(self._build_part)
        self._read_file = lru_cache(KEPT_FILES)(self._read_version)
        self._list_versions = lru_cache(len(USUAL))(self._read_versions)
        self._list_records = lru_cache(len(GUARDED))(self._read_records)

    def list_names(self, session: Session) -> Sequence[str]:
        """The files in the prompts of a session; none where it is not known which there were."""
        return [name for name in list_prompt_files(self.agent, session, USUAL) if name in USUAL]

    def find_versions(self, names: Sequence[str], moment: int) -> Versions:
        """The versions of files at a moment (ms), without files that OpenClaw left out then."""
        candidates = ((name, _find_last(self._list_versions(name), moment)) for name in names)
        return tuple(
            (name, version_id)
            for name, version_id in candidates
            if version_id and not (name in GUARDED and _find_last(self._list_records(name), moment))
        )

    def _build_part(self, file_versions: Versions) -> Part:
        """The column of a system prompt with these files; empty where its texts may not be used."""
        texts = {name: self._read_file(name, version_id) for name, version_id in file_versions}
        known = {name: text for name, text in texts.items() if text and text.strip()}
        if not known:
            return build_empty_part(SYSTEM, OPTED_OUT if None in texts.values() else NOT_RECORDED)
        head = HEAD.format(names=", ".join(known))
        text = "\n\n".join([head, *(f"## {name}\n\n{text.strip()}" for name, text in known.items())])
        if has_unscanned(text):
            return build_empty_part(SYSTEM, NOT_RECORDED)
        if not self.include_flagged and has_open(text.encode(errors="surrogatepass")):
            return build_empty_part(SYSTEM, FLAGGED)
        return Part(text, source=REBUILT) if len(text) <= self.characters else build_empty_part(SYSTEM, TOO_LONG)

    def _read_version(self, name, version_id):
        """The redacted text of a version, as much as OpenClaw takes; None where somebody opted out may have said it."""
        version = versions.find_version(self.agent, version_id)
        if version is None:
            return ""
        try:
            text = services.read_version_bytes(version).decode(errors="replace")
        except services.DamagedVersion:
            return ""
        if consent.read_opted_out() and text.strip() and self._is_withheld(name, version):
            return None
        source = Source.SNAPSHOT if name in MEMORY_FILES else Source.FILE
        text = self.redactor.redact(text, Place(self.agent.agent_id, f"{source.value}:{version_id}"))
        return truncate_text(text, LIMITS.get(name, LIMIT))

    def _is_withheld(self, name, version):
        """Whether a line of a version leads to no turn whose words may be used."""
        writes = WriteGuardianAudit.objects.using(self.agent.db).filter(after_snapshot_id=version.id)
        write = writes.order_by("-created_at").first() if name in MEMORY_FILES else None
        db = self.agent.db
        return write is None or has_withheld_lines(db, [FileBlame(db, name).blame_after(write)])

    def _read_versions(self, name):
        """Time and id of the versions of a file; of one that is too long there is no id."""
        rows = services.find_held_versions(self.agent.db, name).order_by("created_at", "id")
        columns = rows.values_list("created_at", "id", "size_bytes")
        return [(at, version_id if size <= MOST_BYTES else "") for at, version_id, size in columns]

    def _read_records(self, name):
        """Since when OpenClaw's record of a file says, or does not say, that prompts are without it."""
        rows = ProvenanceRecord.objects.using(self.agent.db).filter(file_name=name).order_by("first_seen_at", "id")
        records = ((row.observed_at or row.first_seen_at, record_from_row(row).is_untrusted) for row in rows)
        return sorted(records, key=itemgetter(0))


def _find_last(pairs, moment):
    """The value of the last pair of time and value up to a moment; None before the first."""
    place = bisect_right(pairs, moment, key=itemgetter(0))
    return pairs[place - 1][1] if place else None
