"""What apps declare beside their tables (`openclaw_web.sqlite.integrity`), looked for in the file of an agent."""

from collections.abc import Iterator
from dataclasses import replace

from django.apps import apps
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS
from django.utils.translation import ngettext

from agents.models import Agent
from openclaw_web import amounts
from openclaw_web.pages.formatting import listed
from openclaw_web.sqlite import column_types, integrity
from openclaw_web.sqlite.integrity import Check, Lost

from ..findings import FINDING, NOTE, Finding, first_of
from . import ways_back

REPAIR = "declared"  # the repair of findings whose check declares one


def find_mistyped(agent: Agent) -> dict[str, list[str]]:
    """Rows with values of the wrong type, by the app whose tables have them: nothing else can be asked of these."""
    rows = {label: _mistyped(agent.db, label) for label in settings.AGENT_APPS}
    return {label: names for label, names in sorted(rows.items()) if names}


def look_at_global() -> Iterator[Finding]:
    """Rows of the global database with values of the wrong type."""
    labels = [app.label for app in apps.get_app_configs() if app.label not in settings.AGENT_APPS]
    if names := [row for label in labels for row in _mistyped(DEFAULT_DB_ALIAS, label)]:
        sentence = ngettext(
            "%(rows)s of the global database contains a value of the wrong type: %(named)s.",
            "%(rows)s of the global database contain values of the wrong type: %(named)s.",
            len(names),
        )
        words = {"rows": amounts.of("rows", len(names)), "named": listed(first_of(names))}
        yield ways_back.told(Finding("global_types", sentence % words, "state/openclaw.sqlite"))


def _mistyped(db, label):
    models = apps.get_app_config(label).get_models()
    return [row for model in models for row in column_types.find_mistyped(db, model)]


def look(agent: Agent, mistyped: dict[str, list[str]], *, is_deep: bool) -> Iterator[Finding]:
    """What is wrong with the rows of an agent; `is_deep` reads every window, version and diff."""
    for label, names in mistyped.items():
        yield ways_back.told(_finding(agent, Check(name=f"{label}_types", sentence=integrity.MISTYPED), names))
    lost: dict[str, Lost] = {}
    findings = []
    for label, checks in integrity.declared().items():
        for check in checks if label not in mistyped else ():
            if names := check.names(agent.db, is_deep=is_deep):
                findings.append(_finding(agent, check, names))
                if check.lost and not check.is_note and not check.repair:
                    lost[check.name] = check.lost(agent.db)
    yield from _with_ways_back(agent, findings, lost, is_deep)


def _finding(agent, check, names):
    words = {"agent": agent.agent_id, "count": len(names), "rows": amounts.of(check.noun, len(names))}
    words |= {"target": check.target, "named": listed(first_of(names))}
    level, repair = NOTE if check.is_note else FINDING, REPAIR if check.repair else ""
    return Finding(check.name, check.sentence % words, level=level, repair=repair, agent=agent.agent_id)


def _with_ways_back(agent, findings, lost, is_deep):
    """What nothing makes again, with the backup that has it."""
    ways = ways_back.of_lost(agent.agent_id, lost, is_deep=is_deep) if lost else {}
    for finding in findings:
        if finding.check in ways:
            yield replace(finding, sentence=f"{finding.sentence} {ways[finding.check]}")
        elif finding.level == FINDING and not finding.repair:
            yield ways_back.told(finding)
        else:
            yield finding
