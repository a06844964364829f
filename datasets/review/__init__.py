"""The review queue: people judge one sample after the other, and no two have the same one before them."""
