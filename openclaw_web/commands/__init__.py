"""What every command has: help, receipts, exit statuses, verbs."""
