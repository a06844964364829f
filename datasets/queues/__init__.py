"""Review by several people: queues, blind verdicts, conflicts and agreement (docs/review.md)."""
