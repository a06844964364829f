"""Runs the checks that apps declare beside their tables (`openclaw_web.sqlite.integrity`)."""

from collections.abc import Iterator

from django.apps import apps
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS
from django.utils.translation import gettext_lazy as _

from agents.models import Agent
from openclaw_web import amounts
from openclaw_web.sentences import join_sentences
from openclaw_web.sqlite import column_types, integrity
from openclaw_web.sqlite.integrity import Check, LostRows, WrongRows

from ..findings import FINDING, NOTE, Finding, format_names, format_place
from . import recovery_hints

REPAIR, LAST_REPAIR = "declared", "declared_last"  # the repairs of findings whose check declares one
GLOBAL = "state/openclaw.sqlite"
REFERENCES = Check(
    name="references", sentence=integrity.MISSING, target=_("a row"), find_deep=integrity.find_dangling, advice=""
)


def find_damaged_json(db: str) -> Iterator[str]:
    """Rows of a database with unreadable JSON; pages show only the rest of such rows."""
    for config in apps.get_app_configs():
        if (config.label in settings.AGENT_APPS) == (db != DEFAULT_DB_ALIAS):
            for model in config.get_models():
                yield from column_types.find_damaged_json(db, model)


DAMAGED_JSON = Check(name="json", sentence=integrity.DAMAGED, find_deep=find_damaged_json)


def find_mistyped(agent: Agent | None) -> dict[str, WrongRows]:
    """Rows with values of the wrong type, by app. No other check can read these tables.

    Without an agent, those of the global database.
    """
    db = agent.db if agent else DEFAULT_DB_ALIAS
    rows_by_app = {}
    for config in apps.get_app_configs():
        if _has_app(agent, config.label):
            names = (name for model in config.get_models() for name in column_types.find_mistyped(db, model))
            rows_by_app[config.label] = integrity.count_rows(names)
    return {label: rows for label, rows in sorted(rows_by_app.items()) if rows.count}


def _has_app(agent, label):
    return (label in settings.AGENT_APPS) == bool(agent)


def run_checks(agent: Agent | None, mistyped: dict[str, WrongRows], *, is_deep: bool) -> Iterator[Finding]:
    """Findings about the rows of an agent, or without one of the site.

    `is_deep` reads every window and version.
    """
    names = {label: f"{label if agent else 'global'}_types" for label in mistyped}
    wrong = [(Check(name=names[label], sentence=integrity.MISTYPED), rows) for label, rows in mistyped.items()]
    lost: dict[str, LostRows] = {}
    db = agent.db if agent else DEFAULT_DB_ALIAS
    of_apps = (check for label, check in integrity.list_checks() if label not in mistyped and _has_app(agent, label))
    for check in (REFERENCES, DAMAGED_JSON, *of_apps):
        if (rows := check.rows(db, is_deep=is_deep)).count:
            wrong.append((check, rows))
            if check.lost and not check.is_note and not check.repair:
                lost[check.name] = check.lost(db)
    # Rows that cannot be computed again are reported with the backup that contains them.
    ways = recovery_hints.describe_holding_backups(agent.agent_id, lost, is_deep=is_deep) if agent and lost else {}
    for check, rows in wrong:
        yield build_finding(agent.agent_id if agent else "", check, rows, ways.get(check.name, ""))


def build_finding(agent_id: str, check: Check, rows: WrongRows, way_back: str = "") -> Finding:
    """Build the finding of a check, with advice when it has no repair."""
    words = {
        "place": format_place(agent_id),
        "count": rows.count,
        "rows": amounts.format_amount(check.noun, rows.count),
    }
    sentences = [check.sentence % (words | {"target": check.target, "named": format_names(rows)})]
    has_advice = check.advice is not None or check.is_note or check.repair
    if last := way_back or (check.advice if has_advice else recovery_hints.describe_newest_backup()):
        sentences.append(last)
    level, repair = (
        NOTE if check.is_note else FINDING,
        (LAST_REPAIR if check.is_last else REPAIR) if check.repair else "",
    )
    path = "" if agent_id else GLOBAL
    return Finding(check.name, join_sentences(sentences), path, level=level, repair=repair, agent=agent_id)
