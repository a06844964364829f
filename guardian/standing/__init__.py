"""A memory file's standing with OpenClaw: whether prompts hold it, and what a write would change about that."""

from .file_standing import Standing, State, attach_standings, read_standing, read_standings
from .state_database import read_live_record

__all__ = ["Standing", "State", "attach_standings", "read_live_record", "read_standing", "read_standings"]
