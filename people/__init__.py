"""People of the site: accounts, rights, audit log, settings."""
