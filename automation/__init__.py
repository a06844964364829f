"""What an agent does by itself: schedules, sub-agents, background tasks."""
