"""Which files of a workspace are an agent's memory, which decisions lead to them, and how much is taken."""

# The five that memory writes go to; every other collected file is a WorkspaceFile.
MEMORY_FILES = ("MEMORY.md", "USER.md", "SOUL.md", "IDENTITY.md", "TOOLS.md")
# The file that each decision of memory_gate is about.
FILE_OF = {f"UPDATE_{name.removesuffix('.md')}": name for name in MEMORY_FILES}
MOST_BYTES = 5_000_000  # of a file
LONGEST_FACT = 20_000  # characters of a fact, or of what is said about one
