#!/usr/bin/env python
"""`openclaw-web` of this checkout, by the name that Django's commands go by."""

from openclaw_web.commands.cli import main

if __name__ == "__main__":
    main()
