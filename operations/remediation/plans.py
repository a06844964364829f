"""Collects what stems from a message, by ids and by words, and plans how to take it back."""

import hashlib
import time
from collections import defaultdict
from dataclasses import dataclass, field

from django.conf import settings
from django.http import Http404
from django.urls import reverse
from django.utils.translation import gettext as _

from agents.models import Agent
from datasets.models import DatasetSample
from datasets.review import queues
from guardian.handover import offers
from guardian.models import Rollback, WriteGuardianAudit
from guardian.reach.replies import MOST_LINES, Reply, find_replies
from guardian.reach.subject import list_lines
from guardian.rollbacks import rollback_plan, rollback_preview, workspace_access
from guardian.rollbacks.service import CHOICE_NEEDED
from guardian.versions import NOTES
from ledger.models import ConversationTurn
from openclaw_web.batches import in_batches
from openclaw_web.errors import Refused

from ..chain import chains
from ..chain.chains import MOST, MOST_SAMPLES, OWNERS, Node, Step
from ..models import RemediationStep

Kind, Status = RemediationStep.Kind, DatasetSample.Status
MOST_ROUNDS = 20  # rollbacks of rollbacks
MOST_REPEATED = 25  # lines of a file whose later answers are searched
SECONDS = 10.0  # for the answers that repeat lines of all files


@dataclass(slots=True)
class Consequences:
    """Everything that stems from a message: the steps of its chain, daily notes, later answers, and the plan.

    With `is_cut` there may be more than is listed, and than one plan takes back.
    """

    turn: ConversationTurn
    chain: list[Step]
    notes: list[Node]
    answers: list[Reply]
    plan: list[RemediationStep] = field(default_factory=list)
    is_cut: bool = False

    @property
    def seen(self) -> str:
        """Hash of the plan as it is shown."""
        steps = [(step.kind, step.key, step.seen, step.is_handed_over, step.problem) for step in self.plan]
        return hashlib.sha256(repr(steps).encode()).hexdigest()

    @property
    def doable(self) -> list[RemediationStep]:
        return [step for step in self.plan if not step.problem]

    @property
    def lasting(self) -> list[RemediationStep]:
        """Steps that the plan cannot do, with the reasons."""
        return [step for step in self.plan if step.problem]


def find_consequences(agent: Agent, turn_id: str) -> Consequences:
    """Return everything that stems from the message of a turn. Raises Http404 when the turn is not stored."""
    turn = ConversationTurn.objects.using(agent.db).select_related("session").filter(id=turn_id).first()
    if turn is None:
        raise Http404
    links = chains.find_links("turn", turn_id, agent)
    own = links[agent.agent_id]
    notes = dict(chains.find_turn_writes(agent.agent_id, agent.db, own))
    nodes = [
        Node(name, reverse("guardian:file_detail", args=[agent.agent_id, name]), write.version_at, name)
        for name, write in notes.items()
        if name.startswith(NOTES)
    ]
    answers, is_cut = _find_answers(agent, own)
    result = Consequences(turn, chains.list_steps(links, "turn"), nodes, answers)
    result.is_cut = is_cut or len(own.samples) > MOST_SAMPLES or any(len(step.nodes) >= MOST for step in result.chain)
    result.plan = _plan_steps(agent, own, result)
    return result


def _find_answers(agent, links):
    """The replies of other turns that repeat lines of these writes, each once, and whether there may be more."""
    lines_by_file = defaultdict(list)
    writes = WriteGuardianAudit.objects.using(agent.db).select_related("before_snapshot", "after_snapshot")
    for write in writes.filter(id__in=links.writes).order_by("created_at", "id")[:MOST]:
        lines_by_file[write.target_file or ""] += list_lines(write)
    own = set(ConversationTurn.objects.using(agent.db).filter(id__in=links.turns).values_list("session", "turn_number"))
    answers, end = {}, time.monotonic() + SECONDS
    for name, lines in lines_by_file.items():
        for batch in in_batches(lines[:MOST_REPEATED], MOST_LINES):
            for reply in find_replies(agent, name, batch, seconds=max(0.0, end - time.monotonic())):
                place = reply.session_id, reply.turn_number
                if reply.turn_number is not None and place not in own:
                    answers.setdefault(place, reply)
    is_long = any(len(lines) > MOST_REPEATED for lines in lines_by_file.values())
    return list(answers.values())[:MOST], is_long or len(answers) > MOST or time.monotonic() > end


