"""Holding one rule against simulated truth before it ships."""
