"""Models of people: accounts, sign-ins, settings and the audit log.

Django looks for models here.
"""

from .bookkeeping import AuditEntry, IdempotencyKey, KeyValue
from .people import ApiToken, Invitation, OneTimeLink, SignIn, User

__all__ = ["ApiToken", "AuditEntry", "IdempotencyKey", "Invitation", "KeyValue", "OneTimeLink", "SignIn", "User"]
