"""The code that texts from outside go through, by name: parsers, diffs, hashes, pages.

Call `django.setup()` before: most of them need its apps. None of them opens a database.
"""

import contextlib
import io
import json
from collections.abc import Callable, Iterator

from artifacts.contents import measurement, summaries
from artifacts.excerpts import line_search, patterns
from automation.collectors import cron
from datasets import word_diff
from datasets.dedup import signatures
from datasets.exports import source
from episodes import sensitive_text
from episodes.imports import conversation_texts, normalization
from findings.value_hash import compute_value_hash
from gate.collectors import guardian_log, plugin_log
from guardian import changes, fact_evidence
from guardian.corrections import patterns as rule_patterns
from guardian.detail import line_blame
from guardian.rollbacks import merge
from ledger.checkpoints import decisions
from ledger.collectors import jsonl, placeholders
from ledger.collectors.message_unwrapping import unwrap_message
from ledger.lists import last_words
from ledger.markup import filters, markdown
from ledger.transcripts import rows
from openclaw_web import json5
from openclaw_web.detectors.detect import find_spans, find_spans_in_value
from openclaw_web.diffs import line_diff, text_excerpts, unified_format
from openclaw_web.pages import glyphs

TIME = "2026-11-02T08:00:00.000Z"


def edit_some(text: str) -> str:
    """The text with each tenth line changed, as a person edits a file."""
    lines = text.split("\n")
    lines[::10] = [f"{line[: len(line) // 2]} edited {line[len(line) // 2 :]}" for line in lines[::10]]
    return "\n".join(lines)


def edit_alternately(text: str) -> str:
    """The text with a line put behind each second one."""
    lines = text.split("\n")
    return "\n".join(line if number % 2 else f"{line}\nx{number}" for number, line in enumerate(lines))


def reverse(text: str) -> str:
    return "\n".join(text.split("\n")[::-1])


