"""What helps against which finding: rules as data, and how they are judged."""
