"""Decisions of memory_gate as samples: the Reflection spec's MemoryGatePositiveSample and MemoryGateNegativeSample.

A decision has one such sample. It is a positive one while people say that the decision is right, and becomes a negative
one when somebody says that it is wrong, so that no two samples contradict each other.

Beside the spec's fields it has the reasons, the right fact, how many messages at the end of the conversation are the
turn's own (`turnMessages`), and whether the window was derived and not reported (`windowDerived`).
"""

from dataclasses import dataclass, replace
from typing import Any

import orjson
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.models import Agent
from gate.models import MemoryGateDecision
from gate.recording import windows
from gate.recording.windows import Window
from guardian.detail import related_writes
from guardian.models import WriteGuardianAudit
from guardian.recording.reports import CHANGED
from ledger import consent
from ledger.collectors.message_unwrapping import unwrap_message
from ledger.models import ConversationTurn
from openclaw_web.batches import in_batches
from openclaw_web.errors import Refused

from .. import services, turn_facts
from ..models import DatasetSample
from ..review import parts
from ..review.parts import PartVerdict
from ..sample_texts import ENVELOPE, GATE_TYPES, NEGATIVE, POSITIVE, UNRECOGNIZED, GateAnswer, read_decision
from . import sample_store
from . import turn as turns
from .kind import NONE, RIGHT, WRONG, JudgedKind, Words

KEY, CORRECT, BATCH = "memory_gate", "correct", 500
# Fields that only a verdict sets.
JUDGED = {"type", "rejectionReason", *(f"{prefix}{field}" for prefix in ("correct", "incorrect") for field in
          ("Decision", "Fact", "Reason"))}  # fmt: skip
READ = (
    *("id", "sample_type", "decision_id", "agent_id", "annotation_status", "annotated_by", "annotated_at"),
    *("label_id", "gate_label", "gate_corrected_output"),
)


class NoSuchDecision(Refused):
    """An id that no decision of this agent has."""

    status = 404


@dataclass(frozen=True, slots=True)
class DecisionSubject:
    """A decision with its window, and its turn; None: no turn was found."""

    decision: MemoryGateDecision
    turn: ConversationTurn | None
    window: Window


@dataclass(frozen=True, slots=True)
class Correction:
    """The right decision; a fact is needed unless it is NO_WRITE.

    An empty decision is not known; then there is only the reason why the gate's one is wrong.
    """

    decision: str
    fact: str = ""
    reason: str = ""

    @property
    def as_output(self) -> dict[str, str]:
        """The correction as verdicts store it."""
        output = {"decision": self.decision, "candidateFact": self.fact, "reason": self.reason}
        return output if self.decision else {"reason": self.reason}


def find(agent: Agent, decision_id: str) -> MemoryGateDecision:
    """A decision of an agent. Raises NoSuchDecision."""
    decision = MemoryGateDecision.objects.using(agent.db).defer("raw_response").filter(id=decision_id).first()
    if decision is None:
        raise NoSuchDecision(_("This agent has no such decision. See the list of decisions for their ids."))
    return decision


def read_subject(agent: Agent, decision: MemoryGateDecision) -> DecisionSubject:
    """The subject of a decision's sample. Raises Refused where it cannot have one."""
    turn = ConversationTurn.objects.using(agent.db).filter(id=decision.turn_id).first() if decision.turn_id else None
    if decision.turn_id and turn is None:
        raise Refused(_("The turn of this decision is no longer stored, so the decision cannot become a sample."))
    if turn and turn.repeat_of:
        raise Refused(_("The turn of this decision is copied from another session. Judge the decision on that turn."))
    window = windows.read_window(agent.db, decision.window_hash)
    if window is None:
        raise Refused(_("What the gate saw is not stored for this decision, so it cannot become a sample."))
    if not any((window.recent, window.user, window.reply)):
        raise Refused(_("The gate saw no message for this decision, so it cannot become a sample."))
    if windows.find_withheld_windows(agent.db, [(decision, window)]):
        raise Refused(
            _("Somebody opted out whose words the gate saw, or may have seen. The decision cannot become a sample.")
        )
    return DecisionSubject(decision, turn, window)


