"""Words for entries of the audit log, and links to their objects."""

from django.conf import settings
from django.urls import NoReverseMatch, reverse
from django.utils.functional import Promise
from django.utils.module_loading import import_string
from django.utils.translation import gettext_lazy as _

from ..models.bookkeeping import AuditEntry
from . import details as audit_details

STARTED = "_started"  # suffix of the name of a kind of job
ACTIONS = {
    "activated": _("activated"),
    "approval_resumed": _("let rules approve samples again, after"),
    "approval_stop_undone": _("approved again what was sent to review by"),
    "approval_stopped": _("stopped approval by rules:"),
    "artifact_removed": _("removed references to"),
    "artifacts_cleared": _("cleaned up the artifact store"),
    "bulk_labelled": _("reviewed in bulk"),
    "bulk_undone": _("undid a bulk review of"),
    "change_handed_over": _("handed to the agent"),
    "checkpoint_built": _("created"),
    "claimed": _("claimed"),
    "conversations_exported": _("exported conversations"),
    "correction_withdrawn": _("withdrew the correction of"),
    "deactivated": _("deactivated"),
    "download_refused": _("was refused a download of"),
    "doctor_fixed": _("imported and repaired"),
    "doctor_undone": _("undid"),
    "doctor_unignored": _("allowed the import of sessions excluded by"),
    "downloaded": _("downloaded"),
    "episodes_capture": _("changed the automatic capture of"),
    "episodes_head": _("gave out the head of the ledger of"),
    "episodes_policy": _("changed the retention of events of"),
    "episodes_redacted": _("redacted events of"),
    "episodes_removed": _("removed old events of"),
    "exported": _("exported"),
    "exported_flagged": _("exported personal data, or keys that nobody has judged, in"),
    "benchmark_added": _("added the benchmark"),
    "dataset_created": _("created the dataset"),
    "set_imported": _("imported the set"),
    "strategy_saved": _("saved a version of the strategy"),
    "review_queue_changed": _("changed the review queue"),
    "review_queue_created": _("created the review queue"),
    "review_queue_extended": _("added new samples to the review queue"),
    "fetched": _("fetched more than usual of"),
    "finding_judged": _("judged"),
    "finding_transferred": _("kept the verdict for the new extent of"),
    "finding_undone": _("undid a verdict on"),
    "gate_turned_off": _("turned off this site's gate for"),
    "gate_turned_on": _("turned on this site's gate for"),
    "handover_checked": _("checked again"),
    "handover_done": _("had the agent carry out"),
    "guardian_turned_off": _("turned off unattended writing of"),
    "guardian_turned_on": _("turned on unattended writing of"),
    "invitation_revoked": _("revoked"),
    "invitation_used": _("accepted"),
    "invited": _("invited"),
    "job_cancelled": _("canceled"),
    "label_undone": _("undid a verdict on"),
    "labelled": _("reviewed"),
    "link_made": _("created a one-time link for"),
    "locked_out": _("was locked out"),
    "password_changed": _("changed the password of"),
    "preferences_changed": _("changed the preferences of"),
    "problem_closed": _("closed"),
    "problem_muted": _("muted"),
    "problem_seen": _("marked as seen"),
    "problem_unmuted": _("unmuted"),
    "proposal_approved": _("approved"),
    "proposal_declined": _("declined"),
    "proposal_written": _("wrote unattended"),
    "read": _("opened"),
    "reason_given": _("gave a reason for the rejection of"),
    "regression_set_stored": _("stored the verdicts as a regression set of"),
    "released": _("released"),
    "sealed": _("sealed a release of"),
    "restored": _("restored"),
    "role_changed": _("changed the role of"),
    "rule_switched_off": _("switched off"),
    "rule_switched_on": _("switched on"),
    "samples_made": _("created samples"),
    "next_queued": _("queued samples that fill gaps"),
    "session_rolled_back": _("rolled back the writes of"),
    "sessions_archived": _("archived and removed old sessions"),
    "sessions_removed": _("removed old sessions"),
    "sessions_restored": _("restored archived sessions"),
    "setting_changed": _("changed"),
    "sign_in_ended": _("signed out a browser"),
    "sign_in_failed": _("could not sign in"),
    "sign_ins_ended": _("signed out everywhere"),
    "signed_in": _("signed in"),
    "signed_out": _("signed out"),
    "stashed": _("stored"),
    "token_made": _("created"),
    "token_revoked": _("revoked"),
    "unlocked": _("unlocked"),
    "user_added": _("added"),
    "verified": _("verified"),
    "view_kept": _("saved a view of"),
    "view_removed": _("removed a view of"),
    "write_corrected": _("corrected"),
    "version_left": _("left out what was written during the rollback of"),
    "version_put_back": _("put back what was written during the rollback of"),
    "write_rolled_back": _("rolled back"),
    "rollback_refused": _("was refused a rollback of"),
}
OBJECTS = {
    "agent": _("agent"),
    "artifact": _("artifact"),
    "backup": _("backup"),
    "benchmark": _("benchmark"),
    "bulk": _("samples"),
    "checkpoint": _("checkpoint"),
    "dataset": _("dataset"),
    "strategy": _("strategy"),
    "review_queue": _("review queue"),
    "decision": _("decision"),
    "episode": _("episode"),
    "export": _("export"),
    "file": _("file"),
    "file_version": _("file version"),
    "finding": _("finding"),
    "finding_rule": _("rule of findings"),
    "gate_call": _("gate call"),
    "handover": _("change for the agent"),
    "invitation": _("invitation"),
    "job": _("job"),
    "list": _("list"),
    "migration_run": _("Doctor run"),
    "problem": _("problem"),
    "record": _("record"),
    "rule": _("rule"),
    "sample": _("sample"),
    "schedule": _("scheduled task"),
    "session": _("session"),
    "setting": _("setting"),
    "token": _("token"),
    "trace": _("export of sessions"),
    "user": _("user"),
    "proposal": _("proposed write"),
    "write": _("write to a memory file"),
}
# Additions for actions with the same words, where no object is shown beside them.
APART = {
    "finding_transferred": OBJECTS["finding"],
    "finding_undone": OBJECTS["finding"],
    "checkpoint_built": OBJECTS["checkpoint"],
    "invitation_revoked": OBJECTS["invitation"],
    "token_made": OBJECTS["token"],
    "token_revoked": OBJECTS["token"],
}
# Names of lists, by the key of their saved views and files.
LIST_NAMES = {
    "artifacts": _("Artifacts"),
    "audit": _("Audit log"),
    "calls": _("Gate calls"),
    "decisions": _("Decisions"),
    "episodes": _("Events"),
    "errors": _("Errors"),
    "events": _("Records"),
    "datasets": _("Datasets"),
    "exports": _("Exports"),
    "findings": _("Findings"),
    "jobs": _("Jobs"),
    "problems": _("Problems"),
    "rejected": _("Rejected records"),
    "samples": _("Samples"),
    "sessions": _("Sessions"),
    "skipped": _("Skipped sources"),
    "memory": _("Memory in prompts"),
    "turns": _("Turns"),
    "writes": _("Writes"),
}
# The means by which people act (people.audit.log).
MEANS = {"page": _("Page"), "api": "API", "command": _("Command line"), "job": _("Job")}
# By object type: the route of its page, and the arguments of the address.
PAGES = {
    "agent": ("ledger:session_list", lambda entry: [entry.object_id]),
    "checkpoint": ("operations:checkpoint_detail", lambda entry: [entry.agent_id, entry.object_id[-64:]]),
    "artifact": ("artifacts:artifact_detail", lambda entry: [entry.agent_id, entry.object_id[-64:]]),
    "decision": ("gate:decision_detail", lambda entry: [entry.agent_id, entry.object_id]),
    "dataset": ("datasets:dataset_detail", lambda entry: [entry.object_id]),
    "review_queue": ("datasets:queue_detail", lambda entry: [entry.object_id]),
    "finding": ("datasets:finding_detail", lambda entry: [entry.object_id]),
    "export": ("datasets:export_detail", lambda entry: [entry.object_id]),
    "file": ("guardian:file_detail", lambda entry: [entry.agent_id, entry.object_id]),
    "gate_call": ("gate:call_detail", lambda entry: [entry.agent_id, entry.object_id]),
    "handover": ("guardian:handover_detail", lambda entry: [entry.agent_id, entry.object_id]),
    "problem": ("operations:system", lambda _entry: []),
    "proposal": ("guardian:proposal_detail", lambda entry: [entry.agent_id, entry.object_id]),
    "job": ("jobs:job_detail", lambda entry: [entry.object_id]),
    "record": ("ledger:record_detail", lambda entry: [entry.agent_id, *entry.object_id.split("/", 1)]),
    "rule": ("guardian:rule_list", lambda entry: [entry.agent_id]),
    "sample": ("datasets:sample_detail", lambda entry: [entry.object_id]),
    "schedule": ("automation:cron_detail", lambda entry: [entry.agent_id, entry.object_id]),
    "session": ("ledger:session_detail", lambda entry: [entry.agent_id, entry.object_id]),
    "write": ("guardian:audit_detail", lambda entry: [entry.agent_id, entry.object_id]),
}
# Types whose objects share one page.
LISTS = {
    "backup": "operations:backup_list",
    "benchmark": "datasets:benchmark_list",
    "finding_rule": "datasets:finding_list",
    "migration_run": "operations:doctor",
    "invitation": "people:invitation_list",
    "setting": "people:settings",
    "strategy": "datasets:collection_list",
    "token": "people:token_list",
    "user": "people:user_list",
}


