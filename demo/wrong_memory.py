"""A wrong memory in the demo, and its correction.

A baker says that there is no sesame in a bread this week, and the plugin writes down that there never is; the shop's
chat tells a customer so. An operator finds the line, rolls the write back, and makes a rule of what was wrong with it.
Two more facts of this kind are stopped by that rule: the plugin's write is flagged, our own guardian refuses.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _

from agents.models import Agent, CollectorSource
from datasets.kinds import review_requests, verdict_service
from datasets.kinds.kind import NONE
from datasets.kinds.write import WRITE
from gate.models import MemoryGateDecision
from guardian.corrections import correction_store, rules
from guardian.models import FileSnapshot, WriteGuardianAudit
from guardian.recording import api_import
from guardian.recording.schemas import WriteIn
from guardian.rollbacks import rollback_plan, service, workspace_access
from guardian.runner import fact_handler, fact_selection
from guardian.runner.llm.config import Guardian
from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.llm.endpoint import Endpoint

from .recording import Recording
from .reports import PLUGIN

AGENT = "main"
WRONG = "The tide sourdough contains no sesame."
WHY_BACK = "Wrong: the allergen sheet says traces of sesame. A customer with an allergy was told otherwise."
WHY_RULE = "A remark about one week. What a product contains is in reference/allergens.md and nowhere else."
NAME = "Says that a product contains no allergen"
CONTAINS = (
    ("contain no", "contains no", "free of", "free from", "without"),
    ("wheat", "milk", "egg", "sesame", "nut", "soy"),
)
ELSEWHERE = "The pages of the shop ask for free slots every minute."
WHY_ELSEWHERE = "How the shop's site works belongs in TOOLS.md: Arjun looks there."
GOOD = "There is no calendar tool. Reminders come from scheduled tasks."
FLAGGED, REFUSED = "The pandan croissant contains no nuts.", "The cardamom knot contains no nuts."
MINUTE, AFTER_MS = 60_000, 4_000
Status = WriteGuardianAudit.Status


def play_story(recording: Recording, *, by: str) -> None:
    """Play the story, as far as it has not happened yet."""
    agent = Agent.objects.filter(agent_id=AGENT).first()
    wrong = agent and _find_write(agent, WRONG)
    if not wrong or not _are_demo_workspaces():
        return
    with allow_own_workspaces(), clock.shift_to(_find_rollback_moment(agent)):
        if wrong.status == Status.WRITTEN:
            request = service.RollbackRequest(by, WHY_BACK)
            service.roll_back(agent, wrong.id, request, seen=rollback_plan.plan_rollback(agent, wrong.id).seen)
    if not correction_store.find_by_write(agent.db, wrong.id):
        options = {"status": "refused", "reason": WHY_RULE, "apply_to_future": True, "contains": CONTAINS}
        with clock.shift_to(_find_rollback_moment(agent) + MINUTE):
            correction_store.correct_write(agent, wrong.id, by=by, name=NAME, **options)
        _write_later_facts(agent, recording, by)
        # Create samples of a waiting write, a misplaced one, and the rolled back one.
        if elsewhere := _find_write(agent, ELSEWHERE):
            correction_store.correct_write(
                agent, elsewhere.id, status="written", file="TOOLS.md", reason=WHY_ELSEWHERE, by=by
            )
        if good := _find_write(agent, GOOD):
            verdict_service.give_verdict(WRITE, agent, good.id, NONE, by=by)
        review_requests.queue_writes(agent)


def is_story_over(source: Path) -> bool:
    """Whether the demo's files in a folder are those after the story: the wrong line is gone from them."""
    file = source / "workspace" / "MEMORY.md"
    return file.is_file() and WRONG not in file.read_text(encoding="utf-8")


