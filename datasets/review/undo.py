"""Undoes a person's actions in the queue, the last first, across samples and pages."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from django.core.exceptions import PermissionDenied
from django.db import DEFAULT_DB_ALIAS
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from ulid import ULID

from agents import databases
from agents.models import Agent
from guardian.corrections import correction_store
from openclaw_web import clock
from openclaw_web.amounts import format_plural
from openclaw_web.batches import in_batches
from openclaw_web.errors import Refused
from openclaw_web.sentences import join_sentences
from openclaw_web.sqlite import statements, write_queue
from people.audit import log as audit
from people.models import User

from ..dedup import signatures
from ..evidence import read_fact
from ..finding_values import sample_privacy
from ..finding_values import verdicts as value_verdicts
from ..models import DatasetSample, FindingVerdict, ReviewAction, SampleClaim, SampleLabel
from ..queues import answers
from ..words import STATUS_WORDS
from . import drafts, verdicts
from .actions import find_last_action

RECENT_MS = 15 * 60_000  # as long lists of decisions and writes offer to undo the last verdict
BATCH = 500
LONGEST_NAME = 80  # characters of a fact


@dataclass(frozen=True, slots=True)
class UndoResult:
    """An undone action: a sentence, and the sample to review again (None: bulk action)."""

    kind: str
    sentence: str
    sample_id: str | None
    sample_count: int = 1


def undo(by: str, label_id: str | None = None, *, is_any: bool = False, undone_by: str = "") -> UndoResult:
    """Undo the last of a person's 50 latest actions, or that of one verdict on a sample (with `is_any` an older one).

    `undone_by` does it, where that is somebody else. Actions that were undone already do not count; a verdict on a
    found value is undone as on its page. Raises Refused when there is none, and when somebody else judged the sample
    since: the next call then goes on to the action before.
    """
    action = find_last_action(by, label_id, is_any=is_any)
    if action is None and label_id:
        raise Refused(_("This verdict is not among your last 50 actions, or was undone already."))
    if action is None:
        raise Refused(_("There is nothing to undo among your last 50 actions."))
    if action.is_on_value:
        row = undo_value_verdict(User.objects.get(username=by), action.label_id)
        return UndoResult(action.kind, value_verdicts.describe(row, None), None, 0)
    agent, correction_id = _find_filed_correction(action)
    with write_queue.both_transactions(agent.db) if agent else write_queue.global_transaction():
        is_last = find_last_action(by, label_id, is_any=is_any) == action
        result = _undo_action(action, agent, correction_id, undone_by or by) if is_last else ""
    if not is_last:  # the person did or undid something meanwhile, in another tab
        return undo(by, label_id, is_any=is_any, undone_by=undone_by)
    sample = DatasetSample.objects.filter(id=action.sample_id).first() if action.kind == "verdict" else None
    if sample:  # a verdict may have edited the reply; a bulk action never does
        signatures.ensure_signature(sample)
        sample_privacy.refresh_judged(sample)
    if not isinstance(result, UndoResult):  # after the transaction, which has stored that it cannot be undone
        raise Refused(result)
    return result


def _undo_action(action, agent, correction_id, by):
    result = {"verdict": _undo_verdict, "skip": _undo_skip, "bulk": _undo_bulk}[action.kind](action, by)
    action.state = ReviewAction.State.UNDONE if isinstance(result, UndoResult) else ReviewAction.State.OVERTAKEN
    action.save(update_fields=["state"])
    if isinstance(result, UndoResult) and agent and correction_store.withdraw(agent, correction_id, by=by):
        return replace(result, sentence=join_sentences([result.sentence, _("The correction was withdrawn.")]))
    return result


def undo_value_verdict(user: User, verdict_id: str = "") -> FindingVerdict:
    """Undo one verdict on a found value, or the person's last one; return the row that undoes it.

    Raises PermissionDenied for the verdict of somebody else, unless an admin undoes it, and for one on a rule from
    anybody but an admin; Refused when there is nothing to undo.
    """
    action = None if verdict_id else find_last_action(user.username, is_on_value=True)
    if not verdict_id and action is None:
        raise Refused(_("There is nothing to undo among your last verdicts on findings."))
    row = value_verdicts.find_undoable(verdict_id or action.label_id)
    value_verdicts.check_role(user, row.scope)
    if row.decided_by != user.username and not user.has_role("admin"):
        raise PermissionDenied
    return value_verdicts.take_back(row.id, by=user.username)


def _find_filed_correction(action):
    """The agent and the id of the correction that an action's verdict filed.

    None and empty where it filed none.
    """
    label = SampleLabel.objects.filter(id=action.label_id).first() if action.label_id else None
    filed = label.before.get(verdicts.FILED_CORRECTION) if label else None
    if not filed:
        return None, ""
    agent_id = DatasetSample.objects.filter(id=action.sample_id).values_list("agent_id", flat=True).first()
    agent = Agent.objects.filter(agent_id=agent_id).first()
    try:
        return (agent, filed) if agent and agent.db else (None, "")
    except databases.LostAgentFile:  # its corrections are lost as well: the verdict is undone nevertheless
        return None, ""


def find_last_verdict(by: str, agent_id: str, types: Collection[str]) -> DatasetSample | None:
    """The sample that a person judged last, if the next undo is of that verdict.

    None also if it is not of this agent and of these types.
    """
    action = find_last_action(by)
    if action is None or action.kind != "verdict" or action.at < clock.now_ms() - RECENT_MS:
        return None
    samples = DatasetSample.objects.filter(id=action.sample_id, agent_id=agent_id, sample_type__in=types)
    return samples.filter(label_id=action.label_id).first()


def _undo_verdict(action, by):
    sample = DatasetSample.objects.filter(id=action.sample_id).defer("content").first()
    label = SampleLabel.objects.get(id=action.label_id)
    if sample is None:
        return _("Your verdict cannot be undone: the sample was removed. Undo again for the previous action.")
    if label.queue_id and (problem := answers.withdraw(label, sample)):
        return problem
    if not label.queue_id and sample.label_id != label.id:
        return _(
            "Your verdict on %(name)s cannot be undone: %(who)s has reviewed the sample since. Undo again "
            "for the previous action."
        ) % {"name": describe_sample(sample), "who": sample.annotated_by or _("somebody")}
    drafts.restore_draft(label, by=action.actor)
    if sample.label_id == label.id:
        _restore_samples([(sample, label)], by=by)
    else:  # of a review queue whose other people have not answered
        of_queue = {"queue_id": label.queue_id, "undoes": label.id, "label_id": str(ULID())}
        now = verdicts.read_columns(sample)
        verdicts.build_label(sample, now, by=by, at=clock.now_ms(), **of_queue).save(force_insert=True)
    answers.close_again(label)
    audit.record(
        by, "label_undone", object_type="sample", object_id=sample.id, agent_id=sample.agent_id,
        status=label.status,
    )  # fmt: skip
    sentence = _("Undone: “%(status)s” on %(name)s.") % {
        "name": describe_sample(sample),
        "status": STATUS_WORDS[label.status],
    }
    return UndoResult(action.kind, sentence, sample.id)


def _undo_skip(action, _by):
    sample = DatasetSample.objects.filter(id=action.sample_id).defer("content").first()
    if sample is None:
        return _("The sample you skipped no longer exists. Undo again for the previous action.")
    return UndoResult(action.kind, _("Undone: you skipped %(name)s.") % {"name": describe_sample(sample)}, sample.id)


def _undo_bulk(action, by):
    labels = list(SampleLabel.objects.filter(bulk_id=action.bulk_id, undoes=None))
    pairs, changed_count = [], 0
    for batch in in_batches(labels, BATCH):
        samples = DatasetSample.objects.defer("content").in_bulk([label.sample_id for label in batch])
        stored_pairs = [(samples[label.sample_id], label) for label in batch if label.sample_id in samples]
        usable = [(sample, label) for sample, label in stored_pairs if sample.label_id == label.id]
        changed_count += len(batch) - len(usable)
        pairs += usable
    if not pairs:
        return _("Every sample of that bulk action was reviewed or removed since. Undo again for the previous action.")
    _restore_samples(pairs, by=by, bulk_id=action.bulk_id)
    audit.record(
        by,
        "bulk_undone",
        object_type="bulk",
        object_id=action.bulk_id,
        samples=len(pairs),
        left_out=changed_count,
    )
    sentence = format_plural(
        "Undone: the verdict on %(count)s sample.", "Undone: the verdicts on %(count)s samples.", len(pairs)
    )
    if changed_count:
        sentence += " " + format_plural(
            "%(count)s was reviewed or removed since and is not changed.",
            "%(count)s were reviewed or removed since and are not changed.",
            changed_count,
        )
    return UndoResult(action.kind, sentence, None, len(pairs))


def _restore_samples(pairs: list[tuple[DatasetSample, SampleLabel]], *, by, bulk_id=None):
    """Restore samples as they were before these labels, with a new label for each."""
    at, rows, values, shapes = clock.now_ms(), [], [], []
    for sample, label in pairs:
        now, before = verdicts.read_columns(sample), label.before
        for name in verdicts.VERDICT_COLUMNS:
            setattr(sample, name, before[name])
        if verdicts.SHAPE_COLUMNS[0] in before:
            shapes.append([*(before[name] for name in verdicts.SHAPE_COLUMNS), sample.id])
        rows.append(
            verdicts.build_label(sample, now, by=by, at=at, label_id=str(ULID()), undoes=label.id, bulk_id=bulk_id)
        )
        values.append([*verdicts.read_columns(sample).values(), sample.id])
    statements.run_many(DEFAULT_DB_ALIAS, verdicts.UPDATE_COLUMNS, values)
    statements.run_many(DEFAULT_DB_ALIAS, verdicts.UPDATE_SHAPE, shapes)
    SampleLabel.objects.bulk_create(rows, batch_size=BATCH)
    if len(pairs) == 1:
        SampleClaim.objects.filter(sample_id=pairs[0][0].id, claimed_by=by).delete()


def describe_sample(sample: DatasetSample) -> str:
    """The name of a sample in sentences: its fact, else its turn."""
    if fact := read_fact(sample):
        return f"“{Truncator(' '.join(fact.split())).chars(LONGEST_NAME)}”"
    if sample.turn_number is None:
        return _("a sample of %(agent)s") % {"agent": sample.agent_id}
    return _("turn %(number)s of %(agent)s") % {"number": sample.turn_number, "agent": sample.agent_id}
