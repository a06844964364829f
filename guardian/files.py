"""The memory files of a workspace, the decisions that lead to them, and size limits."""

# The five that memory writes go to; every other collected file is a WorkspaceFile.
MEMORY_FILES = ("MEMORY.md", "USER.md", "SOUL.md", "IDENTITY.md", "TOOLS.md")
# The file of each decision of memory_gate.
FILE_OF = {f"UPDATE_{name.removesuffix('.md')}": name for name in MEMORY_FILES}
MOST_BYTES = 5_000_000  # of a file
LONGEST_FACT = 20_000  # characters of a fact, or of a reason about it
