"""Automation of agents: schedules, sub-agents and background tasks."""
