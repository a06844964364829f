"""Samples of decisions alone: draws, replays against verdicts, copies of verdicts, list columns."""
