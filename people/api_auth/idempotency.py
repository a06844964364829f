"""Writes of the API that are carried out once, however often they are sent: what `Idempotency-Key` promises."""

from dataclasses import dataclass

from django.db import transaction
from ulid import ULID

from openclaw_web import clock
from openclaw_web.disk import packing

from ..models import User
from ..models.bookkeeping import IdempotencyKey

KEEP_MS = 86_400_000
LEASE_MS = 60_000  # after this, whoever holds a key without an answer is taken for dead
CLEANED = 20  # old keys that one new key takes away


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered; `body` is None when it held a secret, which is never kept."""

    status: int
    content_type: str
    body: bytes | None


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to carry out a request: of all who ask with its key, one holds it."""

    row_id: int
    claim: str


class OtherRequest(Exception):
    """The key belongs to another request."""


class InProgress(Exception):
    """The first request with this key has not ended. `wait_seconds` says when to ask again."""

    def __init__(self, wait_seconds: int):
        super().__init__(wait_seconds)
        self.wait_seconds = wait_seconds


def begin(user: User, key: str, fingerprint: str) -> Claim | Answer:
    """The right to carry out the request that `fingerprint` stands for, or the answer it got before.

    `end` or `give_up` must follow a claim; of somebody who died in between, the next one takes it over after
    LEASE_MS. Raises OtherRequest and InProgress.
    """
    with transaction.atomic():  # IMMEDIATE: of two callers, the second one sees the row of the first
        _clean_up()
        row = IdempotencyKey.objects.filter(user=user, key=key).first()
        if row is None:
            return _claim(IdempotencyKey(user=user, key=key, fingerprint=fingerprint, created_at=clock.now_ms()))
        if row.fingerprint != fingerprint:
            raise OtherRequest
        if row.status is not None:
            return Answer(row.status, row.content_type, packing.unpack(row.body_zstd) if row.body_zstd else None)
        left = row.leased_until - clock.now_ms()
        if clock.is_lease_alive(row.leased_until, LEASE_MS):
            # Most requests end at once; only those that died need the whole lease.
            raise InProgress(1 if left > LEASE_MS - 5_000 else min(5, left // 1000 + 1))
        return _claim(row)


def end(claim: Claim, answer: Answer) -> None:
    """Keep the answer for a day. Does nothing when somebody else has taken the claim over."""
    _held(claim).update(
        status=answer.status,
        content_type=answer.content_type,
        body_zstd=None if answer.body is None else packing.pack(answer.body),
    )


def give_up(claim: Claim) -> None:
    """Nothing was done: the same key may be used again at once."""
    _held(claim).delete()


def _claim(row):
    row.claim, row.leased_until = str(ULID()), clock.now_ms() + LEASE_MS
    row.save()
    return Claim(row.id, row.claim)


def _held(claim):
    return IdempotencyKey.objects.filter(id=claim.row_id, claim=claim.claim, status=None)


def _clean_up():
    old = IdempotencyKey.objects.filter(created_at__lt=clock.now_ms() - KEEP_MS).order_by("created_at")
    if ids := list(old.values_list("id", flat=True)[:CLEANED]):
        IdempotencyKey.objects.filter(id__in=ids).delete()