def action_names() -> list[str]:
    """Every action by which entries can be filtered, sorted by name."""
    return sorted([*ACTIONS, *(f"{kind}{STARTED}" for kind in settings.JOB_KINDS)])


def action_words(name: str) -> str | Promise:
    """The words of an action, which precede the name of the object.

    An action that no longer exists keeps its name.
    """
    if kind := settings.JOB_KINDS.get(name.removesuffix(STARTED)) if name.endswith(STARTED) else None:
        return import_string(kind).audit_text
    return ACTIONS.get(name, name)


def action_choices() -> list[tuple[str, str]]:
    """Every action with its words, for a filter, sorted by the words."""
    choices = [(name, str(action_words(name))) for name in action_names()]
    labelled_choices = [(name, f"{words} ({APART[name]})" if name in APART else words) for name, words in choices]
    return sorted(labelled_choices, key=lambda choice: choice[1].casefold())


def object_words(entry: AuditEntry) -> str:
    """The id of an entry's object, or the name of a list."""
    return str(LIST_NAMES.get(entry.object_id, entry.object_id)) if entry.object_type == "list" else entry.object_id


def via_words(via: str) -> str:
    """The means by which a person acted, in words.

    `via` is `page` or `token oc_12345678`, for example.
    """
    means, _blank, token = via.partition(" ")
    return _("Token %(token)s") % {"token": token} if means == "token" and token else str(MEANS.get(via, via))


def address_of(entry: AuditEntry) -> str | None:
    """The page of an entry's object, or None when it has none.

    The page may no longer exist.
    """
    if entry.object_type in LISTS:
        return reverse(LISTS[entry.object_type])
    if entry.object_type not in PAGES:
        return None
    route, arguments = PAGES[entry.object_type]
    try:
        return reverse(route, args=arguments(entry))
    except NoReverseMatch:  # an id from outside that no address can hold
        return None


def details(entry: AuditEntry) -> str:
    """The details of an entry in words: `role: labeller, for 7 days`."""
    return audit_details.describe_detail(entry.detail)
