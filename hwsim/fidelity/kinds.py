"""Which reader a file gets: by its columns, since held-back files bear other chips' names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hwsim.fidelity import ascend, autotvm, mlu, neusight, operators, spaces
from hwsim.fidelity.data import Finding, Skip, Source
from hwsim.fidelity.shelf import Shelf

Reader = Callable[[Source, Shelf], Iterator[Finding]]


@dataclass(frozen=True)
class Kind:
    """Files with all of ``columns``, or whose name begins with ``name``, go to ``reader``."""

    reader: Reader
    columns: frozenset[str]
    name: str | None = None

    def fits(self, source: Source) -> bool:
        """Whether ``source`` is of this kind."""
        if self.name is not None:
            return source.name.startswith(self.name)
        return self.columns <= set(source.frame.columns)


def _kind(reader: Reader, columns: str) -> Kind:
    return Kind(reader, frozenset(columns.split()))


KINDS = (
    Kind(ascend.gelu, frozenset(), "matmul_gelu"),
    Kind(ascend.quantised, frozenset(), "quant_group_matmul"),
    _kind(ascend.tiling, "split_m split_n base_m base_n base_k task_us"),
    _kind(ascend.guide, "topic variant template base_m aic_time_us"),
    _kind(ascend.catlass, "layout_a layout_b l1_tile_m l0_tile_k time_us"),
    _kind(ascend.add, "shape compute_mode tile_elems l2_mode task_us"),
    _kind(ascend.nd2nz, "rows cols tile_h tile_w num_aiv task_us"),
    _kind(ascend.data_copy, "dest tensor_m tensor_n tile_m tile_n num_blocks pattern task_us"),
    _kind(mlu.tile_experiments, "problem TM TN TK RB launch_tasks time_us_best"),
    _kind(mlu.ladder, "technique M K_reduction N_out m_per_loop mlu_ms"),
    _kind(spaces.gemm, "MWG NWG KWG MDIMC NDIMC MDIMA NDIMB VWM VWN SA SB median_ms"),
    _kind(
        spaces.dedispersion_space, "block_size_x block_size_y tile_stride_x tile_stride_y median_ms"
    ),
    _kind(spaces.convolution, "block_size_x block_size_y tile_size_x tile_size_y median_ms"),
    _kind(spaces.profiled_convolution, "block_size_x tile_size_x duration_us smem_bytes"),
    _kind(neusight.matmul, "device op B M N K latency_ms tile_m tile_n block family"),
    _kind(neusight.vector, "device op rows cols latency_ms kernel_name block_x block_y"),
    _kind(operators.llmcompass, "device op M N latency_ms gelem_per_s"),
    _kind(operators.batched, "M N K latency_ms neusight_pred_ms"),
    _kind(operators.deepbench, "device m n k trans_a trans_b time_us"),
    _kind(autotvm.tophub, "device task data_shape weight_shape other_args time_s tile_x tile_y"),
)


def read(source: Source, shelf: Shelf) -> Iterator[Finding]:
    """Parts and skips of one file; a file of no known kind is skipped with its columns."""
    kind = next((k for k in KINDS if k.fits(source)), None)
    if kind is not None:
        return kind.reader(source, shelf)
    columns = ", ".join(list(source.frame.columns)[:8])
    reason = f"no kernels to predict in a file with the columns {columns}"
    return iter([Skip("", len(source.frame), reason)])