def rotate(text: str) -> str:
    return text[len(text) // 3 :] + text[: len(text) // 3]


EDITS: dict[str, Callable[[str], str]] = {
    "some": edit_some,
    "alternate": edit_alternately,
    "reverse": reverse,
    "rotate": rotate,
    "characters": lambda text: text[::-1],
    "swap": lambda text: text.translate(str.maketrans("ae1 ,{", "ea2 ;[")),
}


def read_jsonl(data):
    for line in jsonl.read_lines(io.BytesIO(data), is_closed=True):
        if line.record is not None:
            rows.fill_row(rows.build_row(line, before=None, fallback_ms=1), line)


def build_record(message):
    record = {"type": "message", "id": "a1", "parentId": None, "timestamp": TIME, "message": message}
    return json.dumps(record, ensure_ascii=False).encode(errors="replace") + b"\n"


def store_message(text: str) -> None:
    read_jsonl(build_record({"role": "user", "content": text}))
    find_spans(text)


def store_result(text: str) -> None:
    result = {"role": "toolResult", "toolCallId": "c", "toolName": "exec", "content": [{"type": "text", "text": text}]}
    read_jsonl(build_record(result | {"details": {"aggregated": text, "exitCode": 0}}))


def store_arguments(text: str) -> None:
    call = {"type": "toolCall", "id": "c", "name": "write", "arguments": text}
    read_jsonl(build_record({"role": "assistant", "content": [call]}))


def read_plugin_log(text: str) -> None:
    lines = text.split("\n")
    list(plugin_log.read(line.encode(errors="replace") for line in lines))


def read_log_messages(text: str) -> None:
    """Messages of the plugin's log, one for each line of the text."""
    list(plugin_log.read(build_log(text.split("\n"))))


def build_log(texts: list[str]) -> Iterator[bytes]:
    for number, text in enumerate(texts):
        message = {"role": "user" if number % 2 else "agent", "message": text, "timestamp": TIME, "sessionKey": "k"}
        entry = {
            "timestamp": TIME,
            "component": "MessageHandler",
            "event": "Buffer message snapshot",
            "sessionKey": "k",
        }
        entry["details"] = {"hookName": "message:received", "bufferMessage": message}
        yield json.dumps(entry).encode()


def find_changes(old: str, new: str) -> None:
    changes.compute_change(old.encode(errors="replace"), new.encode(errors="replace"), "MEMORY.md")


def show_diff(old: str, new: str) -> None:
    diff = line_diff.compare(old, new)
    view = line_diff.build_view(diff)
    unified_format.build_hunks(unified_format.to_one_column(view))
    diff.has_one_ending  # noqa: B018 - computed from all lines


def blame(old: str, new: str) -> None:
    hunks = changes.find_hunks(line_diff.compare(old, new))
    before, after = line_diff.split_lines(old), line_diff.split_lines(new)
    line_blame.assign_writes(len(after), [("w", hunks)])
    list(line_blame.match_lines(after, range(len(after)), before, hunks))


def take_out(old: str, new: str) -> None:
    merge.take_out(old, new, edit_some(new))


def put_in(old: str, new: str) -> None:
    merge.put_in(old, new, edit_some(old))


def clean_episode(text: str) -> None:
    _scope, body = normalization.split_scope_tag(normalization.clean_text(text))
    message = sensitive_text.mask_personal(conversation_texts.clean_message("user", body))
    sensitive_text.find_kinds(message, is_json=True)
    normalization.sanitize_payload({"text": message}, 100_000)


def store_artifact(text: str) -> None:
    measured = measurement.measure_content(text.encode(errors="replace"))
    summaries.summarise(measured)


def search_lines(text: str) -> None:
    list(line_search.Grep(patterns.compile_pattern("(a|b|c)+x"), context=2).pieces([text.encode(errors="replace")]))


def show_text(text: str) -> None:
    glyphs.to_html(text)
    glyphs.to_terminal(text)
    list(text_excerpts.cut_excerpt(text).rows)
    list(filters.handles(markdown.render(text)))


def read_fact(text: str) -> None:
    rule_patterns.matches_text("no|without", text)
    rule_patterns.propose_pattern(text)
    rule_patterns.read_lines(text[:5_000])
    fact_evidence.normalize(text)


def read_openclaw_files(text: str) -> None:
    """Files that are one JSON value, as a whole and with the text in it."""
    for data in (text.encode(errors="replace"), json.dumps({"jobs": [{"id": "a", "name": text}]}).encode()):
        with contextlib.suppress(ValueError):
            cron.read_jobs(data)
        with contextlib.suppress(json5.NotJson):
            json5.loads(data)


def find_in_words(text: str) -> None:
    placeholders.find_placeholder(text)
    last_words.MARKS.sub("", text)
    list(decisions.find_summary_decisions(text, "a", 1))


TEXT_ENTRIES: dict[str, Callable[[str], object]] = {
    "detectors": find_spans,
    "detectors, JSON": lambda text: find_spans_in_value({"a": [text]}),
    "value hash": lambda text: compute_value_hash("email", text),
    "signature of a sample": lambda text: signatures.build_from_pair("s", text, text[: len(text) // 2]),
    "benchmark grams": lambda text: list(source.hash_grams(text)),
    "transcript: message": store_message,
    "transcript: result": store_result,
    "transcript: arguments": store_arguments,
    "transcript: file": lambda text: read_jsonl(text.encode(errors="replace")),
    "unwrapping": unwrap_message,
    "gate: log": read_plugin_log,
    "gate: messages": read_log_messages,
    "guardian: log": lambda text: list(guardian_log.read(text.encode(errors="replace").split(b"\n"))),
    "episodes": clean_episode,
    "artifacts: storing": store_artifact,
    "artifacts: search": search_lines,
    "pages": show_text,
    "markdown": markdown.render,
    "facts": read_fact,
    "configuration": read_openclaw_files,
    "marks": find_in_words,
}
PAIR_ENTRIES: dict[str, Callable[[str, str], object]] = {
    "diff: view": show_diff,
    "diff: words": word_diff.compare_words,
    "diff: change of a file": find_changes,
    "diff: blame": blame,
    "rollback: take out": take_out,
    "rollback: put in": put_in,
}
