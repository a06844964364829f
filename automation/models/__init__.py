"""Schedules, sub-agents and background work; Django looks for models here."""

from .background import DeliveryQueueEntry, FlowRun, TaskRun
from .schedules import CronJob, CronRunLog, SubagentRun

__all__ = ["CronJob", "CronRunLog", "DeliveryQueueEntry", "FlowRun", "SubagentRun", "TaskRun"]
