"""Models of people: accounts, sign-ins, settings and the audit log.

Django looks for models here.
"""

# ruff: noqa: F401 - other modules find the tables here, as Django does

from .bookkeeping import AuditEntry, IdempotencyKey, KeyValue
from .people import ApiToken, Invitation, OneTimeLink, SignIn, User
