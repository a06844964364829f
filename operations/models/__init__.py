"""The tables of the global file that belong to this app; Django looks for models here."""

from .background import DeliveryQueueEntry, FlowRun, TaskRun
from .jobs import BackupRun, IdempotencyKey, JobRun
from .migrations_runs import MigrationRun, MigrationSource
from .people import ApiToken, Invitation, OneTimeLink, SignIn, User
from .schedules import CronJob, CronRunLog, SubagentRun
from .sums import AgentDailyStat, AgentSummary

__all__ = [
    "AgentDailyStat",
    "AgentSummary",
    "ApiToken",
    "BackupRun",
    "CronJob",
    "CronRunLog",
    "DeliveryQueueEntry",
    "FlowRun",
    "IdempotencyKey",
    "Invitation",
    "JobRun",
    "MigrationRun",
    "MigrationSource",
    "OneTimeLink",
    "SignIn",
    "SubagentRun",
    "TaskRun",
    "User",
]
