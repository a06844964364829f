"""The standing of memory files with OpenClaw: whether prompts hold them.

It also forecasts the effect of a write on a file's place in the prompt.
"""

from .file_standing import Standing, State, attach_standings, read_standing, read_standings
from .provenance import read_live_record

__all__ = ["Standing", "State", "attach_standings", "read_live_record", "read_standing", "read_standings"]
