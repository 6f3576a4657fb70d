"""Search-space pruning over kernel tables: rules, features, a learned gate, verdicts.  No TVM.

Before a search, :class:`~pruner.task_stage.TaskStage` prunes the values that a sketch's sampling
instructions may take (:mod:`pruner.task` is the description it wants).  During a search,
:class:`~pruner.trial.TrialStage` judges candidates by rules and by a gate that learns from the
run's measurements.  Both answer with a :class:`~pruner.verdict.Verdict` for everything they prune.

Rules are frozen dataclasses, one file each in :mod:`pruner.rules`.  A shipped set and users' files
are loaded by :func:`~pruner.rulesets.rule_set`; :mod:`pruner.testing` holds a rule to its contract.
"""
