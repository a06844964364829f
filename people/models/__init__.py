"""People, what lets them in, and what is kept for them; Django looks for models here."""

from .bookkeeping import AuditEntry, IdempotencyKey, KeyValue
from .people import ApiToken, Invitation, OneTimeLink, SignIn, User

__all__ = ["ApiToken", "AuditEntry", "IdempotencyKey", "Invitation", "KeyValue", "OneTimeLink", "SignIn", "User"]