def _plan_steps(agent, links, result):
    """The steps in the order in which they are done."""
    nodes = {step.name: step.nodes for step in result.chain}
    samples = DatasetSample.objects.filter(id__in=links.samples).exclude(annotation_status=Status.REJECTED)
    ids = set(samples.values_list("id", flat=True))
    steps = [_build_step(Kind.REJECT, node) for node in nodes["sample"] if node.id in ids]
    steps += _plan_writes(agent, links.writes) if OWNERS["write"] not in settings.DISABLED else []
    problem = _("This site changes no daily notes: take the lines out by hand, or have the agent do it.")
    steps += [_build_step(Kind.NOTE, node, problem) for node in result.notes]
    steps += _plan_reviews(agent, result.answers) if OWNERS["sample"] not in settings.DISABLED else []
    steps += [_build_step(Kind.RELEASE, node) for node in nodes["release"]]
    steps += [_build_step(Kind.DOWNLOAD, node, _("Whoever has the file keeps it.")) for node in nodes["download"]]
    for number, step in enumerate(steps):
        step.number = number
    return steps


def _build_step(kind, node, problem=""):
    return RemediationStep(kind=kind, key=node.id, title=node.title, href=node.href, problem=problem)


def _find_in_force(agent, ids):
    """These writes, or instead of one that was rolled back the rollback of that rollback, which brought it back.

    Also those that brought back lines of other writes as well.
    """
    audits = WriteGuardianAudit.objects.using(agent.db).filter(id__in=ids)
    waiting, rounds = set(audits.exclude(origin="rollback").values_list("id", flat=True)), 0
    in_force, shared = set(waiting), set[str]()
    while waiting and (rounds := rounds + 1) < MOST_ROUNDS:
        rows = Rollback.objects.using(agent.db).filter(audit_id__in=waiting).exclude(own_audit=None)
        owns = dict(rows.values_list("audit_id", "own_audit_id"))
        of_others = Rollback.objects.using(agent.db).filter(own_audit_id__in=owns.values()).exclude(audit_id__in=owns)
        shared |= {own for audit, own in owns.items() if audit in shared}
        shared |= set(of_others.values_list("own_audit_id", flat=True))
        waiting = set(owns.values())
        in_force = in_force - owns.keys() if rounds % 2 else in_force | waiting
    return in_force, shared


def _plan_writes(agent, ids):
    """The rollbacks of these writes, the last one first, each on what the one before leaves."""
    rows = WriteGuardianAudit.objects.using(agent.db).select_related("before_snapshot", "after_snapshot")
    in_force, shared = _find_in_force(agent, ids)
    rows = rows.filter(id__in=in_force, status=WriteGuardianAudit.Status.WRITTEN)
    contents: dict[str, bytes | None] = {}
    ways: dict[str, tuple[offers.Offer, str]] = {}  # of each file, by its last write: the offer, and why not
    try:
        place, reason = workspace_access.get_workspace(agent), ""
    except Refused as refused:
        place, reason = None, refused.sentence
    for audit in rows.order_by("-created_at", "-id")[:MOST]:
        name = audit.target_file or ""
        step = _build_step(Kind.WRITE, Node(name or "–", audit.get_absolute_url(), id=audit.id))
        try:
            rollback_plan.check_possible(audit)
            if place is None:
                raise Refused(reason)
            if audit.id in shared:
                raise Refused(_("This write brought back lines of other messages as well. Choose the lines by hand."))
            if name not in contents:
                contents[name] = rollback_plan.read_workspace_file(place, name)
            if contents[name] is None:
                raise Refused(_("%(file)s is not in the workspace any more.") % {"file": name})
            plan = rollback_plan.build_plan(audit, place, contents[name])
        except Refused as refused:
            step.problem = refused.sentence
        else:
            if name not in ways:
                offer, problem = offers.offer_rollback(agent, plan), rollback_preview.find_problem(agent, [name])
                ways[name] = offer, (offer.problem or (offer.puts_back and problem)) if offer.is_needed else problem
            offer, problem = ways[name]
            step.seen, step.is_handed_over, step.puts_back = plan.seen, offer.is_needed, offer.puts_back
            step.problem = str(CHOICE_NEEDED) if plan.conflicts else problem or ""
            if not step.problem:
                contents[name] = plan.new_content
        yield step


def _plan_reviews(agent, answers):
    """Samples of the answers for review; one that waits for it, or was rejected, needs no step."""
    sessions = {reply.session_id for reply in answers}
    rows = DatasetSample.objects.filter(
        agent_id=agent.agent_id, session_id__in=sessions, sample_type=DatasetSample.Type.ANNOTATED_TURN
    )
    status_by_place = {
        (session_id, number): status
        for session_id, number, status in rows.values_list("session_id", "turn_number", "annotation_status")
    }
    for reply in answers:
        status = status_by_place.get((reply.session_id, reply.turn_number))
        if status not in (*queues.WAITING, Status.REJECTED):
            title = _("Turn %(number)s of %(session)s") % {"number": reply.turn_number, "session": reply.session_id}
            node = Node(title, reply.hit.item.href, id=f"{reply.session_id}:{reply.turn_number}")
            yield _build_step(Kind.REVIEW, node)
