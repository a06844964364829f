"""The 404 page: a sentence that names the missing thing, and links to go on.

The sentence follows from the address alone. So removed things, things that never existed and things that this person
may not see get the same words. Only an agent is looked up first: the view reports that the agent is missing.
"""

import re
from typing import NamedTuple

from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from . import glyphs

LONGEST_NAME = 120  # characters


class MissingPart(Http404):
    """A thing named by a part of the address (`agent`, `session_id`) does not exist."""

    def __init__(self, part: str):
        super().__init__(part)
        self.part = part


class Way(NamedTuple):
    """A link to go on: its route, the parts of the address it takes, its label."""

    route: str
    parts: tuple[str, ...]
    label: str | Promise


AGENTS = Way("overview:agent_list", (), _("All agents"))
SESSIONS = Way("ledger:session_list", ("agent",), _("All sessions of this agent"))
SESSION = Way("ledger:session_detail", ("agent", "session_id"), _("The session"))
JOBS = Way("jobs:job_list", (), _("All jobs"))
SAMPLES = Way("datasets:sample_list", (), _("All samples"))
DATASETS = Way("datasets:dataset_list", (), _("All datasets"))
DATASET = Way("datasets:dataset_detail", ("dataset_id",), _("The dataset"))
BENCHMARKS = Way("datasets:benchmark_list", (), _("All benchmarks"))
FINDINGS = Way("datasets:finding_list", (), _("All findings"))
EXPORTS = Way("datasets:export_list", (), _("All exports"))
USERS = Way("people:user_list", (), _("All users"))
PROBLEMS = Way("operations:system", (), _("All problems"))
BACKUPS = Way("operations:backup_list", (), _("All backups"))
ARTIFACTS = Way("artifacts:artifact_list", ("agent",), _("All artifacts of this agent"))
FILES = Way("guardian:file_list", ("agent",), _("All files of this agent"))
DECISIONS = Way("gate:decision_list", ("agent",), _("All decisions of this agent"))
CALLS = Way("gate:call_list", ("agent",), _("All gate calls of this agent"))
REPLAYS = Way("gate:replay_list", ("agent",), _("All replays of this agent"))
WRITES = Way("guardian:audit_list", ("agent",), _("All writes of this agent"))
WRITE = Way("guardian:audit_detail", ("agent", "audit_id"), _("View write"))
EVERY_WRITE = Way("guardian:audit_list", ("agent",), _("View all writes"))
TASKS = Way("automation:cron_list", ("agent",), _("All scheduled tasks of this agent"))

# For routes whose address names a thing in its own way: that part of the address, the sentence, the links.
BY_ROUTE = {
    "automation:cron_detail": ("job_id", _("There is no scheduled task %(name)s."), (TASKS,)),
    "datasets:export_file": ("name", _("There is no file %(name)s in this export."), (EXPORTS,)),
    "operations:checkpoint_detail": ("sha256", _("There is no checkpoint %(name)s."), (SESSIONS,)),
    "guardian:blame": ("name", _("There is no memory file %(name)s."), (FILES,)),
    "guardian:file_history": ("name", _("There is no memory file %(name)s."), (FILES,)),
    "guardian:file_detail": ("name", _("There is no file %(name)s, or not in this version."), (FILES,)),
}
# For all other routes, by the part that names the thing, the innermost first.
BY_PART = {
    "record_id": ("record_id", _("There is no record %(name)s in this session."), (SESSION, SESSIONS)),
    "step_id": ("step_id", _("There is no step %(name)s in this session."), (SESSION, SESSIONS)),
    "decision_id": ("decision_id", _("There is no decision %(name)s."), (DECISIONS,)),
    "audit_id": ("audit_id", _("There is no write %(name)s."), (WRITES,)),
    "call_id": ("call_id", _("There is no gate call %(name)s."), (CALLS,)),
    "prompt_id": ("prompt_id", _("There is no prompt version %(name)s."), (DECISIONS,)),
    "remediation_id": ("remediation_id", _("There is no plan %(name)s."), (DECISIONS,)),
    "replay_id": ("replay_id", _("There is no replay %(name)s."), (REPLAYS,)),
    "session_id": ("session_id", _("There is no session %(name)s."), (SESSIONS, AGENTS)),
    "sha256": ("sha256", _("There is no artifact %(name)s."), (ARTIFACTS,)),
    "sample_id": ("sample_id", _("There is no sample %(name)s."), (SAMPLES,)),
    "number": ("number", _("There is no release %(name)s of this dataset."), (DATASET, DATASETS)),
    "version_id": ("version_id", _("There is no release %(name)s."), (DATASETS,)),
    "dataset_id": ("dataset_id", _("There is no dataset %(name)s."), (DATASETS,)),
    "benchmark_id": ("benchmark_id", _("There is no benchmark %(name)s."), (BENCHMARKS,)),
    "value_hash": ("value_hash", _("There is no finding %(name)s."), (FINDINGS,)),
    "export_id": ("export_id", _("There is no export %(name)s."), (EXPORTS,)),
    "job_id": ("job_id", _("There is no job %(name)s."), (JOBS,)),
    "backup_id": ("backup_id", _("There is no backup %(name)s."), (BACKUPS,)),
    "problem_id": ("problem_id", _("There is no problem %(name)s."), (PROBLEMS,)),
    "username": ("username", _("There is no user %(name)s."), (USERS,)),
    "agent": ("agent", _("There is no agent %(name)s."), (AGENTS,)),
}

