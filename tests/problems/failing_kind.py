"""Kinds of problems with mistakes in them."""

from automation.problems import OVERDUE
from problems.kinds import Finding, Kind

ABOUT = {"label": OVERDUE.label, "severity": OVERDUE.severity, "describe": OVERDUE.describe}
FAILING = Kind(**ABOUT, check=lambda: {}["mistake"])
UNSTORABLE = Kind(**ABOUT, check=lambda: (Finding(facts={"late_ms": 2**70}) for _number in range(2)))
