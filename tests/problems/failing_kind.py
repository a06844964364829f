"""A kind of problem with a mistake in it."""

from automation.problems import OVERDUE
from problems.kinds import Kind

FAILING = Kind(label=OVERDUE.label, severity=OVERDUE.severity, describe=OVERDUE.describe, check=lambda: {}["mistake"])