# Sentences for addresses of the API, the innermost part first.
SENTENCES = {
    "run_id": _("There is no run %(name)s."),
    "sign_in_id": _("There is no sign-in %(name)s of yours."),
    "invitation_id": _("There is no invitation %(name)s."),
    "token_id": _("There is no token %(name)s."),
    "rule_id": _("There is no rule %(name)s."),
    **{part: sentence for part, (_part, sentence, _ways) in BY_PART.items() if part not in ("job_id", "sha256")},
    "sha256": _("There is no checkpoint %(name)s."),
    "name": _("There is no file %(name)s."),
    "job_id": BY_PART["job_id"][1],
}
# Parts of addresses by the model that was queried.
PART_OF_MODEL = {
    "Agent": "agent",
    "Session": "session_id",
    "DatasetSample": "sample_id",
    "DatasetExport": "export_id",
    "Dataset": "dataset_id",
    "DatasetVersion": "number",
    "Benchmark": "benchmark_id",
    "FindingValue": "value_hash",
    "MemoryGateDecision": "decision_id",
    "WriteGuardianAudit": "audit_id",
}
NOT_MATCHED = re.compile(r"No (\w+) matches the given query\.")  # the message of get_object_or_404

# Links after a refusal, for some routes: the thing first, then all of its kind.
AFTER_REFUSAL = {
    "guardian:rollback": (WRITE, EVERY_WRITE),
    "guardian:rollback_do": (WRITE, EVERY_WRITE),
    "guardian:session_rollback": (EVERY_WRITE,),
    "guardian:session_rollback_do": (EVERY_WRITE,),
}


def build_context(request: HttpRequest, exception: Exception) -> dict[str, object]:
    """Build the context of the 404 page: `sentence`, and `ways` as (label, address).

    It is empty for a mistyped address.
    """
    match = request.resolver_match
    if match is None:
        return {}
    parts = match.kwargs
    if isinstance(exception, MissingPart):
        parts, entry = request.GET.dict() | parts, BY_PART[exception.part]
    else:
        entry = BY_ROUTE.get(match.view_name) or next((BY_PART[name] for name in BY_PART if name in parts), None)
    if entry is None:
        return {}
    part, sentence, ways = entry
    return {"sentence": sentence % {"name": _shorten_name(parts[part])}, "ways": _build_links(ways, parts)}


def build_api_sentence(request: HttpRequest, exception: Exception) -> str:
    """The sentence about the thing that an operation of the API did not find.

    It is empty for a mistyped address.
    """
    match = request.resolver_match
    parts = match.kwargs if match else {}
    if isinstance(exception, MissingPart):
        part = exception.part
    elif model := NOT_MATCHED.fullmatch(str(exception)):
        part = PART_OF_MODEL.get(model[1], "")
    elif type(exception) is Http404 and str(exception):
        return str(exception)
    else:
        part = ""
    known = SENTENCES.keys() & parts.keys() - {"agent"}  # a missing agent is reported by its own part
    part = part if part in parts else next((name for name in SENTENCES if name in known), "")
    return SENTENCES[part] % {"name": _shorten_name(parts[part])} if part else ""


def find_ways_on(request: HttpRequest, *, is_missing: bool) -> list[tuple[str | Promise, str]]:
    """The links to go on from a refusal, as (label, address).

    `is_missing`: the thing itself does not exist.
    """
    match = request.resolver_match
    ways = AFTER_REFUSAL.get(match.view_name, ()) if match else ()
    return _build_links(ways[-1:] if is_missing else ways, match.kwargs if match else {})


def _shorten_name(name):
    name = glyphs.to_one_line(str(name))
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def _build_links(ways, parts):
    return [(way.label, reverse(way.route, args=[parts[part] for part in way.parts])) for way in ways]