def content(agent: Agent, subject: DecisionSubject, is_right: bool) -> dict[str, Any]:
    """The content of a decision's sample before any correction, without envelopes around words."""
    decision, window = subject.decision, unwrap_window(subject.window)
    own_messages = [
        {"role": role, "message": text} for role, text in (("user", window.user), ("agent", window.reply)) if text
    ]
    before = [{"role": message["role"], "message": message["message"]} for message in window.recent]
    answer = GateAnswer(decision.decision, decision.reason, decision.candidate_fact or "")
    shared: dict[str, Any] = {
        "conversation": [*before, *own_messages],
        "turnMessages": len(own_messages),
        "windowDerived": decision.is_window_derived,
    }
    was_written = find_outcome(agent, decision.id)
    shared |= {"messagesLeftOut": window.left_out} if window.left_out else {}
    shared |= {} if was_written is None else {"evidence": {"wasWritten": was_written}}
    return _build_positive(answer, shared) if is_right else _build_negative(answer, None, shared)


def find_outcome(agent: Agent, decision_id: str) -> bool | None:
    """Whether write_guardian wrote the decision's fact, even if undone later; None: not known."""
    writes = WriteGuardianAudit.objects.using(agent.db).filter(decision_id=decision_id)
    statuses = set(writes.exclude(origin=WriteGuardianAudit.Origin.ROLLBACK).values_list("status", flat=True))
    return bool(statuses & set(CHANGED)) if statuses else None


def apply_verdict(body: dict[str, Any], verdict: PartVerdict) -> tuple[str, str]:
    """Type and content (JSON) of a sample of GATE_TYPES after a verdict on its decision."""
    shared = {name: value for name, value in body.items() if name not in JUDGED}
    answer = read_decision(body) or GateAnswer("", "", "")
    new = (
        _build_positive(answer, shared)
        if verdict.label == CORRECT
        else _build_negative(answer, verdict.corrected, shared)
    )
    return new["type"], orjson.dumps(new).decode()


def _build_positive(answer, shared):
    return {
        "type": POSITIVE,
        "correctDecision": answer.decision,
        "correctFact": answer.fact,
        "correctReason": answer.reason,
        "evidence": {},
        **shared,
    }


def _build_negative(answer, corrected, shared):
    """The content of a negative sample; without a correction its `correct…` fields are null."""
    right = corrected or {}
    return {
        "type": NEGATIVE,
        "incorrectDecision": answer.decision,
        "incorrectFact": answer.fact,
        "incorrectReason": answer.reason,
        "correctDecision": right.get("decision"),
        "correctFact": right.get("candidateFact"),
        "correctReason": right.get("reason") if right.get("decision") else None,
        "rejectionReason": right.get("reason") or "",
        **shared,
    }


def _build_columns(agent, subject):
    """The columns of a decision's sample.

    Without a turn they have the session, or the key, of the decision, and the facts of its window.
    """
    own = {"decision_id": subject.decision.id}
    if subject.turn:
        return own | turn_facts.read_columns(agent.db, subject.turn)
    return own | {"session_id": subject.decision.session_id} | read_facts(subject.window)


def _build_verdict(decision, _subject, choice, correction):
    """The verdict on a decision. Raises Refused for a correction that says the same."""
    is_corrected = correction and correction.decision
    label = parts.CORRECTED if is_corrected else parts.CORRECT if choice == RIGHT else parts.INCORRECT
    verdict = parts.build_gate_verdict(label, correction.as_output if correction else None)
    original = {"decision": decision.decision, "fact": decision.candidate_fact or "", "reason": decision.reason}
    if is_corrected:
        is_same = (correction.decision, correction.fact) == (original["decision"], original["fact"])
        if is_same and correction.reason in ("", original["reason"]):
            raise Refused(_("This is what the gate decided. Say what would have been right, or that it is right."))
    parts.check_part("gate", verdict, original)
    return verdict


def find_samples(agent: Agent, decisions: list[MemoryGateDecision]) -> dict[str, list[DatasetSample]]:
    """The samples of each of these decisions, by decision id; most have none.

    The decision's own sample comes first, then that of its turn.
    """
    samples: dict[str, list[DatasetSample]] = {}
    for batch in in_batches(decisions, BATCH):
        ids = [find_sample_id(agent, decision.id) for decision in batch]
        ids += [turns.compute_sample_id(agent.agent_id, decision.turn_id) for decision in batch if decision.turn_id]
        names = {decision.id for decision in batch}
        for sample in DatasetSample.objects.filter(id__in=ids).only(*READ):
            if sample.decision_id in names and sample.annotation_status:
                samples.setdefault(sample.decision_id, []).append(sample)
    for decision_samples in samples.values():
        decision_samples.sort(key=lambda sample: sample.sample_type == turns.TYPE)
    return samples


