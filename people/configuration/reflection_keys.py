"""Settings of the Reflection spec: names and shapes as it has them, and ours beside them."""

import re

from django.utils.translation import gettext_lazy as _

from .shapes import Key, is_texts, number, switch

PRICE = re.compile(r"(\S+): *([0-9]{1,6}(?:\.[0-9]{1,6})?) +([0-9]{1,6}(?:\.[0-9]{1,6})?)", re.ASCII)
MOST_PROMPT = 20_000


def _prices(value):
    return (
        is_texts(value) and len(value) <= 200 and all(map(PRICE.fullmatch, value)) and len(prices(value)) == len(value)
    )


def prices(lines: list[str]) -> dict[str, tuple[float, float]]:
    """What a million prompt tokens and a million completion tokens of each model cost, in US dollars."""
    found = (match for line in lines if (match := PRICE.fullmatch(line)))
    return {match[1]: (float(match[2]), float(match[3])) for match in found}


def _is_path(value):
    return isinstance(value, str) and "\0" not in value and (not value or value.startswith("/"))


GATE = {
    "memoryGateAuditing.enabled": switch(
        True,
        label=_("Keep decisions of memory_gate"),
        help=_("Off = decisions are neither imported nor accepted from a plugin."),
    ),
    "memoryGateAuditing.enableStats": switch(
        True,
        label=_("Keep statistics of decisions"),
        help=_("Off = statistics are removed, and calculated again when this is turned on."),
    ),
    "memoryGateAuditing.storeRawLLMResponse": switch(
        True,
        label=_("Keep raw responses"),
        help=_("Keeps what the model answered word for word. Only operators and admins see it."),
    ),
    "reflection.logFolder": Key(
        "",
        _is_path,
        _("an absolute path, or empty"),
        "line",
        _("Log folder of the Reflection plugin"),
        _("Absolute path of the folder with reflection-*.log. Read at each import. Empty = none."),
    ),
    "memoryGate.windowSize": number(
        10,
        0,
        200,
        label=_("Context of a turn"),
        unit=_("messages"),
        help=_("Keeps this many earlier messages with each turn as its context. 0 = none."),
    ),
    "memoryGate.enabled": switch(
        False,
        label=_("Let the built-in gate decide"),
        help=_("Sends new turns of chosen agents to the language model. Off = nothing is sent."),
    ),
    "llm.model": Key(
        "",
        lambda value: isinstance(value, str) and len(value) <= 200 and value.isprintable(),
        _("the name of a model, or empty"),
        "line",
        _("Model"),
        _("Name of the model as its endpoint calls it. The endpoint itself is set in the environment."),
    ),
    "memoryGate.prompt": Key(
        "",
        lambda value: isinstance(value, str) and len(value) <= MOST_PROMPT and "\0" not in value,
        _("a text of at most 20,000 characters"),
        "text",
        _("Prompt of the gate"),
        _("Tells the model how to decide. Each text is kept as a version. Empty = the built-in prompt."),
    ),
    "memoryGate.tokensPerDay": number(
        500_000,
        0,
        1_000_000_000,
        label=_("Tokens a day"),
        unit=_("tokens"),
        help=_("Limit of the built-in gate for each UTC day and agent. 0 = no limit."),
    ),
    "llm.prices": Key(
        [],
        _prices,
        _("a list of lines such as gpt-x: 0.25 2.00, one for each model"),
        "lines",
        _("Prices of models"),
        _("One per line: model, colon, US dollars per million prompt and per million completion tokens."),
    ),
    "memoryGate.driftPoints": number(
        5,
        1,
        100,
        label=_("Report a drift from"),
        unit=_("percentage points"),
        help=_("Reports a decision whose share changed by this much against the four weeks before."),
    ),
    "memoryGate.driftDecisions": number(
        50,
        1,
        1_000_000,
        label=_("Report a drift with at least"),
        unit=_("decisions"),
        help=_("Number of decisions needed in the week and in the four weeks before."),
    ),
}

GUARDIAN = {
    "writeGuardianAuditing.enabled": switch(
        True,
        label=_("Keep writes to memory files"),
        help=_("Off = writes are neither imported nor accepted from a plugin."),
    ),
    "writeGuardianAuditing.storeFileSnapshots": switch(
        True,
        label=_("Keep files before and after a write"),
        help=_("Off = writes have no diff and cannot be rolled back."),
    ),
    "writeGuardianAuditing.enableRollback": switch(
        True,
        label=_("Allow rollbacks"),
        help=_("Off = nobody can roll back a write."),
    ),
    "writeGuardianAuditing.maxSnapshotsPerFile": number(
        100,
        1,
        100_000,
        label=_("Versions to keep of each file"),
        unit=_("versions"),
        help=_("Older versions that nothing refers to are removed."),
    ),
    "writeGuardian.enabled": switch(
        False,
        label=_("Let the built-in guardian propose writes"),
        help=_("Sends facts of decisions, and memory files, to the language model. Off = nothing is sent."),
    ),
    "writeGuardian.steps": number(
        8,
        1,
        50,
        label=_("Steps for a fact"),
        unit=_("steps"),
        help=_("After this many answers without a result, the model is not asked again about a fact."),
    ),
    "writeGuardian.tokensPerDay": number(
        500_000,
        0,
        1_000_000_000,
        label=_("Tokens a day for writes"),
        unit=_("tokens"),
        help=_("Limit of the built-in guardian for each UTC day and agent. 0 = no limit."),
    ),
    "writeGuardian.unattendedLinesAdded": number(
        20,
        0,
        1_000,
        label=_("Unattended: added lines"),
        unit=_("lines"),
        help=_("A change with more added lines is a proposal, also where unattended writing is on."),
    ),
    "writeGuardian.unattendedLinesRemoved": number(
        5,
        0,
        1_000,
        label=_("Unattended: removed lines"),
        unit=_("lines"),
        help=_("A change with more removed lines is a proposal, also where unattended writing is on."),
    ),
    "writeGuardian.unattendedWritesPerDay": number(
        10,
        0,
        1_000,
        label=_("Unattended: writes a day"),
        unit=_("writes"),
        help=_("Limit for each UTC day and agent; further changes are proposals. 0 = no unattended writes."),
    ),
    "writeGuardian.handOver": switch(
        False,
        label=_("Let operators hand changes to the agent"),
        help=_(
            "Runs “openclaw agent” with a change of a memory file, which its model reads. Off = nothing is started."
        ),
    ),
    "writeGuardian.handOverSeconds": number(
        300,
        10,
        3_600,
        label=_("Time for a change that is handed over"),
        unit=_("seconds"),
        help=_("After this time the command is stopped. The agent may still finish the change."),
    ),
}
