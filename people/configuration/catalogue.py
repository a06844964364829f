"""Every setting of the site, by the groups of the page.

Each has a type, a default, limits and words.

Settings of the Reflection spec keep its names; our own stand beside them.
"""

import re

from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop as N_

from openclaw_web.detectors.custom_patterns import UnusablePatternError, compile_patterns
from openclaw_web.pages.zones import find_zone

from .setting import choices, daily, folder, fraction, line, lines, number, switch, text

REASON = re.compile(r"([a-z][a-z0-9_]{0,31}): *(\S.{0,39})")
PRICE = re.compile(r"(\S+): *([0-9]{1,6}(?:\.[0-9]{1,6})?) +([0-9]{1,6}(?:\.[0-9]{1,6})?)", re.ASCII)
ALL_AGENTS, USD = "all agents", "USD"
BUDGET = re.compile(
    rf"({ALL_AGENTS}|[a-z0-9][a-z0-9_-]{{0,55}}): *([0-9]{{1,12}}(?:\.[0-9]{{1,6}})?) +({USD}|tokens) per (day|month)",
    re.ASCII,
)
WEIGHT = re.compile(r"([A-Za-z]{1,40}): *(0(?:\.[0-9]{1,6})?|1(?:\.0{1,6})?)", re.ASCII)
MAIL = re.compile(r"(?:[\w.+=-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,9})?", re.ASCII)
SITE = re.compile(r"(?:https?://[\w.:\[\]-]{1,200}(?:/[\w./~-]{0,200})?)?", re.ASCII)
QUIET = re.compile(r"((?:[01]\d|2[0-3]):[0-5]\d)-((?:[01]\d|2[0-3]):[0-5]\d)(?: (\S{1,100}))?", re.ASCII)
MOST_REASONS, MOST_PRICES, MOST_BUDGETS = 9, 200, 50  # each reason has a digit as its key
# Stored in English and shown in the language of the request, as long as a code has its original label.
REJECT_REASONS = {
    "wrong_fact": N_("Wrong fact"),
    "wrong_tool": N_("Wrong tool"),
    "tone": N_("Tone"),
    "unsafe": N_("Unsafe"),
    "other": N_("Other"),
}
# The names of artifacts.contents.secrets, which is an app above; a test compares the two.
SECRET_KINDS = {
    "api_key": _("API key (the word)"),
    "password": _("Password (the word)"),
    "token": _("Token (the word)"),
    "secret": _("Secret (the word)"),
    "private_key": _("Private key"),
    "aws_key": _("AWS key"),
    "bearer": _("Bearer token"),
    "github_key": _("GitHub key"),
    "google_key": _("Google key"),
    "jwt": _("JSON Web Token"),
    "model_key": _("Key of a model provider"),
    "slack_key": _("Slack key"),
    "other_key": _("Key of another service"),
}


# The default patterns of the Reflection spec. They name assignments, whose values every export redacts.
REDACT_PATTERNS = ["api[_-]?key", "password", "token", "secret", "-----BEGIN.*-----"]

# The weights of the Reflection spec for the factors of a score.
QUALITY_WEIGHTS = ["conversationClarity: 0.4", "decisionConfidence: 0.35", "factVerifiability: 0.25"]


def explain_patterns(texts: list[str]) -> str:
    """Why patterns cannot be used: what they would do; empty when they can."""
    try:
        compile_patterns(texts)
    except UnusablePatternError as problem:
        return gettext(problem.sentence) % problem.values
    return ""


def parse_reasons(values: list[str]) -> dict[str, str]:
    """Parse reasons for a rejection (`code: label`) into labels by code.

    Our own labels are in the language of the request.
    """
    parts = ((code, label.strip()) for code, _colon, label in (value.partition(":") for value in values))
    return {code: gettext(label) if REJECT_REASONS.get(code) == label else label for code, label in parts}


def parse_weights(values: list[str]) -> dict[str, float]:
    """Parse weights of the factors of a score (`conversationClarity: 0.4`), by factor."""
    return {match[1]: float(match[2]) for value in values if (match := WEIGHT.fullmatch(value))}


def parse_prices(values: list[str]) -> dict[str, tuple[float, float]]:
    """Parse prices into US dollars per million prompt and completion tokens, by model."""
    matches = (match for value in values if (match := PRICE.fullmatch(value)))
    return {match[1]: (float(match[2]), float(match[3])) for match in matches}


