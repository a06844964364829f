"""The doctor: a look at sources and store, one import with a receipt, and the way back."""
