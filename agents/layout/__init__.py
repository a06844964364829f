"""The layout of an OpenClaw home: configuration, agents' folders, and oddities."""
