"""Notifications: problems go to a webhook and a mail address."""