def parse_budgets(values: list[str]) -> dict[tuple[str, str, str], float]:
    """Parse budgets into amounts by agent (or ALL_AGENTS), unit (USD or tokens) and period (day or month)."""
    matches = (match for value in values if (match := BUDGET.fullmatch(value)))
    return {(match[1], match[3], match[4]): float(match[2]) for match in matches}


def _are_budgets(values):
    amounts = parse_budgets(values)
    return len(values) <= MOST_BUDGETS and len(amounts) == len(values) and all(amounts.values())


def _are_weights(values):
    weights = parse_weights(values)
    names = {value.partition(":")[0] for value in QUALITY_WEIGHTS}
    return len(values) == len(weights) and weights.keys() == names and sum(weights.values()) > 0


def _are_reasons(values):
    return (
        len(values) <= MOST_REASONS and all(map(REASON.fullmatch, values)) and len(parse_reasons(values)) == len(values)
    )


def _are_prices(values):
    return len(values) <= MOST_PRICES and len(parse_prices(values)) == len(values)


def _build_secret_choices(default):
    shape = format_lazy(_("a list of kinds of secrets: {kinds}"), kinds=", ".join(SECRET_KINDS))
    return choices(default, SECRET_KINDS, shape)


IMPORT = {
    "schedule.collectMinutes": number(0, 0, 10_080, _("minutes")).with_words(
        _("Import every"), _("Imports again after this time, for folders that nobody watches. 0 = off.")
    ),
    "collector.optedOutSenders": lines([], _("a list of texts")).with_words(
        _("Senders to leave out"),
        _("Not imported: messages of these sender IDs or names, and answers to them. One per line; empty = none."),
        _("Lines that they left in memory files are listed for each agent, behind the gear of Memory."),
    ),
    "collector.includeDeleted": switch(False).with_words(
        _("Import reset and deleted sessions"),
        _("Every import and check includes sessions that were reset or deleted in OpenClaw. Off = they are left out."),
    ),
}
MEMORY = {
    "collector.stashOutputs": switch(True).with_words(
        _("Store large tool outputs as artifacts"),
        _("During import, large tool outputs become artifacts. Off = they are kept in their records."),
    ),
}
GATE = {
    "memoryGateAuditing.enabled": switch(True).with_words(
        _("Keep decisions of memory_gate"), _("Off = decisions are neither imported nor accepted from a plugin.")
    ),
    "memoryGateAuditing.enableStats": switch(True).with_words(
        _("Keep statistics of decisions"),
        _("Off = statistics are removed, and calculated again when this is turned on."),
    ),
    "memoryGateAuditing.storeRawLLMResponse": switch(True).with_words(
        _("Keep raw responses"), _("Keeps what the model answered word for word. Only operators and admins see it.")
    ),
    "reflection.logFolder": folder().with_words(
        _("Log folder of the Reflection plugin"),
        _("Absolute path of the folder with reflection-*.log. Read at each import. Empty = none."),
    ),
    "memoryGate.windowSize": number(10, 0, 200, _("messages")).with_words(
        _("Context of a turn"), _("Keeps this many earlier messages with each turn as its context. 0 = none.")
    ),
    "memoryGate.enabled": switch(False).with_words(
        _("Let this site's gate decide"),
        _("Sends new turns of chosen agents to the language model. Off = nothing is sent."),
    ),
    "llm.model": line(
        lambda name: len(name) <= 200 and name.isprintable(), _("the name of a model, or empty")
    ).with_words(
        _("Model"), _("Name of the model as its endpoint calls it. The endpoint itself is set in the environment.")
    ),
    "memoryGate.prompt": text().with_words(
        _("Prompt of the gate"),
        _("Tells the model how to decide. Each text is kept as a version. Empty = the built-in prompt."),
    ),
    "memoryGate.tokensPerDay": number(500_000, 0, 1_000_000_000, _("tokens")).with_words(
        _("Tokens a day"), _("Limit of this site's gate for each UTC day and agent. 0 = no limit.")
    ),
    "llm.prices": lines([], _("a list of lines such as gpt-x: 0.25 2.00, one for each model"), _are_prices).with_words(
        _("Prices of models"),
        _("One per line: model, colon, US dollars per million prompt and per million completion tokens."),
    ),
    "memoryGate.driftPoints": number(5, 1, 100, _("percentage points")).with_words(
        _("Report a drift from"),
        _("Reports a decision whose share changed by this much against the four weeks before."),
    ),
    "memoryGate.driftDecisions": number(50, 1, 1_000_000, _("decisions")).with_words(
        _("Report a drift with at least"), _("Number of decisions needed in the week and in the four weeks before.")
    ),
}
GUARDIAN = {
    "writeGuardianAuditing.enabled": switch(True).with_words(
        _("Keep writes to memory files"), _("Off = writes are neither imported nor accepted from a plugin.")
    ),
    "writeGuardianAuditing.storeFileSnapshots": switch(True).with_words(
        _("Keep files before and after a write"), _("Off = writes have no diff and cannot be rolled back.")
    ),
    "writeGuardianAuditing.enableRollback": switch(True).with_words(
        _("Allow rollbacks"), _("Off = nobody can roll back a write.")
    ),
    "writeGuardianAuditing.maxSnapshotsPerFile": number(100, 1, 100_000, _("versions")).with_words(
        _("Versions to keep of each file"), _("Older versions that nothing refers to are removed.")
    ),
    "writeGuardian.enabled": switch(False).with_words(
        _("Let this site's guardian propose writes"),
        _("Sends facts of decisions, and memory files, to the language model. Off = nothing is sent."),
    ),
    "writeGuardian.steps": number(8, 1, 50, _("steps")).with_words(
        _("Steps for a fact"), _("After this many answers without a result, the model is not asked again about a fact.")
    ),
    "writeGuardian.tokensPerDay": number(500_000, 0, 1_000_000_000, _("tokens")).with_words(
        _("Tokens a day for writes"), _("Limit of this site's guardian for each UTC day and agent. 0 = no limit.")
    ),
    "writeGuardian.unattendedLinesAdded": number(20, 0, 1000, _("lines")).with_words(
        _("Unattended: added lines"),
        _("A change with more added lines is a proposal, also where unattended writing is on."),
    ),
    "writeGuardian.unattendedLinesRemoved": number(5, 0, 1000, _("lines")).with_words(
        _("Unattended: removed lines"),
        _("A change with more removed lines is a proposal, also where unattended writing is on."),
    ),
    "writeGuardian.unattendedWritesPerDay": number(10, 0, 1000, _("writes")).with_words(
        _("Unattended: writes a day"),
        _("Limit for each UTC day and agent; further changes are proposals. 0 = no unattended writes."),
    ),
    "writeGuardian.handOver": switch(False).with_words(
        _("Let operators hand changes to the agent"),
        _("Runs “openclaw agent” with a change of a memory file, which its model reads. Off = nothing is started."),
    ),
    "writeGuardian.handOverSeconds": number(300, 10, 3600, _("seconds")).with_words(
        _("Time for a change that is handed over"),
        _("After this time the command is stopped. The agent may still finish the change."),
    ),
}
SECRETS = {
    "artifacts.flaggedKinds": _build_secret_choices(list(SECRET_KINDS)).with_words(
        _("Secrets that restrict an artifact to admins"),
        _("Only admins download artifacts in which these were found. None = no restriction."),
    ),
    "datasetCollection.privacyFiltering.redactPatterns": lines(
        REDACT_PATTERNS, _("a list of regular expressions"), lambda texts: not explain_patterns(texts)
    )
    .with_explanation(explain_patterns)
    .with_words(
        _("Patterns to redact"),
        _("Exports redact what these regular expressions match. One per line; empty = none."),
        _("The five names at first are always in force: redacted is the value that follows them, never the name."),
    ),
}
BACKUPS = {
    "backup.folder": folder().with_words(
        _("Backup folder"), _("Absolute path; another disk is safer. Empty = “backups” in the home of this site.")
    ),
    "schedule.backupHours": number(0, 0, 8760, _("hours")).with_words(
        _("Back up every"), _("Creates and verifies a backup after this time. 0 = off.")
    ),
    "backup.keep": number(7, 0, 1000, _("backups")).with_words(
        _("Backups to keep"),
        _("Each scheduled backup removes the oldest verified backups above this number. 0 = keep all."),
    ),
    "schedule.drillDays": number(0, 0, 365, _("days")).with_words(
        _("Restore test every"),
        _("Restores the newest backup into a separate folder, to prove that the backup works. 0 = off."),
    ),
}
RETENTION = {
    "retentionDays": number(0, 0, 36_500, _("days")).with_words(
        _("Remove inactive sessions after"),
        _("Permanently, once a day; anything used by samples is kept. 0 = never. Preview on the page Retention."),
    ),
    "episodes.dailyRetention": switch(False).with_words(
        _("Remove old events"),
        _("Once a day, removes events older than their type is kept in their scope. Off = only on request."),
    ),
    "jobs.retentionDays": number(90, 0, 36_500, _("days")).with_words(
        _("Remove ended jobs after"),
        _("Removes ended jobs, and receipts nothing refers to, after this time. 0 = never."),
    ),
}
DAILY_FILES = {
    "jsonlExport.enabled": switch(False).with_words(
        _("Write conversations to daily files"),
        _("Once a day, writes exports/conversations-YYYY-MM-DD.jsonl in the home of this site."),
    ),
    "jsonlExport.schedule": daily("0 0 * * *").with_words(
        _("Write daily files at"), _("Time of the day at which these files are written.")
    ),
    "jsonlExport.retentionDays": number(30, 1, 3650, _("days")).with_words(
        _("Keep daily files for"), _("Removes daily files after this time. At least 1.")
    ),
}
REVIEW = {
    "review.guide": text().with_words(
        _("Review guide"), _("Shown beside each sample in review: what a good reply is. Empty = no guide.")
    ),
    "review.approvalErrorPercent": number(10, 1, 50, _("percent")).with_words(
        _("Error of approval by rules"),
        _("Rules stop approving samples when people disagree with more than this, or with 95% certainty may."),
    ),
    "review.rejectReasons": lines(
        [f"{code}: {label}" for code, label in REJECT_REASONS.items()],
        _("a list of at most 9 different reasons such as wrong_fact: Wrong fact"),
        _are_reasons,
    ).with_words(
        _("Reasons for a reject"),
        _("One per line: a code, a colon, a label. Empty = reviewers are not asked for a reason."),
    ),
    "sampleScoring.enabled": switch(False).with_words(
        _("Have samples scored by the language model"),
        _("Sends texts of samples to the language model when somebody starts it. Off = nothing is sent."),
    ),
    "sampleScoring.tokensPerDay": number(200_000, 0, 1_000_000_000, _("tokens")).with_words(
        _("Tokens a day for scores"), _("Limit for each UTC day, for the samples of all agents. 0 = no limit.")
    ),
    "datasetCollection.qualityScoring.weights": lines(
        QUALITY_WEIGHTS, _("a list of the three factors such as conversationClarity: 0.4"), _are_weights
    ).with_words(
        _("Weights of the quality score"),
        _("One per line: a factor, a colon, a weight from 0 to 1. All three factors; not all 0."),
        _("After a change all scores are calculated again."),
    ),
    "schedule.signalMinutes": number(1, 0, 10_080, _("minutes")).with_words(
        _("Ask turns for signals every"),
        _("Asks turns that were imported since the last run; scores follow. 0 = never."),
    ),
    "schedule.signatureMinutes": number(10, 0, 10_080, _("minutes")).with_words(
        _("Check signatures every"),
        _("Creates the signatures that samples lack; exports find duplicates by them. 0 = at each export."),
    ),
    "schedule.searchMinutes": number(1, 0, 10_080, _("minutes")).with_words(
        _("Add new texts to the search every"),
        _("0: never. The search then says what it lacks."),
    ),
    "schedule.findingsScanMinutes": number(5, 0, 10_080, _("minutes")).with_words(
        _("Scan for personal data and secrets every"),
        _("Scans texts that were imported or changed since the last scan. 0 = never."),
    ),
    "schedule.exchangeMinutes": number(30, 0, 10_080, _("minutes")).with_words(
        _("Store exchanges every"),
        _("Stores the records of approved turns beside their samples, and searches them for exports. 0 = never."),
    ),
    "schedule.releaseCheckHours": number(24, 0, 720, _("hours")).with_words(
        _("Check releases every"),
        _("Searches for members that were removed, opted out, rolled back or rejected. 0 = only on request."),
    ),
}
COLLECTION = {
    "datasetCollection.enabled": switch(True).with_words(
        _("Collect samples by a strategy"), _("Off = nobody can collect; samples are created one by one only.")
    ),
    "datasetCollection.autoCollect": switch(False).with_words(
        _("Collect after each import"), _("Checks turns that are new or have grown. Off = only on request.")
    ),
    "datasetCollection.positiveCriteria.wasWritten": switch(True).with_words(
        _("Right: written"), _("A decision counts as right only if write_guardian wrote its fact.")
    ),
    "datasetCollection.positiveCriteria.noUserObjection": switch(True).with_words(
        _("Right: no objection"),
        _("A decision counts as right only if a person confirmed it. Silence is unknown, and never counts as yes."),
    ),
    "datasetCollection.positiveCriteria.notRolledBackWithinDays": number(7, 0, 3650, _("days")).with_words(
        _("Right: in the file after"),
        _("A decision counts as right only if its write stands after this time. 0 = not needed."),
    ),
    "datasetCollection.positiveCriteria.minQualityScore": fraction(0.7).with_words(
        _("Right: least score"), _("A decision counts as right only from this quality score on. 0 = not needed.")
    ),
    "datasetCollection.negativeCriteria.gateProposedWrite": switch(True).with_words(
        _("Wrong: proposed"), _("A refused decision counts as wrong only if memory_gate proposed a write.")
    ),
    "datasetCollection.negativeCriteria.guardianRefused": switch(True).with_words(
        _("Wrong: refused"), _("A decision counts as wrong if write_guardian refused its fact.")
    ),
    "datasetCollection.negativeCriteria.hasBehaviorCorrection": switch(True).with_words(
        _("Wrong: corrected"),
        _("A decision counts as wrong if a person corrected its write or rolled it back."),
        _("Each change is a new version of the strategy “default”, on the page Collecting."),
    ),
}
BUDGETS = {
    "budget.limits": lines(
        [], _("a list of at most 50 different lines such as main: 5 USD per day"), _are_budgets
    ).with_words(
        _("Budgets"),
        _("One per line: “all agents: 5 USD per day”. Reported at 80 and 100 percent. Empty = none."),
        _("Each is for one agent or all agents, in USD or tokens, per day or month (UTC)."),
    ),
}
NOTIFICATIONS = {
    "schedule.notifyMinutes": number(0, 0, 1440, _("minutes")).with_words(
        _("Send notifications every"), _("Sends new problems to the webhook and the mail address. 0 = never.")
    ),
    "notifications.warnings": switch(False).with_words(_("Send warnings"), _("Sends warnings too. Off = only errors.")),
    "notifications.quietHours": line(
        lambda text: not text or ((match := QUIET.fullmatch(text)) and find_zone(match[3] or "UTC")),
        _("like 22:00-07:00 Europe/Berlin, or empty"),
    ).with_words(
        _("Quiet hours"), _("Like 22:00-07:00 Europe/Berlin (else UTC). Problems are sent afterwards. Empty = none.")
    ),
    "notifications.mail": line(MAIL.fullmatch, _("an address like mei@example.com, or empty")).with_words(
        _("Mail address"), _("Gets notifications by mail. Needs OPENCLAW_WEB_SMTP_URL. Empty = no mail.")
    ),
    "notifications.siteAddress": line(SITE.fullmatch, _("an address like https://a.example.com, or empty")).with_words(
        _("Address of this site"), _("Links in notifications begin with this address. Empty = paths only.")
    ),
}
GROUPS = {
    "import": (_("Import"), IMPORT),
    "budgets": (_("Budgets"), BUDGETS),
    "notifications": (_("Notifications"), NOTIFICATIONS),
    "memory": (_("Artifacts"), MEMORY),
    "gate": (_("Memory gate"), GATE),
    "guardian": (_("Write guardian"), GUARDIAN),
    "secrets": (_("Secrets"), SECRETS),
    "backups": (_("Backups"), BACKUPS),
    "retention": (_("Retention"), RETENTION),
    "daily-files": (_("Daily files"), DAILY_FILES),
    "collecting": (_("Collecting samples"), COLLECTION),
    "review": (_("Review"), REVIEW),
}
KEYS = {key: setting for _heading, group in GROUPS.values() for key, setting in group.items()}
