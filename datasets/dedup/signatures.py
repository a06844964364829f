"""The signature of each sample, computed when it is created or edited.

A row has the hash of what it was made from, the version of the rules, and a checksum of all of that: whoever reads a
row that is missing, outdated or damaged notices it, and it costs only the time to compute it again.
"""

import logging
import zlib
from collections.abc import Collection
from typing import Any, NamedTuple

from django.db import DEFAULT_DB_ALIAS, OperationalError, transaction

from findings.detection import MOST_IN_REQUEST
from openclaw_web.batches import in_batches
from openclaw_web.sqlite import dialect, statements

from ..models import DatasetSample, SampleSignature
from ..sample_texts import ExportSample, UnreadableSample, read_sample
from . import minhash
from .texts import build_grams, compute_identity, hash_words, split_words

RULE = 2  # of normalising, grams and MinHash; another number makes every signature anew
SAMPLE_COLUMNS = (
    *("id", "agent_id", "session_id", "turn_number", "content", "output", "quality_score"),
    *("gate_label", "gate_corrected_output"),
)
COLUMNS = ("rule", "made_from", "words", "numbers", "checksum")
# The statement itself leaves out a sample that was edited since it was read.
STORE = f"""{dialect.INSERT_OR_REPLACE} INTO sample_signatures ({", ".join(COLUMNS)}, sample_id)
SELECT {", ".join(["%s"] * len(COLUMNS))}, id FROM dataset_samples
WHERE id = %s AND content = %s AND NOT ({dialect.differ("output", "%s")})"""  # noqa: S608 - our own words
BATCH = 100
log = logging.getLogger(__name__)


class Signature(NamedTuple):
    """The columns of a row of `sample_signatures`, in the order of COLUMNS.

    All are None where there is no row.
    """

    rule: int | None
    made_from: bytes
    words: bytes
    numbers: bytes
    checksum: int


def build_from_row(row: dict[str, Any]) -> Signature:
    """The signature of a sample, from its SAMPLE_COLUMNS.

    A sample that cannot be read is similar to no other.
    """
    try:
        return build_from_pair(row["id"], *read_pair(read_sample(row)))
    except UnreadableSample:
        return build_from_pair(row["id"], row["id"], "", is_text=False)


def build_from_sample(sample: DatasetSample) -> Signature:
    """The signature of a sample, stored or not."""
    return build_from_row(vars(sample))


def build_from_pair(sample_id: str, prompt: str, reply: str, *, is_text: bool = True) -> Signature:
    """The signature of a prompt and a reply.

    Without `is_text` it has no words: it is only equal to the same pair.
    """
    words = split_words(prompt, reply) if is_text else []
    made_from = compute_identity(prompt, reply)
    hashed_words = hash_words(words, made_from)
    numbers = minhash.compute_signature(build_grams(words))
    return Signature(
        RULE, made_from, hashed_words, numbers, _checksum(sample_id, RULE, made_from, hashed_words, numbers)
    )


def read_pair(sample: ExportSample) -> tuple[str, str]:
    """The prompt of a sample, and the reply that it teaches.

    A sample without any text gets a pair that is like no other.
    """
    texts = sample.user_text, sample.reply
    return texts if any(texts) else (sample.sample_id, "")


def is_sound(sample_id: str, signature: Signature) -> bool:
    """Whether a stored signature is whole and follows the current rules."""
    return signature.rule == RULE and signature.checksum == _checksum(sample_id, *signature[:-1])


def renew(sample_ids: Collection[str]) -> int:
    """Compute the signatures of these samples again; return how many samples there are."""
    count = 0
    for batch in in_batches(sample_ids, BATCH):
        rows = list(DatasetSample.objects.filter(id__in=batch).values(*SAMPLE_COLUMNS))
        store_signatures([(row, build_from_row(row)) for row in rows])
        count += len(rows)
    return count


def ensure_signature(sample: DatasetSample) -> None:
    """Compute the signature of a sample that has none, as after an edit.

    Called after the transaction of the edit: nobody waits while it is computed. When others keep the store busy, or the
    texts are too long for a request, a job will compute it.
    """
    is_long = len(sample.content) + len(sample.output or "") > MOST_IN_REQUEST
    if is_long or SampleSignature.objects.filter(sample=sample.id, rule=RULE).exists():
        return
    try:
        store_signatures([(vars(sample), build_from_sample(sample))])
    except OperationalError as exc:
        log.warning("The signature of sample %s was not stored: %s", sample.id, exc)


def store_signatures(signed_rows: Collection[tuple[dict[str, Any], Signature]]) -> None:
    """Store the signatures of samples as they were read.

    A sample that was edited since is left to whoever edited it. `signed_rows` are pairs of a sample's row and
    its signature.
    """
    values = [(*signature, row["id"], row["content"], row["output"]) for row, signature in signed_rows]
    with transaction.atomic():
        statements.run_many(DEFAULT_DB_ALIAS, STORE, values)


def delete_signature(sample_id: str, *, unless: bytes) -> None:
    """Remove the signature of a sample, unless it was made from its current words.

    `unless` is the hash of these words; the next signature will be made from them.
    """
    SampleSignature.objects.filter(sample=sample_id).exclude(made_from=unless).delete()


def _checksum(sample_id, rule, made_from, words, numbers):
    return zlib.crc32(b"%d %b %b %b %b" % (rule, sample_id.encode(errors="surrogatepass"), made_from, words, numbers))
