"""What can be proven of a schedule's values: ranges of integers, rounding of floats."""
