"""A block's program: how much of everything, in how many pieces, with how many copies."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from hwsim.mlu_sram.costs import BlockCosts
from hwsim.mlu_sram.flows import Flow


@dataclass(frozen=True)
class Load:
    """GDRAM traffic of a whole block: latency, issue and bus time in microseconds."""

    latency_us: float
    issue_us: float
    bus_us: float

    @classmethod
    def of(cls, flow: Flow) -> Load:
        """Row 0 of ``flow``."""
        return cls(float(flow.latency_us[0]), float(flow.issue_us[0]), float(flow.bus_us[0]))

    def scaled(self, factor: float) -> Load:
        """``factor`` of it."""
        return Load(self.latency_us * factor, self.issue_us * factor, self.bus_us * factor)

    @property
    def us(self) -> float:
        """Time of the load alone on the machine."""
        return self.latency_us + max(self.issue_us, self.bus_us)


@dataclass(frozen=True)
class Program:
    """What one block does; times are totals in microseconds, ``*_slots`` copies of a buffer.

    ``bus_share`` is the mean block's work over a full one's: what the bus sees of it.
    """

    steps: int
    fars: int
    outputs: int
    far: Load
    near_a: Load
    near_b: Load
    store: Load
    mv_a_us: float
    mv_b_us: float
    compute_us: float
    far_slots: int
    a_slots: int
    b_slots: int
    bus_share: float

    def shortened(self, outputs: int, steps: int) -> Program:
        """At most ``outputs`` outputs if there are more than ``steps`` steps, and these merged."""
        if self.steps <= steps:
            return self
        kept = min(self.outputs, outputs)
        part = kept / self.outputs
        count = min(max(round(self.steps * part), kept), max(steps, kept))
        return dataclasses.replace(
            self,
            steps=count,
            fars=min(max(round(self.fars * part), 1), count),
            outputs=kept,
            far=self.far.scaled(part),
            near_a=self.near_a.scaled(part),
            near_b=self.near_b.scaled(part),
            store=self.store.scaled(part),
            mv_a_us=self.mv_a_us * part,
            mv_b_us=self.mv_b_us * part,
            compute_us=self.compute_us * part,
        )


def program_of(costs: BlockCosts, bus_share: float) -> Program:
    """The program of row 0."""
    return Program(
        steps=int(costs.near_steps[0]),
        fars=int(costs.far_steps[0]),
        outputs=int(costs.out_steps[0]),
        far=Load.of(costs.far),
        near_a=Load.of(costs.near_a),
        near_b=Load.of(costs.near_b),
        store=Load.of(costs.store),
        mv_a_us=float(costs.mv_a_us[0]),
        mv_b_us=float(costs.mv_b_us[0]),
        compute_us=float(costs.compute_us[0]),
        far_slots=2 if costs.far_overlap[0] else 1,
        a_slots=2 if costs.a_overlap[0] else 1,
        b_slots=2 if costs.b_overlap[0] else 1,
        bus_share=bus_share,
    )
