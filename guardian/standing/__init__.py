"""A memory file's standing with OpenClaw: whether prompts hold it, and what a write would change about that."""

from .file_standing import Standing, State, attach_standings, of, standings
from .state_database import live_record

__all__ = ["Standing", "State", "attach_standings", "live_record", "of", "standings"]
