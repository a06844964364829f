"""Looking at exports: what one would hold before it is asked for, and what a ready one holds."""
