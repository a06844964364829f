"""`croissant.json` of an export of a release (Croissant 1.0 of MLCommons).

It describes files and columns for programs.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from ...exporters.files.output_files import FileFacts
from ...exporters.formats.checks import COLUMNS
from ...models import DatasetVersion

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


def build_croissant(
    release: Mapping[str, Any], export_format: str, written: Mapping[str, FileFacts], columns: tuple[str, ...] = ()
) -> bytes:
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
        "recordSet": [
            _build_record_set(side, facts, COLUMNS.get(export_format) or columns) for side, facts in written.items()
        ],
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n"


def _build_file(facts):
    return {
        "@type": "cr:FileObject",
        "@id": facts.name,
        "name": facts.name,
        "contentUrl": facts.name,
        "contentSize": f"{facts.bytes} B",
        "encodingFormat": _find_encoding(facts.name),
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


def _find_encoding(name):
    return next((encoding for suffix, encoding in ENCODINGS.items() if name.endswith(suffix)), "text/plain")


def read_release(version_id: str) -> dict[str, Any]:
    """Name, number, members and rules of a release, as values of JSON.

    They are the same for each export of the release.
    """
    version = DatasetVersion.objects.select_related("dataset").get(id=version_id)
    counts = version.counts
    return {
        "id": version.id,
        "dataset": version.dataset.name,
        "description": version.dataset.description,
        "number": version.number,
        "notes": version.notes,
        "members": version.member_count,
        "sides": counts.get("sides", {}),
        "checksum": version.checksum,
        "rules": version.rules,
        "released_on": datetime.fromtimestamp(version.released_at / 1_000, UTC).date().isoformat(),
        "follows": (counts.get("difference") or {}).get("from", {}).get("number"),
        "difference": {
            kind: group["count"] for kind, group in (counts.get("difference") or {}).items() if _is_group(group)
        },
    }


def _is_group(value):
    return isinstance(value, dict) and "count" in value
