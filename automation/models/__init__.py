"""Schedules, sub-agents and background work; Django looks for models here."""

# ruff: noqa: F401 - other modules find the tables here, as Django does

from .background import DeliveryQueueEntry, FlowRun, TaskRun
from .schedules import CronJob, CronRunLog, SubagentRun
