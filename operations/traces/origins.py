"""The outcomes of the turns of a session: decisions, writes and verdicts, read for many turns at once."""

from collections import defaultdict
from typing import Any

from django.conf import settings
from django.db.models import Q

from agents.models import Agent
from datasets.json_texts import clean_value
from datasets.models import DatasetSample, SampleLabel
from datasets.redaction import NOWHERE, Place, Redactor
from gate.models import MemoryGateDecision
from guardian.models import ProvenanceRecord, WriteGuardianAudit
from ledger.models import Session

from ..chain import chains

TURNS = 200  # that are read together
MOST = 5_000  # rows of a kind, of these turns
STEPS = ("decisions", "writes", "verdicts")
WRITE = ("id", "turn_id", "decision_id", "target_file", "status", "reason", "created_at", "after_snapshot_id")
VERDICT = ("id", "sample_id", "status", "reason", "gate_label", "guardian_label", "labelled_at")
SAMPLE = ("id", "turn_id", "decision_id", "audit_id")

Chain = dict[str, list[dict[str, Any]]]


class TurnChains:
    """The chains of a session's turns, in the order in which they are read."""

    def __init__(self, agent: Agent, session: Session, redactor: Redactor):
        self.agent = agent
        self.session = session
        self.redactor = redactor
        self.forget()

    def forget(self) -> None:
        """Begin again with the first turn."""
        self._first = self._last = -1
        self._chains: dict[int, Chain] = {}

    def read(self, number: int) -> Chain | None:
        """The chain of a turn; None when nothing came of it."""
        if not self._first <= number <= self._last:
            turns = self.session.turns.filter(turn_number__gte=number).order_by("turn_number")
            numbers = dict(turns.values_list("id", "turn_number")[:TURNS])
            self._first, self._last = number, max(numbers.values(), default=number)
            self._chains = self._read_chains(numbers)
        return self._chains.get(number)

    def _read_chains(self, numbers):
        """The chains by the number of the turn. `numbers`: those of turns by their id."""
        db, built = self.session._state.db, defaultdict(lambda: {step: [] for step in STEPS})
        links = chains.follow_turns(self.agent.agent_id, db, numbers)
        of_decision, of_write = {}, {}
        decisions = MemoryGateDecision.objects.using(db).filter(turn_id__in=numbers).order_by("created_at", "id")
        for decision in decisions[:MOST]:
            of_decision[decision.id] = numbers[decision.turn_id]
            if "gate" not in settings.DISABLED:
                built[numbers[decision.turn_id]]["decisions"].append(self._describe_decision(decision))
        writes = WriteGuardianAudit.objects.using(db).filter(id__in=links.writes).order_by("created_at", "id")
        writes = list(writes.values(*WRITE, "after_snapshot__content_hash")[:MOST])
        trust, by_version = self._read_trust(writes), None
        for write in writes:
            number = numbers.get(write["turn_id"]) or of_decision.get(write["decision_id"])
            if number is None:  # the call that wrote it names the turn
                if by_version is None:
                    pairs = chains.find_turn_writes(self.agent.agent_id, db, links)
                    by_version = {call.version_id: call.turn_number for _name, call in pairs}
                number = by_version.get(write["after_snapshot_id"])
            if number is None:
                continue
            of_write[write["id"]] = number
            if "guardian" not in settings.DISABLED:
                built[number]["writes"].append(self._describe_write(write, trust))
        if "datasets" not in settings.DISABLED:
            self._add_verdicts(built, numbers, of_decision, of_write)
        return dict(built)

    def _add_verdicts(self, built, numbers, of_decision, of_write):
        about = Q(turn_id__in=numbers) | Q(decision_id__in=of_decision) | Q(audit_id__in=of_write)
        samples = DatasetSample.objects.filter(about, agent_id=self.agent.agent_id).values(*SAMPLE)[:MOST]
        known = {sample["id"]: sample for sample in samples}
        labels = SampleLabel.objects.filter(sample_id__in=known).order_by("labelled_at", "id").values(*VERDICT)
        for label in labels[:MOST]:
            sample = known[label["sample_id"]]
            places = (of_write.get(sample["audit_id"]), of_decision.get(sample["decision_id"]))
            number = next((place for place in (*places, numbers.get(sample["turn_id"])) if place is not None), None)
            if number is not None:
                values = label | {"reason": self._redact(label["reason"])}
                values |= {"decision_id": sample["decision_id"], "write_id": sample["audit_id"]}
                built[number]["verdicts"].append({name: value for name, value in values.items() if value is not None})

    def _describe_decision(self, row):
        place = Place(self.agent.agent_id, f"decision:{row.id}")
        values = {"id": row.id, "decision": row.decision, "reason": self._redact(row.reason, place)}
        values |= {"fact": self._redact(row.candidate_fact, place), "model": row.llm_model, "at": row.created_at}
        return {name: value for name, value in values.items() if value is not None}

    def _describe_write(self, row, trust):
        place = Place(self.agent.agent_id, f"write:{row['id']}")
        values = {"id": row["id"], "decision": row["decision_id"], "file": row["target_file"], "status": row["status"]}
        values |= {"reason": self._redact(row["reason"], place), "at": row["created_at"]}
        values["trust"] = trust.get((row["target_file"], row["after_snapshot__content_hash"]))
        return {name: value for name, value in values.items() if value is not None}

    def _redact(self, text, place=NOWHERE):
        return clean_value(self.redactor.redact_known(text, place))

    def _read_trust(self, writes):
        """The class that OpenClaw's provenance gives to what a write left, by file and hash: agent or untrusted."""
        hashes = {write["after_snapshot__content_hash"] for write in writes} - {None}
        rows = ProvenanceRecord.objects.using(self.session._state.db).filter(file_hash__in=hashes, state="known")
        return {
            (name, digest): origin
            for name, digest, origin in rows.order_by("first_seen_at").values_list(
                "file_name", "file_hash", "origin_class"
            )
        }
