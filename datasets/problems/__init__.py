"""Problems for reviewers: writes that broke a rule, and samples that wait.

A write counts until a person corrects or judges it.
"""

from collections.abc import Iterable

from django.utils.translation import gettext_lazy

from agents.models import Agent
from datasets.kinds.write import WRITE
from datasets.models import DatasetSample
from datasets.review import queues
from guardian.corrections import rules
from guardian.models import BehaviorCorrection, WriteGuardianAudit
from openclaw_web.amounts import ngettext_lazy
from problems.kinds import BY_COUNT, Facts, Finding, Kind, Link

MOST = 200  # the newest writes against rules
NAME_CHARACTERS = 80
Status = WriteGuardianAudit.Status
BROKE = ngettext_lazy(
    "%(count)s write of %(agent)s broke a rule (%(files)s).",
    "%(count)s writes of %(agent)s broke a rule (%(files)s).",
    BY_COUNT,
)
BROKE_NAMED = ngettext_lazy(
    "%(count)s write of %(agent)s broke the rule “%(name)s” (%(files)s).",
    "%(count)s writes of %(agent)s broke the rule “%(name)s” (%(files)s).",
    BY_COUNT,
)


def check_rules(agent: Agent) -> Iterable[Finding]:
    """Find the rules in force that were broken by stored writes without a judgment."""
    rows = WriteGuardianAudit.objects.using(agent.db).filter(rule_id__isnull=False).order_by("-created_at")
    reported = rows.filter(origin__in=rules.REPORTED_ORIGINS, status=Status.WRITTEN)
    writes = list(reported.values_list("id", "rule_id", "target_file", "created_at", named=True)[:MOST])
    settled = _find_settled(agent, [row.id for row in writes]) if writes else set()
    by_rule: dict[str, list] = {}
    for row in writes:
        if row.id not in settled:
            by_rule.setdefault(row.rule_id or "", []).append(row)
    in_force = {row.id: row for row in rules.find_active_rules(agent.db).filter(id__in=by_rule)} if by_rule else {}
    for rule_id, broken in by_rule.items():
        if rule_id in in_force:
            files = sorted({row.target_file or "" for row in broken})
            facts = {"rule": rule_id, "count": len(broken), "write": broken[0].id, "files": ", ".join(files)}
            facts["name"] = _read_name(agent.db, in_force[rule_id])
            yield Finding(rule_id, facts, level=len(broken), since=broken[0].created_at)


def _find_settled(agent, ids):
    """The writes among these that a person has corrected, or judged in a sample."""
    corrections = BehaviorCorrection.objects.using(agent.db).filter(audit_id__in=ids, imported_from=None)
    samples = {WRITE.find_sample_id(agent, write_id): write_id for write_id in ids}
    judged = DatasetSample.objects.filter(id__in=samples).exclude(guardian_label=None).values_list("id", flat=True)
    return set(corrections.values_list("audit_id", flat=True)) | {samples[sample_id] for sample_id in judged}


def _read_name(db, rule):
    """The name of a rule; empty when its words are withheld."""
    if rules.is_withheld(db, rules.get_write(db, rule.audit_id)):
        return ""
    return rule.name[:NAME_CHARACTERS]


def link_rule(facts: Facts) -> Link:
    """The link to the only write, or to all writes of the rule."""
    label = gettext_lazy("View")
    if facts["count"] == 1:
        return Link(label, "guardian:audit_detail", (facts["agent"], facts["write"]))
    return Link(label, "guardian:audit_list", (facts["agent"],), query={"rule": facts["rule"], "status": "written"})


def check_samples() -> Iterable[Finding]:
    """Find samples that wait for a verdict."""
    (count,) = queues.read_counts([queues.build_count(queues.Queue())])
    if count:
        most = queues.COUNTED_UP_TO
        yield Finding(facts={"count": min(count, most), "is_more": count > most}, level=0)


RULE_BROKEN = Kind(
    label=gettext_lazy("Rule broken"),
    severity=78,
    describe=lambda facts: BROKE_NAMED if facts.get("name") else BROKE,
    link=link_rule,
    check_agent=check_rules,
    probe=lambda: ("write_guardian_audit WHERE rule_id IS NOT NULL",),
    role="labeller",
    private=("name",),
)
SAMPLES_WAITING = Kind(
    label=gettext_lazy("Samples waiting"),
    severity=10,
    describe=ngettext_lazy("%(count)s sample to review.", "%(count)s samples to review.", BY_COUNT),
    link=lambda _facts: Link(gettext_lazy("Review"), "datasets:review"),
    check=check_samples,
    role="labeller",
    seen_by="labeller",
    is_counted=False,
)
