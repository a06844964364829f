"""The plan of an export of a release: its members, on their sides."""

from array import array
from collections.abc import Callable, Iterator
from typing import Any

from ...dedup import signatures
from ...dedup.planner import find_taught
from ...dedup.sample_hashes import HASHED, compute_content_hash
from ...dedup.signatures import Signature
from ...dedup.split_plan import SplitPlan, compute_key
from ...models import DatasetMember
from ..builder.source import ORDER, Source
from ..builder.splits import SIDES

OWN = tuple(dict.fromkeys((*ORDER, *signatures.SAMPLE_COLUMNS, *HASHED)))
COLUMNS = (*OWN, *[f"signature__{name}" for name in signatures.COLUMNS])


def read_release_plan(source: Source, version_id: str, report_progress: Callable[[int], None]) -> SplitPlan:
    """The sides of the members of a release, whose samples `source` has.

    Samples that were edited since the release are not in the plan, and are noted in `source.changed`.
    `report_progress` is called with the number of samples that were read.
    """
    keys, words, sides, count = array("q"), array("Q"), bytearray(), 0
    for batch in source.read_batches(COLUMNS, "content"):
        for row, signature, side in _read_members(source, version_id, batch):
            keys.append(compute_key(row["id"], signature.made_from))
            words.append(int.from_bytes(signature.words[:8]))
            sides.append(side)
        count += len(batch)
        report_progress(count)
    taught, taught_on = find_taught(words, bytes(sides))
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return SplitPlan(
        array("q", (keys[place] for place in order)),
        bytes(sides[place] for place in order),
        taught,
        taught_on,
        samples=len(keys),
    )


def _read_members(source, version_id, batch) -> Iterator[tuple[dict[str, Any], Signature, int]]:
    """The rows of a batch that are as they were released, with their signatures and sides."""
    ids = [row[COLUMNS.index("id")] for row in batch]
    members = {
        sample_id: (side, content_hash)
        for sample_id, side, content_hash in DatasetMember.objects.filter(
            version_id=version_id, sample_id__in=ids
        ).values_list("sample_id", "side", "content_hash")
    }
    for values in batch:
        row, signature = dict(zip(OWN, values, strict=False)), Signature(*values[len(OWN) :])
        side, content_hash = members[row["id"]]
        if compute_content_hash(row) != content_hash:
            source.changed.add(row["id"])
            continue
        if not signatures.is_sound(row["id"], signature):
            signature = signatures.build_from_row(row)
        yield row, signature, SIDES.index(side)
