#!/usr/bin/env python
"""The `openclaw-web` command of this checkout, under Django's usual name."""

from openclaw_web.commands.cli import main

if __name__ == "__main__":
    main()
