"""What happens to measurements: valid ones into the database, artifacts away."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from tvm.ir.utils import derived_object
from tvm.s_tir import meta_schedule as ms

from tuner.tvm_measure import PREFIX


@derived_object
class AddValid(ms.measure_callback.PyMeasureCallback):  # type: ignore[misc]
    """Like TVM's ``AddToDatabase``, without the 1e10 s that it writes for what failed: where
    everything fails, TVM would hand such a record out as the best.
    """

    def apply(
        self, scheduler: Any, task_id: int, candidates: Any, builds: Any, results: Any
    ) -> None:
        """Commit what has run."""
        context, database = scheduler.tasks_[task_id].ctx, scheduler.database_
        workload = database.commit_workload(context.mod)
        for candidate, result in zip(candidates, results, strict=True):
            if result.run_secs:
                record = ms.database.TuningRecord(
                    candidate.sch.trace,
                    workload,
                    [float(s) for s in result.run_secs],
                    context.target,
                    candidate.args_info,
                )
                database.commit_tuning_record(record)


@derived_object
class RemoveArtifacts(ms.measure_callback.PyMeasureCallback):  # type: ignore[misc]
    """Removes the folders of artifacts, those that are there; TVM's own raises for the others."""

    def apply(self, *given: Any) -> None:
        """Remove each build's folder."""
        *_, builds, _ = given
        for build in builds:
            path = str(build.artifact_path or "")
            if path and not path.startswith(PREFIX):
                shutil.rmtree(Path(path).parent, ignore_errors=True)


def default_callbacks() -> list[Any]:
    """What replaces TVM's default list."""
    return [AddValid(), ms.measure_callback.UpdateCostModel(), RemoveArtifacts()]