def find_sample_id(agent: Agent, decision_id: str) -> str:
    """The id of a decision's own sample, whatever people say of the decision."""
    return sample_store.compute_sample_id(agent.agent_id, decision_id, KEY)


def create(agent: Agent, decision: MemoryGateDecision, by: str) -> DatasetSample:
    """Create the `annotated_turn` sample of a decision's turn, without a verdict on the decision.

    A turn has one such sample, whichever of its decisions it was created from. A decision without a turn gets its own
    sample, which nobody has judged. Raises Refused where neither can be.
    """
    subject = read_subject(agent, decision)
    if subject.turn is None:
        return add_own_sample(agent, sample_store.build_sample(DECISION, agent, decision.id, subject))[0]
    chosen = {subject.turn.id: decision}
    result = services.make_samples(agent, subject.turn.session_id, [subject.turn.turn_number], by=by, chosen=chosen)
    if result.skipped:
        raise Refused(result.skipped[0]["reason"])
    return DatasetSample.objects.get(id=(result.made + result.existing)[0])


def add_own_sample(agent: Agent, sample: DatasetSample) -> tuple[DatasetSample, bool]:
    """The decision's own sample, stored without a verdict when it is new; whether it is."""
    stored_sample = DatasetSample.objects.filter(id=sample.id, annotation_status__isnull=False).first()
    if stored_sample is None:
        sample_store.add_sample(agent, sample)
    return stored_sample or sample, stored_sample is None


def _find_judgeable(decisions):
    """Ids of decisions with a turn, or with a window while nobody has opted out."""
    alone = {row.id for row in decisions if row.turn_id is None and row.window_hash is not None}
    alone = set() if alone and consent.read_opted_out() else alone
    return alone | {row.id for row in decisions if row.turn_id is not None}


DECISION = JudgedKind(
    name="decision",
    types=GATE_TYPES,
    column="decision_id",
    key=KEY,
    part="gate",
    words=Words(
        neither=gettext_lazy("A decision is either right or wrong."),
        only_wrong=gettext_lazy("Only a wrong decision takes a correction."),
        done={
            RIGHT: gettext_lazy("Saved: right."),
            WRONG: gettext_lazy("Saved: wrong."),
            NONE: gettext_lazy("Sample created."),
        },
    ),
    find=find,
    read_subject=read_subject,
    body=content,
    columns=_build_columns,
    verdict=_build_verdict,
    find_samples=find_samples,
    find_sample_id=find_sample_id,
    rows=MemoryGateDecision.objects.only("id", "turn_id", "window_hash"),
    judgeable=_find_judgeable,
    writes=related_writes.find_main_by_decision,
    create=create,
)


def unwrap_window(window: Window) -> Window:
    """The window without OpenClaw's envelopes around people's words.

    A message that is only an envelope is left out.
    """
    recent = ({**message, "message": _plain(message["role"], message["message"])} for message in window.recent)
    return replace(
        window,
        recent=tuple(message for message in recent if message["message"]),
        user=window.user and unwrap_message(window.user).words,
    )


def read_facts(window: Window) -> dict[str, Any]:
    """turn_facts.COLUMNS of a sample without a turn, read from its window.

    The last message of a user counts as the question. Words of any of its users that look wrapped and are not
    understood count, since a row of the gate holds them all.
    """
    plain = unwrap_window(window)
    questions = [message["message"] for message in plain.recent if message["role"] == "user"]
    question = plain.user or (questions[-1] if questions else "")
    conditions = ((ENVELOPE, plain != window), (UNRECOGNIZED, _is_odd(window)))
    traits = " ".join(name for name, applies in conditions if applies)
    return turn_facts.build_columns(turn_facts.detect_prompt(question, plain.reply or ""), "", traits)


def _is_odd(window):
    texts = (message["message"] for message in window.recent if message["role"] == "user")
    return any(unwrap_message(text).unknown for text in (*texts, window.user or ""))


def _plain(role, text):
    return unwrap_message(text).words if role == "user" else text
