"""Names of the changes that are made to rows, and of the reasons for leaving samples out.

The manifest counts both.
"""

from functools import lru_cache

from .. import markers

Changes = markers.Changes
NO_CHANGES, REDACTED, OPEN_FINDINGS = markers.NO_CHANGES, markers.REDACTED, markers.OPEN_FINDINGS
NOT_FULLY_SCANNED = markers.NOT_FULLY_SCANNED  # a row with such a text is never written
CHARACTERS_REPLACED = "characters_replaced"
REPLY_EDITED = "reply_edited"
HISTORY_SHORTENED = "history_shortened"
HISTORY_BEGINS_LATER = "history_begins_after_turn_not_approved"
HISTORY_WITHHELD = "history_begins_after_turn_withheld"
HISTORY_AFTER_TOOLS = "history_begins_after_turn_with_tools"
PROMPTS_SKIPPED = "machine_prompts_left_out"
HISTORY_AFTER_DUPLICATE = "history_begins_after_duplicate"
HISTORY_ON_OTHER_SIDE = "history_begins_after_turn_of_another_side"
TOOL_RESULTS_SHORTENED = "tool_results_shortened"
OVER_THE_BUDGET = "over_the_budget"
DECISION_FLATTENED = "decision_flattened"
REBUILT = "rebuilt_from_the_sample"
MESSAGES_MERGED = "messages_merged"
TOOL_RESULTS_MERGED = "tool_results_merged"
TOOL_NAMES_CHANGED = "tool_names_changed"
CALLS_SPLIT = "parallel_tool_calls_split"
TEXT_BEFORE_CALL_DROPPED = "text_before_tool_call_dropped"
TEXT_BEFORE_CALL_KEPT = "text_before_tool_call_kept"
TEXT_BEFORE_REPLY_DROPPED = "text_before_reply_dropped"
CALLS_DROPPED = "unanswered_tool_calls_dropped"
TAIL_DROPPED = "unanswered_tool_results_dropped"
RESULTS_DROPPED = "tool_results_without_call_dropped"
ANSWER_SENT = "answer_sent_by_a_tool"
SYNTHETIC_DROPPED = "synthetic_messages_dropped"
OPENING_DROPPED = "opening_agent_messages_dropped"
TEXTLESS_DROPPED = "turns_without_text_dropped"
FORMULAS_MARKED = "formulas_marked"
LONG_CELLS = "long_cells"
CONTEXT_SHORTENED = "context_shortened"
TOOLS_FOLDED = "tool_results_in_input"
TOOLS_UNKNOWN = "tools_unknown"
ERRORS_MARKED = "tool_errors_marked"
ENVELOPE_REMOVED = "envelope_removed"
IMAGES_DROPPED = "images_dropped"
STORED_EXCHANGE = "stored_exchange"
CONTROL_TOKENS = "control_tokens"
# A row with a lost output is never written.
OUTPUT_LOST = "output_lost"

# Changes that may have been made to a user's words.
OF_WORDS = frozenset({ENVELOPE_REMOVED, IMAGES_DROPPED})


@lru_cache(maxsize=256)  # thousands of rows have the same few changes
def choose_reason(withheld: Changes) -> str:
    """The reason to name when a row is left out for these changes.

    Each of the changes is enough to leave the row out. Empty when there are none.
    """
    others = sorted(withheld - {OUTPUT_LOST, OPEN_FINDINGS})
    return next((name for name in (OUTPUT_LOST, *others, OPEN_FINDINGS) if name in withheld), "")


# Reasons for leaving a sample out, besides what `rows.find_unfit_reason` says of it alone.
NOT_CHECKED = "not_checked"
NOT_APPROVED, AFTER_GAP, BEYOND_ROW, SAME_TURN = "not_approved", "after_gap", "beyond_row", "same_turn"
# Without the tool results that it uses, a reply would teach to make results up.
RESTS_ON_TOOLS = "rests_on_tools"
