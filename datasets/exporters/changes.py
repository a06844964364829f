"""What an exporter may do to a row beside copying it. The manifest says in how many rows each was done."""

CHARACTERS_REPLACED = "characters_replaced"
REPLY_EDITED = "reply_edited"
HISTORY_SHORTENED = "history_shortened"
HISTORY_BEGINS_LATER = "history_begins_after_turn_not_approved"
HISTORY_WITHHELD = "history_begins_after_turn_withheld"
HISTORY_AFTER_DUPLICATE = "history_begins_after_duplicate"
TOOL_RESULTS_SHORTENED = "tool_results_shortened"
OVER_THE_BUDGET = "over_the_budget"
DECISION_FLATTENED = "decision_flattened"
REBUILT = "rebuilt_from_the_sample"
MESSAGES_MERGED = "messages_merged"
TOOL_RESULTS_MERGED = "tool_results_merged"
TEXT_BEFORE_CALL_DROPPED = "text_before_tool_call_dropped"
TEXT_BEFORE_CALL_KEPT = "text_before_tool_call_kept"
TEXT_BEFORE_REPLY_DROPPED = "text_before_reply_dropped"
CALLS_DROPPED = "unanswered_tool_calls_dropped"
TAIL_DROPPED = "unanswered_tool_results_dropped"
RESULTS_DROPPED = "tool_results_without_call_dropped"
SYNTHETIC_DROPPED = "synthetic_messages_dropped"
OPENING_DROPPED = "opening_agent_messages_dropped"
TEXTLESS_DROPPED = "turns_without_text_dropped"
# A row with a lost output is never written; one with a flagged output is when an admin asked for it.
OUTPUT_LOST = "output_lost"
OUTPUT_FLAGGED = "output_flagged"

Changes = frozenset[str]
NONE: Changes = frozenset()