def list_sights() -> list[tuple[str, str]]:
    """Titles and addresses of pages to look at; empty before the story happened."""
    agent = Agent.objects.filter(agent_id=AGENT).first()
    wrong = agent and _find_write(agent, WRONG)
    if not wrong or wrong.status != Status.ROLLED_BACK:
        return []
    flagged = WriteGuardianAudit.objects.using(agent.db).exclude(rule_id=None).filter(status=Status.WRITTEN).first()
    pages = [
        (_("A wrong fact in MEMORY.md, and how it was rolled back"), wrong.get_absolute_url()),
        (_("The rule that followed from it"), reverse("guardian:rule_list", args=[AGENT])),
        (_("Who put each line into MEMORY.md"), reverse("guardian:file_detail", args=[AGENT, "MEMORY.md"])),
        (_("All writes by week"), reverse("guardian:chart", args=[AGENT])),
    ]
    if flagged:
        pages.insert(2, (_("A write that this rule flagged, to be rolled back"), flagged.get_absolute_url()))
    return pages


@contextmanager
def allow_own_workspaces() -> Iterator[None]:
    """Allow writes into workspaces for the block, if all are in the demo's folder.

    OPENCLAW_WEB_WORKSPACE_WRITES protects the files of people's agents. With any other source, the variable holds.
    """
    setting = settings.WORKSPACE_WRITES
    settings.WORKSPACE_WRITES = setting or _are_demo_workspaces()
    try:
        yield
    finally:
        settings.WORKSPACE_WRITES = setting


def _are_demo_workspaces():
    own = settings.STATE_DIR.resolve()
    sources = CollectorSource.objects.filter(kind=CollectorSource.Kind.AGENT)
    if any(Path(root).resolve() != own for root in sources.values_list("root", flat=True)):
        return False
    try:
        return all(workspace_access.get_workspace(agent).is_relative_to(own) for agent in Agent.objects.all())
    except Refused:
        return False


def _find_rollback_moment(agent):
    """A moment before the first fact that the rule stops, or now.

    It is after all versions of the file until then; now, if there is no such moment.
    """
    versions = FileSnapshot.objects.using(agent.db).filter(file_name="MEMORY.md").order_by("-created_at")
    newest = versions.values_list("created_at", flat=True).first() or 0
    first = min((decision.created_at for decision in _find_later_decisions(agent).values()), default=0)
    moment = max(first - 20 * MINUTE, newest + MINUTE)
    return moment if moment + 5 * MINUTE < first else clock.now_ms()


def _find_later_decisions(agent):
    """The decisions about the two facts that wait to be written, by fact."""
    rows = MemoryGateDecision.objects.using(agent.db).filter(candidate_fact__in=(FLAGGED, REFUSED))
    return {row.candidate_fact: row for row in rows}


def _write_later_facts(agent, recording, by):
    """Write the two facts that wait: the plugin does not ask for rules, our own guardian does."""
    decisions = _find_later_decisions(agent)
    rule_at = rules.find_active_rules(agent.db).values_list("corrected_at", flat=True).first() or 0
    if decision := decisions.get(FLAGGED):
        with clock.shift_to(max(decision.created_at, rule_at) + AFTER_MS):
            (row,) = recording.read_rows("late_write", agent.agent_id)
            write = WriteIn(**row | {"created_at": clock.now_ms()})
            file = workspace_access.get_workspace(agent) / write.target_file
            if file.read_text(encoding="utf-8") == write.before:
                file.write_text(write.after, encoding="utf-8", newline="\n")
                api_import.record_reports(agent, [write], by=PLUGIN)
    decision = decisions.get(REFUSED)
    if decision and fact_selection.is_open(agent.db, decision):
        with clock.shift_to(max(decision.created_at, rule_at) + AFTER_MS):
            nobody = Guardian(Endpoint("", ""), "", {}, 1)  # the rule refuses before a model would be asked
            fact_handler.handle_fact(agent, nobody, fact_handler.build_run(decision, by=by), wait=lambda _seconds: None)


def _find_write(agent, fact):
    """The write that put a fact into a file."""
    rows = WriteGuardianAudit.objects.using(agent.db).filter(candidate_fact=fact)
    rows = rows.filter(status__in=(Status.WRITTEN, Status.ROLLED_BACK), origin=WriteGuardianAudit.Origin.RECORDED)
    return rows.order_by("created_at").first()
