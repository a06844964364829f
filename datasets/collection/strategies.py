"""Versions of collecting strategies: what is valid, which is in force, how a new one is stored.

The first version of `default` has the values of the settings `datasetCollection.*`. A later change of these settings is
its next version, and a saved version changes the settings, so that both say the same.
"""

import re
from collections.abc import Mapping
from typing import Any

from django.db.models import Max
from django.utils.translation import gettext as _

from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.sqlite import write_queue
from people.audit import log
from people.configuration import setting_values as configuration
from people.models.bookkeeping import KeyValue

from ..models import CollectionStrategy
from .classification import DAYS, HIGH, LEAST, MEDIUM
from .criteria import CRITERIA, GROUPS, NEGATIVE, POSITIVE

DEFAULT = "default"
PREFIX = "datasetCollection."
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
MOST_DAYS = 3_650
BY_SETTINGS = "settings"
GROUP_OF = {criterion.name: criterion.group for criterion in CRITERIA}
SWITCHES = {"turns", "autoApprove", *GROUP_OF} - {DAYS, LEAST}
FRACTIONS = (LEAST, MEDIUM, HIGH)
INITIAL: dict[str, Any] = {
    **{group: {criterion.name: True for criterion in CRITERIA if criterion.group == group} for group in GROUPS},
    "turns": False,
    "autoApprove": False,
    MEDIUM: 0.5,
    HIGH: 0.9,
}
SETTINGS = tuple(
    f"{PREFIX}{group}.{name}"
    for group, name in (
        *((POSITIVE, criterion.name) for criterion in CRITERIA if criterion.group == POSITIVE),
        *((NEGATIVE, name) for name in ("gateProposedWrite", "guardianRefused", "hasBehaviorCorrection")),
    )
)


def change_criteria(criteria: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The criteria with other switches and thresholds, by their flat names. Raises Refused for invalid ones."""
    changed = {name: dict(value) if isinstance(value, dict) else value for name, value in criteria.items()}
    for name, value in changes.items():
        if name in GROUP_OF:
            changed[GROUP_OF[name]][name] = value
        elif name in INITIAL and name not in GROUPS:
            changed[name] = value
        else:
            raise Refused(_("There is no criterion “%(name)s”.") % {"name": str(name)[:100]})
    _check_values(flatten(changed))
    return changed


def flatten(criteria: Mapping[str, Any]) -> dict[str, Any]:
    """Switches and thresholds by name."""
    groups = {name: value for group in GROUPS for name, value in criteria[group].items()}
    return groups | {name: value for name, value in criteria.items() if name not in GROUPS}


def _check_values(values):
    for name, value in values.items():
        if name in SWITCHES and not isinstance(value, bool):
            raise Refused(_("%(name)s must be true or false.") % {"name": name})
    days = values[DAYS]
    if type(days) is not int or not 0 <= days <= MOST_DAYS:
        raise Refused(_("%(name)s must be a whole number from 0 to 3650.") % {"name": DAYS})
    for name in FRACTIONS:
        if isinstance(values[name], bool) or not isinstance(values[name], (int, float)) or not 0 <= values[name] <= 1:
            raise Refused(_("%(name)s must be 0 to 1.") % {"name": name})


def find_in_force(name: str = DEFAULT) -> CollectionStrategy:
    """The version in force, perhaps not stored yet. Raises Refused for a name without versions."""
    last = CollectionStrategy.objects.filter(name=name).order_by("-version").first()
    if last is not None:
        last.criteria = INITIAL | last.criteria  # nothing is missing, also where the row is damaged
    if name != DEFAULT:
        if last is None:
            raise Refused(_("There is no strategy “%(name)s”.") % {"name": name[:100]})
        return last
    rows = KeyValue.objects.filter(scope=configuration.SCOPE, key__in=SETTINGS)
    changed_at = rows.aggregate(at=Max("updated_at"))["at"] or 0
    if last is not None and changed_at <= last.created_at:
        return last
    criteria = change_criteria(last.criteria if last else INITIAL, _read_settings())
    if last is not None and criteria == last.criteria:
        return last
    return _build_version(name, last.version + 1 if last else 1, criteria, BY_SETTINGS)


def require_in_force(name: str = DEFAULT) -> CollectionStrategy:
    """The version in force, stored."""
    strategy = find_in_force(name)
    if strategy.pk is None:
        with write_queue.global_transaction():
            strategy = find_in_force(name)  # under the write lock: another process may have stored it
            if strategy.pk is None:
                strategy.save(force_insert=True)
    return strategy


def save_version(changes: Mapping[str, Any], *, by: str, name: str = DEFAULT) -> CollectionStrategy:
    """Store the next version of a strategy: the one in force with changes; a new name begins at that of `default`.

    Raises Refused for invalid criteria and names, and when nothing would change.
    """
    if not NAME.fullmatch(name):
        raise Refused(_("The name of a strategy has up to 40 small letters, digits, - and _."))
    is_new = name != DEFAULT and not CollectionStrategy.objects.filter(name=name).exists()
    before = require_in_force(DEFAULT if is_new else name)
    criteria = change_criteria(before.criteria, changes)
    if not is_new and criteria == before.criteria:
        raise Refused(_("Nothing was changed: version %(version)s has these values.") % {"version": before.version})
    with write_queue.global_transaction():
        last = CollectionStrategy.objects.filter(name=name).aggregate(last=Max("version"))["last"] or 0
        if not is_new and last != before.version:
            raise Refused(_("Somebody else has just saved a version. Check it first."))
        if name == DEFAULT:
            _put_settings(criteria, by)
        strategy = _build_version(name, last + 1, criteria, by)
        strategy.save(force_insert=True)
        log.record(by, "strategy_saved", object_type="strategy", object_id=str(strategy))
    return strategy


def _read_settings():
    values = configuration.get_many(*SETTINGS)
    return {key.rpartition(".")[2]: value for key, value in values.items()}


def _put_settings(criteria, by):
    stored = configuration.get_many(*SETTINGS)
    values = {key: criteria[key.split(".")[1]][key.split(".")[2]] for key in SETTINGS}
    configuration.put_all({key: value for key, value in values.items() if stored[key] != value}, by=by)


def _build_version(name, version, criteria, by):
    return CollectionStrategy(name=name, version=version, criteria=criteria, created_by=by, created_at=clock.now_ms())
