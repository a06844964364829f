"""The verbs of `openclaw-web reflection guardian`, one module each."""
