"""Tests of models with people's verdicts on writes: each is asked about again with its file as it was before.

No rule is applied, no file changes, and nothing waits for review. A test can be interrupted anywhere, and continues
when it is started again.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _
from ulid import ULID

from agents.models import Agent
from agents.runners import launch
from agents.runners.batch import Batch, build_message, check_answered
from gate.models import RegressionSet
from gate.replays.comparison import Comparison
from jobs import services as jobs
from jobs.models import JobRun
from jobs.progress import Progress
from openclaw_web import clock
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.batches import in_batches
from openclaw_web.disk import packing
from openclaw_web.errors import Refused
from openclaw_web.sqlite import write_queue
from search import words

from ..corrections import correction_store, rules
from ..corrections.correction_store import WriteState
from ..models import GuardianRun, GuardianTest, WriteGuardianAudit
from . import fact_handler
from .fact_selection import PastMemory
from .llm import config, prompts
from .llm.config import RUNNER, Guardian

WORDS = {
    "broken": ngettext_lazy("%(count)s write breaks.", "%(count)s writes break.", "number"),
    "fixed": ngettext_lazy("%(count)s is fixed.", "%(count)s are fixed.", "number"),
    "left": ngettext_lazy("%(count)s write was not tested.", "%(count)s writes were not tested.", "number"),
}
State, Status = GuardianRun.State, WriteGuardianAudit.Status
CHUNK = 50  # runs whose files are in memory
WAITING = (State.QUEUED, State.RUNNING)  # the process of a running one has ended


def read_cases(agent: Agent) -> dict[str, list[str]]:
    """Return the right status, fact and file of each write that people corrected or judged right."""
    ids = import_string(settings.RIGHT_WRITES)(agent)
    audits = WriteGuardianAudit.objects.using(agent.db).defer("diff", "hunks_json").in_bulk(ids)
    states = {name: correction_store.get_original_state(agent.db, audit) for name, audit in audits.items()}
    rows = correction_store.find_active_corrections(agent.db)
    states |= {name: correction_store.get_corrected_state(row) for name, row in rows.items()}
    return {name: [state.status, state.fact, state.file] for name, state in states.items()}


def build_guardian(model: str, prompt: str = "") -> Guardian:
    """Return the configured guardian with another model or prompt."""
    is_other = prompt.strip() not in ("", prompts.TEXT.strip())  # forms strip the text
    return replace(config.get_configured_guardian(), model=model, prompt=prompt.strip() if is_other else prompts.TEXT)


def build_runs(agent: Agent, regression_set: RegressionSet, *, by: str, test_id: str = "") -> Iterator[GuardianRun]:
    """Yield a run, not stored, for each write of a set whose fact and file then are known and may be sent."""
    for audit_id in regression_set.cases:
        with suppress(Refused):
            run = fact_handler.build_retry(agent, audit_id, fact=None, file=None, by=by)
            run.test_id = test_id
            PastMemory(agent.db, rules.get_write(agent.db, audit_id)).read_file(run.target_file)
            yield run


def find_runs(db: str, test: GuardianTest) -> QuerySet[GuardianRun]:
    """Return the runs of a test, one for each write that it asks about."""
    return GuardianRun.every.using(db).filter(test_id=test.id).order_by("id")


def start_test(agent: Agent, regression_set: RegressionSet, guardian: Guardian, *, by: str) -> JobRun:
    """Queue a test, or the rest of one.

    Raises Refused when nothing may be sent, or another run of this agent is queued or running.
    """
    with launch.exclusive_start(RUNNER, agent):
        pass  # nothing is stored for a test that cannot start
    test = open_test(agent, regression_set, guardian, by=by)  # reads files: nobody waits for the transaction below
    with launch.exclusive_start(RUNNER, agent):
        return jobs.start(RUNNER.kind, build_params(agent, test), by=by)


def build_params(agent: Agent, test: GuardianTest) -> dict[str, Any]:
    """Return the parameters of a test's job."""
    return {"agent": agent.agent_id, "test": test.id}


