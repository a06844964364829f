"""Of samples of decisions alone: draws, replays beside verdicts, copies of verdicts, words of windows."""
