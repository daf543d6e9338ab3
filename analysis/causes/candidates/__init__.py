"""What changed by itself: one module per kind of change that requests cannot cause."""
