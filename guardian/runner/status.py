"""Status of the built-in guardian of an agent, for its page and the API."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Max
from django.utils.translation import gettext as _

from agents.models import Agent
from agents.runners import switches
from agents.runners.status import RunnerStatus, read_runner_status
from agents.runners.switches import Switch
from jobs.kinds import DAY_MS
from openclaw_web import clock
from openclaw_web.pages import formatting, zones

from ..models import GuardianRun, WriteGuardianAudit
from . import plans, proposal_counts, unattended_writes
from .llm import config
from .llm.config import RUNNER

WAITS_MS = unattended_writes.PLUGIN_DAYS * DAY_MS
Audit = WriteGuardianAudit


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnGuardianStatus(RunnerStatus):
    """Status of an agent's built-in guardian, with its counts of this UTC day.

    `switches` holds each file that may be written unattended, with the person who turned that on, or None. `proposed`
    is the number of waiting proposals of all days.
    """

    switches: dict[str, Switch | None]
    limits: dict[str, int]
    proposed: int
    written_today: int
    refused_today: int


def read_guardian_status(agent: Agent) -> OwnGuardianStatus:
    """Return the current status of an agent's built-in guardian."""
    active, today = switches.read_agent_switches(RUNNER, agent.agent_id), _read_states_of_today(agent.db)
    return OwnGuardianStatus(
        **read_runner_status(RUNNER, agent, config.get_configured_guardian(), plans.problem_of(agent)),
        cost_today=RUNNER.allowance.cost_today(agent.db),
        switches={name: active.get(name) for name in unattended_writes.UNATTENDED_FILES},
        limits=unattended_writes.read_limits(),
        proposed=proposal_counts.count_waiting(agent.db),
        written_today=today.count(GuardianRun.State.WRITTEN),
        refused_today=today.count(GuardianRun.State.REFUSED),
    )


def build_switch_sentence(agent: Agent, name: str) -> str:
    """Return the sentence that says that a file is now written unattended.

    If the plugin wrote lately, the sentence also says until when facts become proposals.
    """
    last_write = _find_last_plugin_write(agent.db)
    if last_write is None:
        return _("New facts are written to %(file)s unattended from now on.") % {"file": name}
    words = {"file": name, "day": _format_day(last_write), "until": _format_day(last_write + WAITS_MS)}
    return (
        _(
            "Unattended writing is on for %(file)s. The plugin last wrote on %(day)s; until %(until)s every fact "
            "becomes a proposal."
        )
        % words
    )


def _find_last_plugin_write(db):
    """Return when the plugin last wrote (ms), if that turns facts into proposals.

    The rule is the one of `unattended_writes`.
    """
    writes = Audit.objects.using(db).filter(
        created_at__gte=clock.now_ms() - WAITS_MS,
        origin__in=(Audit.Origin.RECORDED, Audit.Origin.IMPORTED),
        status=Audit.Status.WRITTEN,
    )
    return writes.aggregate(last=Max("created_at"))["last"]


def _format_day(ms):
    return formatting.day_in_words(datetime.fromtimestamp(ms / 1000, zones.get_zone()).date())


def _read_states_of_today(db):
    start, end = clock.today_ms()
    today = GuardianRun.objects.using(db).filter(created_at__gte=start, created_at__lt=end)
    return list(today.values_list("state", flat=True))
