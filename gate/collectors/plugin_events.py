"""Events that openclaw-reflection writes and that have no meaning for decisions."""

# Events by component; None: all events of the component.
IRRELEVANT: dict[str, frozenset[str] | None] = {
    "PluginLifecycle": frozenset(
        {
            "Callback dispatched",
            "Callback invoked",
            "Callback skipped: buffer manager missing",
            "Config-only mode enabled, skipping hooks and side effects",
            "ConsolidationScheduler disabled",
            "ConsolidationScheduler disabled: workspace unavailable",
            "ConsolidationScheduler initialized and started",
            "File logger initialized",
            "Hook handler execution failed",
            "Message hooks registered",
            "Plugin activation failed",
            "Plugin registered successfully, all hooks active",
            "Register called more than once, skipping duplicate registration",
            "Registered plugin command",
            "memory_gate disabled",
            "registerCommand unavailable, skip command registration",
            "write_guardian disabled: workspace unavailable",
            "write_guardian initialized",
        }
    ),
    "MessageHandler": frozenset(
        {
            "Hook payload debug",
            "SessionKey missing, fallback to sessionId",
            "Session cleared by lifecycle command/hook",
            "Skip event without sessionKey",
            "Skipped empty agent message",
            "Skipped empty user message",
            "Skipped non-assistant before_message_write event",
            "Using non-canonical session key fallback",
        }
    ),
    "SessionBufferManager": frozenset({"Evicted oldest message"}),
    "WriteGuardian": None,
    "MessageReaction": None,
    "Heartbeat": None,
    "ConsolidationScheduler": None,
    "Consolidator": None,
}


def is_known_event(component: str, event: str) -> bool:
    """Return whether the plugin is known to write an event without meaning for decisions."""
    known = IRRELEVANT.get(component, frozenset())
    return known is None or event in known
