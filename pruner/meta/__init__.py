"""Meta-learning: a graph network that has seen other tasks and chips, as a prior for a new one."""
