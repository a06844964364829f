"""`README.md` of an export: a dataset card for the Hugging Face Hub and for people.

It is always in English: the same samples and options give the same file.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import orjson
from django.utils import translation

from openclaw_web import amounts

from ..models import BY_SET, JUDGED_BY, JUDGES, SET_PREFIX, DatasetVersion, ReleaseSeal
from . import words
from .files import CHECKSUM_FILE, FileFacts
from .options import find_unused_choices
from .row_samples import LINEAGE_FILE
from .trainers import DATASETS_LINE, INFO_FILE, WrittenRows, list_settings

README = "README.md"
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|&])")
CHECKED = "Every row was checked when it was written, against the rules of {programs}."
UNCHECKED = "These are samples as they are stored, in no form that a training tool reads."
ESTIMATED = "Tokens are estimated without a tokenizer, and what a chat template adds is not counted"
# How to keep a trainer from learning the earlier replies of a history that are not to be learned.
UNLEARNED = {
    "sharegpt": "Set `mask_history: true` in LLaMA-Factory or `message_field_training: train` in Axolotl, as "
    "below: else replies that nobody approved are learned",
    "sharegpt_reflection": "Set `mask_history: true` in LLaMA-Factory or `message_field_training: train` in Axolotl",
    **dict.fromkeys(
        ("messages", "parquet"),
        "Set `message_field_training: train` in Axolotl, or load the rows for TRL as below: else "
        "replies that nobody approved are learned",
    ),
    "openai": "Replies with `weight` 0 are not to be learned: nobody approved them. A program that does not read "
    "`weight` learns them",
}
JUDGED = "judged by a person: {person:,}, by a rule: {rule:,}, by whoever judged an imported set: {set:,}"
RULES = "Written by openclaw-web {version} under rules {rules}, profile `{profile}`."


def build_card(name: str, written: WrittenRows, manifest: dict[str, Any]) -> bytes:
    """The text of the card. `manifest`: all of it but its files, which name this one."""
    with translation.override("en"):
        parts = [*_front_matter(name, written, manifest), "", *_text(name, written, manifest)]
    return ("\n".join(parts) + "\n").encode()


def _front_matter(name, written, manifest):
    yield "---"
    yield f"pretty_name: {orjson.dumps(name).decode()}"  # every text of JSON is one of YAML
    yield "# license: choose one before you publish these rows"
    yield "task_categories:\n- text-generation"
    yield f"tags:\n- openclaw\n- {written.kind}"
    rows = manifest["counts"]["rows"]
    size = next((name for limit, name in SIZES if rows < limit), "1M<n<10M")
    yield f"size_categories:\n- {size}"
    yield "configs:\n- config_name: default\n  data_files:"
    for side, file in written.files.items():
        yield f"  - split: {side}\n    path: {file}"
    yield "---"


def _text(name, written, manifest):
    yield f"# {_escape(name)}\n"
    yield f"Turns of OpenClaw agents as training rows. Format: {written.kind}. Task: {manifest['task']}."
    if release := manifest.get("release"):
        yield from _section("Release", _release(release))
    yield from _section("Rows", _rows(written, manifest["counts"]))
    left_out = (f"{words.EXCLUSIONS[group['reason']]}: {group['count']:,}" for group in manifest["excluded"])
    yield from _section("Left out", left_out)
    changed = manifest["transformations"].items()
    changes = (f"{words.CHANGES[name]}: {amounts.format_amount('rows', rows)}" for name, rows in changed)
    yield from _section("Changed to fit the format", changes)
    yield from _section("Redacted", _redactions(manifest))
    if lengths := manifest["lengths"]:
        yield from _section("Length of rows", _lengths(lengths))
    if prompts := words.describe_prompts(manifest):
        yield from _section("System prompts and tools", _prompts(prompts, manifest))
    if notes := manifest["notes"]:
        yield from _section("To know", (str(words.NOTES[name]) for name in notes))
    # The filter may name reviewers; the card is what people publish.
    unused = {*find_unused_choices(manifest["format"], manifest["task"]), "sample_filter"}
    options = {name: value for name, value in manifest["options"].items() if name not in unused}
    described = (f"`{name}`: `{orjson.dumps(value).decode()}`" for name, value in options.items())
    yield from _section("Options", described)
    yield from _section("How to load", _loading(written, manifest))
    for program, about, language, text in list_settings(written):
        yield f"\n### {program}\n\n{about}\n\n```{language}\n{text}\n```"
    yield "\n## Before you publish\n"
    yield (
        "Personal data is in these rows: an admin asked for it. Keys and passwords are replaced by tokens."
        if manifest["options"]["include_pii"]
        else "Personal data and secrets that rules or people found are replaced by tokens such as `[EMAIL_1]`. What no "
        "rule knows, such as names of people, stays: read the rows first."
    )
    yield "\n## Checks\n"
    programs = list(dict.fromkeys(f"{check['program']} {check['version']}" for check in manifest["checks"]))
    yield CHECKED.format(programs=" and ".join(programs)) if programs else UNCHECKED
    versions = {"rules": manifest["rules"], "version": manifest["app"]["version"], "profile": manifest["profile"]}
    yield f"\n{RULES.format(**versions)}"
    yield f"\nTo compare the files with what was written, run `sha256sum -c {CHECKSUM_FILE}` in this folder."


def _section(title, lines) -> Iterator[str]:
    items = [f"- {line}" for line in lines]
    yield "\n".join([f"\n## {title}\n", *(items or ["- Nothing."])])


def _release(release):
    """The release that the rows are of, and how to trace a row."""
    yield f"release {release['number']:,} of {_escape(release['dataset'])}, released on {release['released_on']}"
    yield from (_escape(text) for text in (release["description"], release["notes"]) if text)
    sides = ", ".join(f"{side} {count:,}" for side, count in release["sides"].items())
    yield f"{amounts.format_amount('samples', release['members'])}: {sides}. The side of a session never changes"
    yield JUDGED.format(**release["judged"])
    if release["follows"]:
        changes = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in release["difference"].items())
        yield f"compared with release {release['follows']:,}: {changes}"
    yield f"SHA-256 of its members: `{release['checksum']}`, of all its columns and theirs: `{release['seal']}`"
    yield "rules: " + ", ".join(f"{name} {version}" for name, version in release["rules"].items())
    yield f"lineage: each line of `{LINEAGE_FILE}` leads from a row to its samples, verdicts, turns and records"
    yield f"for programs: `{CROISSANT_FILE}` (Croissant 1.0)"


def _rows(written, counts):
    yield from (f"{side}: {counts[side]:,} ({file})" for side, file in written.files.items())
    samples, approved = counts["samples"], counts["approved"]
    approval = f"{approved:,} of them approved" if approved else "none of them approved"
    yield f"{amounts.format_amount('samples', samples)}, {'all approved' if approved == samples else approval}"
    yield JUDGED.format(person=counts["judged_by_person"], rule=counts["judged_by_rule"], set=counts["judged_by_set"])
    yield amounts.format_amount("sessions", counts["sessions"])


def _redactions(manifest):
    for kind, rows, places in words.describe_redactions(manifest):
        yield f"{kind}: {places:,} tokens in {amounts.format_amount('rows', rows)}"
    for reason, count in manifest["redactions"]["left_out"].items():
        yield f"left out, {words.EXCLUSIONS[reason]}: {amounts.format_amount('samples', count)}"


def _lengths(lengths):
    yield f"longest row: about {amounts.format_amount('tokens', lengths['tokens_longest'])}"
    for limit, rows in lengths["tokens_above"].items():
        yield f"more than {int(limit):,} tokens: {amounts.format_amount('rows', rows)}"
    yield ESTIMATED


def _prompts(counted, manifest):
    for column in counted:
        yield f"{column['label']}: {column['rows']:,} of {amounts.format_amount('rows', manifest['counts']['rows'])}"
        for how, rows in column["altered"]:
            yield f"{column['label']}: {amounts.format_amount('rows', rows)} ({how})"
        for why, rows in column["left_out"]:
            yield f"{column['label']} left out: {amounts.format_amount('rows', rows)} ({why})"
    if rows := manifest["prompts"]["rows_with_undescribed_calls"]:
        yield f"Calls of tools that the row does not describe: {amounts.format_amount('rows', rows)}"


def _loading(written, manifest):
    names = {file["name"] for file in manifest["files"]}
    if INFO_FILE in names:
        yield (
            f"LLaMA-Factory: copy the rows into its data folder, add the entries of `{INFO_FILE}` to its own, and name "
            f"`{written.dataset}` as the data set"
        )
    yield "Save the settings below as files of this folder, and run the commands and the Python in it"
    yield f"In Python, without types: `{DATASETS_LINE}`"
    if written.is_marked:
        yield UNLEARNED[written.kind]


def _escape(text):
    """A text as one line of Markdown."""
    return MARKDOWN.sub(r"\\\1", " ".join(text.split()))


CROISSANT_FILE = "croissant.json"
CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
ENCODINGS = {
    ".jsonl": "application/jsonlines",
    ".csv": "text/csv",
    ".parquet": "application/x-parquet",
}


def build_croissant(release: Mapping[str, Any], written: Mapping[str, FileFacts], columns: tuple[str, ...]) -> bytes:
    """The JSON-LD document of an export of a release.

    `release`: facts of read_release. `written`: the file of each side. `columns`: those of the rows,
    where the format has none of its own.
    """
    document = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": release["dataset"],
        "description": release["description"] or f"Release {release['number']} of the dataset {release['dataset']}.",
        "conformsTo": CONFORMS_TO,
        "version": f"{release['number']}.0.0",
        "datePublished": release["released_on"],
        "distribution": [_build_file(facts) for facts in written.values()],
        "recordSet": [_build_record_set(side, facts, columns) for side, facts in written.items()],
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n"


def _build_file(facts):
    return {
        "@type": "cr:FileObject",
        "@id": facts.name,
        "name": facts.name,
        "contentUrl": facts.name,
        "contentSize": f"{facts.bytes} B",
        "encodingFormat": next((kind for end, kind in ENCODINGS.items() if facts.name.endswith(end)), "text/plain"),
        "sha256": facts.sha256,
    }


def _build_record_set(side, facts, columns):
    return {
        "@type": "cr:RecordSet",
        "@id": side,
        "name": side,
        "description": f"{facts.rows} rows of the side {side}.",
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{side}/{column}",
                "name": column,
                "dataType": "sc:Text",
                "source": {
                    "fileObject": {"@id": facts.name},
                    "extract": {"column": column},  # lines of JSON are read as a table too
                },
            }
            for column in columns
        ],
    }


def read_release(version_id: str) -> dict[str, Any]:
    """Name, number, members and rules of a release, as values of JSON.

    They are the same for each export of the release.
    """
    version = DatasetVersion.objects.select_related("dataset").get(id=version_id)
    counts, difference = version.counts, version.counts.get("difference") or {}
    judged = Counter[str]()
    for status, count in counts.get("statuses", {}).items():
        judged[JUDGES.get(status, "")] += count
    of_sets = version.members.filter(agent_id__startswith=SET_PREFIX, label_id=None, status__in=JUDGES).count()
    judged["person"] -= of_sets
    judged[BY_SET] = of_sets
    return {
        "id": version.id,
        "dataset": version.dataset.name,
        "description": version.dataset.description,
        "number": version.number,
        "notes": version.notes,
        "members": version.member_count,
        "sides": counts.get("sides", {}),
        "judged": {name: judged[name] for name in JUDGED_BY},
        "checksum": version.checksum,
        "seal": ReleaseSeal.objects.values_list("sha256", flat=True).get(version=version),
        "rules": version.rules,
        "released_on": datetime.fromtimestamp(version.released_at / 1_000, UTC).date().isoformat(),
        "follows": difference.get("from", {}).get("number"),
        "difference": {
            kind: group["count"] for kind, group in difference.items() if isinstance(group, dict) and "count" in group
        },
    }
