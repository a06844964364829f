"""Idempotent writes of the API: a repeated `Idempotency-Key` gets the stored answer."""

from dataclasses import dataclass

from django.db import transaction
from ulid import ULID

from openclaw_web import clock
from openclaw_web.disk import packing

from ..models import User
from ..models.bookkeeping import IdempotencyKey

KEEP_MS = 86_400_000
LEASE_MS = 60_000  # after this time, a claim without an answer counts as abandoned
CLEANED = 20  # old keys that are deleted with each new key


@dataclass(frozen=True, slots=True)
class Answer:
    """A stored answer. `body` is None when it held a secret, which is never stored."""

    status: int
    content_type: str
    body: bytes | None


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to carry out a request, held by one of all requests with its key."""

    row_id: int
    claim: str


class OtherRequest(Exception):
    """The key belongs to another request."""


class InProgress(Exception):
    """The first request with this key is still running.

    `wait_seconds` is the suggested wait before a retry.
    """

    def __init__(self, wait_seconds: int):
        super().__init__(wait_seconds)
        self.wait_seconds = wait_seconds


def begin(user: User, key: str, fingerprint: str) -> Claim | Answer:
    """Claim the right to carry out a request, or return its stored answer.

    `fingerprint` identifies the request.

    `end` or `give_up` must follow a claim. A claim that was abandoned can be taken over after LEASE_MS milliseconds.
    Raises OtherRequest and InProgress.
    """
    with transaction.atomic():  # IMMEDIATE: the second of two callers sees the row of the first
        old = IdempotencyKey.objects.filter(created_at__lt=clock.now_ms() - KEEP_MS).order_by("created_at")
        if ids := list(old.values_list("id", flat=True)[:CLEANED]):
            IdempotencyKey.objects.filter(id__in=ids).delete()
        row = IdempotencyKey.objects.filter(user=user, key=key).first()
        if row is None:
            return _claim(IdempotencyKey(user=user, key=key, fingerprint=fingerprint, created_at=clock.now_ms()))
        if row.fingerprint != fingerprint:
            raise OtherRequest
        if row.status is not None:
            return Answer(row.status, row.content_type, packing.unpack(row.body_zstd) if row.body_zstd else None)
        remaining_ms = row.leased_until - clock.now_ms()
        # A lease that would last longer than LEASE_MS was taken by a clock that ran ahead, and is not in force.
        if 0 < remaining_ms <= LEASE_MS:
            # Most requests end at once; only abandoned ones need the whole lease.
            raise InProgress(1 if remaining_ms > LEASE_MS - 5_000 else min(5, remaining_ms // 1000 + 1))
        return _claim(row)


def end(claim: Claim, answer: Answer) -> None:
    """Store the answer for a day, unless another request has taken the claim over."""
    _find_claimed(claim).update(
        status=answer.status,
        content_type=answer.content_type,
        body_zstd=None if answer.body is None else packing.pack(answer.body),
    )


def give_up(claim: Claim) -> None:
    """Release a claim without an answer, so that the key can be used again at once."""
    _find_claimed(claim).delete()


def _claim(row):
    row.claim, row.leased_until = str(ULID()), clock.now_ms() + LEASE_MS
    row.save()
    return Claim(row.id, row.claim)


def _find_claimed(claim):
    return IdempotencyKey.objects.filter(id=claim.row_id, claim=claim.claim, status=None)
