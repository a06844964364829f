"""Words of the pages of findings for kinds, sources and verdicts."""

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from findings import places
from findings.models import Source
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.detectors import spans

from ..models import FindingVerdict

Scope, Verdict = FindingVerdict.Scope, FindingVerdict.Verdict
KIND_WORDS = {
    spans.KEY: pgettext_lazy("secret", "Key"),
    spans.PASSWORD: _("Password"),
    spans.JWT: _("Signed token (JWT)"),
    spans.PRIVATE_KEY: _("Private key"),
    spans.SECRET: _("Secret"),
    spans.EMAIL: _("Email address"),
    spans.PHONE: _("Phone number"),
    spans.CARD: _("Card number"),
    spans.IBAN: _("Bank account (IBAN)"),
    spans.ID_NUMBER: _("Identity number"),
    spans.IP_ADDRESS: _("IP address"),
    spans.CUSTOM: _("Other"),
    spans.NOT_FULLY_SCANNED: _("Not fully scanned"),
}
# The kinds of a finding that a person adds, in the order in which they are offered.
ADDED_KINDS = {kind: KIND_WORDS[kind] for kind in (spans.CUSTOM, *KIND_WORDS) if kind != spans.NOT_FULLY_SCANNED}
SOURCE_WORDS = {
    Source.RECORD.value: _("Message or tool result"),
    Source.DECISION.value: _("Decision of the memory gate"),
    Source.WRITE.value: _("Write to a memory file"),
    Source.SNAPSHOT.value: _("Version of a memory file"),
    Source.FILE.value: _("Version of a workspace file"),
    Source.CORRECTION.value: _("Correction of a write"),
    Source.PROMPT.value: _("What the memory gate saw"),
    Source.INSTRUCTION.value: _("Prompt of the memory gate"),
    Source.ARTIFACT.value: _("Artifact"),
}
# A verdict on its own, as a list of verdicts names it.
DECIDED_WORDS = {
    (Scope.VALUE.value, Verdict.CONFIRMED.value): _("Confirmed wherever it stands"),
    (Scope.VALUE.value, Verdict.DISMISSED.value): _("Dismissed wherever it stands"),
    (Scope.VALUE.value, Verdict.ADDED.value): _("Added by hand"),
    (Scope.PLACE.value, Verdict.CONFIRMED.value): _("Confirmed in one place"),
    (Scope.PLACE.value, Verdict.DISMISSED.value): _("Dismissed in one place"),
    (Scope.RULE.value, Verdict.CONFIRMED.value): _("Confirmed the rule"),
    (Scope.RULE.value, Verdict.DISMISSED.value): _("Dismissed the rule"),
}
UNDONE_WORD = _("Undid a verdict")
UNSCANNED = ngettext_lazy(
    "%(shown)s record or text is not scanned yet.", "%(shown)s records and texts are not scanned yet.", "count"
)
# Why a sample is in no export, by its `privacy_checked`.
WITHHELD = {
    None: _("This sample is not checked yet for personal data and secrets: it is in no export until a job has."),
    False: _("This sample was not fully scanned for personal data and secrets, so it is in no export."),
}
NOT_CHECKED = ngettext_lazy("%(count)s sample is not checked yet.", "%(count)s samples are not checked yet.", "count")
NOT_FULLY_SCANNED = ngettext_lazy(
    "%(count)s text was not fully scanned, and is in no export: see its kind in the list.",
    "%(count)s texts were not fully scanned, and are in no export: see their kind in the list.",
    "count",
)
ALL_SCANNED, NO_TEXTS = _("All texts are scanned."), _("There is nothing to scan yet: no agent is imported.")
CHANGED_TEXT = pgettext_lazy("value", "The text has changed since it was scanned")
DOTS = places.MASK  # in place of a value that a person may not see


def get_kind_word(kind: str) -> str:
    """`email` as “Email address”; an unknown kind as it is written."""
    return str(KIND_WORDS.get(kind, kind))


def describe_verdict(row: FindingVerdict) -> str:
    """A verdict in a few words."""
    return str(DECIDED_WORDS.get((str(row.scope), str(row.verdict)), UNDONE_WORD))
