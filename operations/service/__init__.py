"""The site as a service of systemd: its unit file, and the verbs of `openclaw-web service`."""
