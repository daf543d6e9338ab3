"""From judged objectives to findings: window, stage, segment, cause, what to do."""
