"""Which files of a workspace are an agent's memory."""

# The five that memory writes go to; every other collected file is a WorkspaceFile.
MEMORY_FILES = ("MEMORY.md", "USER.md", "SOUL.md", "IDENTITY.md", "TOOLS.md")
