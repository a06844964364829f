"""What a file should hold where a write was wrong: what that very file held then, with the fact that is right."""

import re
from dataclasses import dataclass
from typing import Any

from agents import databases
from guardian import file_bytes, services
from guardian.corrections import correction_store
from guardian.corrections.correction_store import WriteState
from guardian.models import BehaviorCorrection, WriteGuardianAudit
from ledger import consent
from openclaw_web.errors import Refused

from ..exporters import writes
from ..exporters.writes import WRITE, WRITTEN
from ..models import DatasetSample
from ..review import parts

LONGEST_FILE = 100_000  # characters: all of them are on the screen of whoever judges it
BULLET = re.compile(r"^([-*+]) ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class OriginalWrite:
    """A write as it was. `before` and `after` are its file; None: no file, or nothing was written."""

    at: int
    said: WriteState
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class RightFile:
    """The file that a correction names: what it held at the moment of the write, and what it should hold.

    None where nobody knows; `before` is None also where there was no file.
    """

    before: str | None = None
    content: str | None = None


def find_right_file(db: str, write: OriginalWrite, said: WriteState) -> RightFile:
    """What the file of `said` should hold. Of a file that was not written, its version at that moment counts."""
    if said.file != write.said.file:
        before = _read_version(db, said.file, write.at)
        if before is None or said.status != WRITTEN:
            return RightFile(before, before)
        return RightFile(before, add_fact(before, said.fact))
    if said.status != WRITTEN:
        return RightFile(write.before, write.before or "")
    if write.after is None:
        return RightFile(write.before, add_fact(write.before or "", said.fact))
    if said.fact == write.said.fact:
        return RightFile(write.before, write.after)
    is_its_line = write.after.count(write.said.fact) == 1 and write.said.fact not in (write.before or "")
    replaced = write.after.replace(write.said.fact, said.fact) if is_its_line else None
    return RightFile(write.before, replaced or add_fact(write.before or "", said.fact))


def add_fact(content: str, fact: str) -> str:
    """A file with a fact as its last line, spelled as its other lists are; one that says it already stays as it is."""
    fact = writes.join_lines(fact)
    if fact in content:
        return content
    bullets = BULLET.findall(content)
    start = content if not content or content.endswith("\n") else f"{content}\n"
    return f"{start}{bullets[-1] if bullets else '-'} {fact}\n"


def read_correction(sample: DatasetSample) -> BehaviorCorrection | None:
    """The correction that stands of the write of a sample; None: none, or the agent's store cannot be read."""
    db = find_alias(sample)
    return next(iter(correction_store.find_by_write(db, sample.audit_id)), None) if db and sample.audit_id else None


def find_sample_right_file(sample: DatasetSample, said: WriteState) -> RightFile:
    """The same of a sample that is a write."""
    body, db = sample.body, find_alias(sample)
    asked, done = writes.read_request(body), writes.read_answer(body)
    was = WriteState(done.status if done else "", asked.fact, asked.file)
    audit = WriteGuardianAudit.objects.using(db).filter(id=sample.audit_id).only("created_at").first() if db else None
    if said.file != asked.file and audit is None:
        return RightFile()
    write = OriginalWrite(audit.created_at if audit else 0, was, asked.content, done.content if done else None)
    return find_right_file(db or "", write, said)


def suggest_content(sample: DatasetSample) -> str | None:
    """The whole file that the form of a correction begins with; None where nobody knows what that file held."""
    body, output = sample.body, parts.parse_corrected(sample.guardian_corrected_output)
    if body.get("type") != WRITE:
        return None
    answer = writes.read_corrected_answer(output, body)
    if answer is None:
        return body.get("writtenContent") or body.get("currentFileContent")
    if answer.content and not writes.find_misfit(answer, body):
        return answer.content
    said = WriteState(answer.status, _right_fact(sample, answer), answer.file)
    return find_sample_right_file(sample, said).content


def _right_fact(sample, answer) -> str:
    """The fact of the correction that says the same; without one that of the write."""
    row = read_correction(sample)
    if row and (row.corrected_status, row.corrected_target_file) == (answer.status, answer.file):
        return row.corrected_candidate_fact or ""
    known: Any = sample.body.get("userCorrection")
    known = known if isinstance(known, dict) else {}
    is_same = (known.get("correctedDecision"), known.get("correctedFile")) == (answer.status, answer.file)
    return (is_same and known.get("correctedFact")) or writes.read_request(sample.body).fact


def find_alias(sample: DatasetSample) -> str | None:
    """The store of the agent of a sample; None: it is not there, or cannot be read."""
    return databases.find_alias(sample.agent_id)


def _read_version(db, name, at):
    """What a file held at a moment; None where nobody knows, or a line may be of somebody who has opted out."""
    if not name or consent.read_opted_out():
        return None
    version = services.find_held_versions(db, name).filter(created_at__lte=at).order_by("-created_at", "-id").first()
    try:
        text = file_bytes.read_version_bytes(version).decode() if version else None
    except (Refused, UnicodeDecodeError):
        return None
    return None if text is None or len(text) > LONGEST_FILE or "\0" in text else text