def open_test(agent: Agent, regression_set: RegressionSet, guardian: Guardian, *, by: str) -> GuardianTest:
    """Return the test of this set, model and prompt that has not ended, else a new one with its runs.

    Raises Refused when nothing may be sent.
    """
    RUNNER.check(guardian.model)
    values = {"set_id": regression_set.id, "llm_model": guardian.model, "prompt": guardian.prompt}
    newest = GuardianTest.objects.using(agent.db).filter(**values).order_by("-id").first()
    if newest and find_runs(agent.db, newest).filter(state__in=WAITING).exists():
        return newest
    test = GuardianTest(id=str(ULID()), started_by=by, created_at=clock.now_ms(), **values)
    runs = list(build_runs(agent, regression_set, by=by, test_id=test.id))
    if not runs:
        raise Refused(_("None of these writes can be tested: a fact or file is not known, or is withheld."))
    with write_queue.agent_transaction(agent.db):
        test.save(using=agent.db, force_insert=True)
        GuardianRun.every.using(agent.db).bulk_create(runs, batch_size=500)
    return test


def run_test(agent: Agent, test_id: str, progress: Progress) -> dict[str, Any]:
    """Ask about the writes of a test that wait, and return the result of its job.

    Raises Refused when nothing may be sent, another run of the agent is running, or no call was answered.
    """
    test = GuardianTest.objects.using(agent.db).get(id=test_id)
    with launch.exclusive_run(RUNNER, agent.agent_id):
        RUNNER.check(test.llm_model)
        guardian, runs = build_guardian(test.llm_model, test.prompt), find_runs(agent.db, test)
        waiting, total = list(runs.filter(state__in=WAITING)), runs.count()
        batch = Batch(RUNNER, guardian, progress, total, done=total - len(waiting))
        batch.run(waiting, lambda run: fact_handler.handle_fact(agent, guardian, run, wait=batch.wait) is None)
    comparison = compare(agent.db, test)
    counts = {"broken": len(comparison.broken), "fixed": len(comparison.fixed), "writes": total}
    result = {"agent": agent.agent_id, "test": test.id, **batch.result(), **counts}
    result["left"] = runs.filter(state__in=WAITING).count()
    result = {"message": build_message(WORDS, result), **result}
    check_answered(result, comparison.new.count)
    return result


def compare(db: str, test: GuardianTest) -> Comparison:
    """Compare the writes as they were decided with the answers of a test so far.

    A model that neither wrote nor refused is wrong.
    """
    cases, outcomes = RegressionSet.objects.using(db).get(id=test.set_id).cases, {}
    audits = WriteGuardianAudit.objects.using(db).select_related("after_snapshot").defer("diff", "hunks_json")
    runs = find_runs(db, test).exclude(state__in=(*WAITING, State.STOPPED)).iterator(chunk_size=CHUNK)
    for batch in in_batches(runs, CHUNK):
        audits_by_id = audits.in_bulk([run.retry_of for run in batch])
        for run in batch:
            if audit := audits_by_id.get(run.retry_of):
                right, original = WriteState(*cases[audit.id]), correction_store.get_original_state(db, audit)
                is_written = run.state == State.PROPOSED
                is_stated = is_written and _has_fact(run, audit, right.fact, is_literal=right.fact != original.fact)
                status, fact = Status.WRITTEN if is_written else run.state, right.fact if is_stated else ""
                is_right = run.state != State.FAILED and _is_right(right, WriteState(status, fact, run.target_file))
                outcomes[audit.id] = (_is_right(right, original), is_right)
    return Comparison.build(cases, outcomes)


def _is_right(right, state):
    """Whether the right fact is in the right file, or neither is written."""
    return right == state or Status.WRITTEN not in (right.status, state.status)


def _has_fact(run, audit, fact, *, is_literal):
    """Whether a model added the fact, or half of its words, and left all lines that the original write had left."""
    before, after = (
        (packing.unpack(bytes(data)).decode(errors="replace") if data else "").splitlines()
        for data in (run.before_zstd, run.after_zstd)
    )
    remaining = set(audit.after_snapshot.content.splitlines()) if audit.after_snapshot else set()
    known = set(before)
    if (known & remaining) - {*after, ""}:
        return False
    added = words.split(words.fold("\n".join(line for line in after if line not in known)))
    parts = words.split(words.fold(fact))
    return " ".join(parts) in " ".join(added) if is_literal else len(set(parts) & set(added)) * 2 >= len(set(parts))
