"""From an interpreted program to a template of the nest of N candidates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tuner import nest
from tuner.columns.compact import Use, compacted, row_pad
from tuner.columns.expr import ONE, Expr, const, divisor_or_one, minimum, mul
from tuner.columns.loops import extent_of
from tuner.columns.placement import is_thread
from tuner.columns.program import Block, Digit, Program, Region, Unsupported
from tuner.columns.radix import Radix
from tuner.columns.template import (
    AccessTemplate,
    DigitTemplate,
    SplitTemplate,
    StatementTemplate,
    Template,
)

_FETCH = "meta_schedule.cooperative_fetch"
_UNROLL = "meta_schedule.unroll_explicit"
_BUFFERS = "prunelab.buffers"
_CORES = "prunelab.cores"
_PIPELINE = "software_pipeline_stage"
_KEPT = ("threadIdx", "vectorize")  # kinds of digits that say something with extent 1


def template(program: Program, model: nest.Nest) -> Template:
    """Fill a program's expressions into ``model``, the nest of any one candidate of the sketch.

    Raises
    ------
    Unsupported
        Program and model do not have the same statements, reads or buffers.
    """
    blocks = list(program.root.blocks())
    statements = [s for kernel in model.kernels for s in kernel]
    if [b.name for b in blocks] != [s.name for s in statements]:
        raise Unsupported("the program's blocks are not those of a replayed candidate")
    builder = _Builder(program, dict(zip(blocks, statements, strict=True)))
    done = iter([builder.statement(block) for block in blocks])
    return Template(
        model=model,
        kernels=tuple(tuple(next(done) for _ in kernel) for kernel in model.kernels),
        buffers=tuple(builder.allocation(b) for b in model.buffers.values()),
        unroll=program.root.annotations.get(_UNROLL, const(0)),
    )


@dataclass(frozen=True)
class _Access:
    """A block's resolved access to a buffer of the program."""

    buffer: str
    use: Use


class _Builder:
    def __init__(self, program: Program, models: Mapping[Block, nest.Statement]) -> None:
        self._program = program
        self._models = models
        self._radix = Radix()
        self._digit_names: dict[Digit, str] = {}
        # TVM may give several buffers one name; which is which follows from who writes it.
        self._model_name = {b.writes[0].buffer: s.write.buffer for b, s in models.items()}
        found = [(b, self._resolved(b)) for b in models]
        self._accesses = {b: [self._final(a) for a in accesses] for b, accesses in found}

    def _resolved(self, block: Block) -> list[_Access]:
        """A block's write and reads in this order, which decides where digits are cut."""
        return [self._access(block, r) for r in (block.writes[0], *block.reads)]

    def _access(self, block: Block, region: Region) -> _Access:
        start = tuple(self._radix.resolve(d.over_digits()) for d in region.dims)
        return _Access(region.buffer, Use(block, start, tuple(d.extent for d in region.dims)))

    def _final(self, access: _Access) -> _Access:
        start = tuple(self._radix.final(r) for r in access.use.start)
        return replace(access, use=replace(access.use, start=start))

    def _named_in_model(self, buffer: str) -> str:
        return self._model_name.get(buffer, buffer)

    def statement(self, block: Block) -> StatementTemplate:
        """The statement of a block; what no decision changes comes from its model."""
        model = self._models[block]
        write, *reads = self._accesses[block]
        of = {self._named_in_model(a.buffer): a for a in reads}
        if missing := [r.buffer for r in model.reads if r.buffer not in of]:
            raise Unsupported(f"block {block.name}: does not read {missing[0]}")
        return StatementTemplate(
            model=model,
            digits=tuple(self._digits(model, block)),
            reads=tuple(self._over_names(of[r.buffer]) for r in model.reads),
            write=self._over_names(write),
            lanes=_lanes(block),
            stages=_stages(model, block),
            pipeline_extent=_pipeline_extent(block),
            dealt_to=_dealt_to(block),
        )

    def _digits(self, model: nest.Statement, block: Block) -> Iterator[DigitTemplate]:
        kinds = [(o, o.kind) for o in block.ancestors()[::-1]]
        if model.cooperative:
            around = [(o, kind) for o, kind in kinds[:-1] if not is_thread(kind)]
            kinds = [*around, (kinds[-1][0], "tile")]
        for loop, kind in kinds:
            for digit in loop.digits:
                for leaf in self._radix.leaves(digit):
                    if leaf.extent != ONE or kind.startswith(_KEPT):
                        yield self._name(leaf), kind, leaf.extent, leaf.reduction

    def _name(self, digit: Digit) -> str:
        return self._digit_names.setdefault(digit, f"{digit.name}#{len(self._digit_names)}")

    def _over_names(self, access: _Access) -> AccessTemplate:
        return AccessTemplate(
            buffer=self._named_in_model(access.buffer),
            dims=tuple(self._named(r.coefs) for r in access.use.start),
            extent=access.use.extent,
            splits=tuple(
                tuple(SplitTemplate(self._named(s.coefs), s.div, s.mod, s.scale) for s in r.splits)
                for r in access.use.start
            ),
        )

    def _named(self, coefs: Mapping[Digit, Expr]) -> dict[str, Expr]:
        return {self._name(d): c for d, c in coefs.items() if d.extent != ONE}

    def allocation(self, model: nest.Buffer) -> tuple[nest.Buffer, tuple[Expr, ...], Expr]:
        """A buffer with its allocated shape and row padding."""
        name = next((n for n, m in self._model_name.items() if m == model.name), model.name)
        buffer = self._program.buffers.get(name)
        if buffer is None or buffer.scope != model.scope:
            raise Unsupported(f"buffer {model.name}: not in the program")
        every = (a for accesses in self._accesses.values() for a in accesses)
        shape = buffer.shape
        if not buffer.argument:
            uses = [a.use for a in every if a.buffer == name]
            shape = compacted(buffer, uses, self._radix)
        return model, shape, row_pad(buffer, shape)


def _lanes(block: Block) -> Expr:
    loops = block.ancestors()
    width = block.annotations.get(_FETCH)
    if width is not None:
        return divisor_or_one(width, extent_of(loops[0]))
    return mul(ONE, *(extent_of(loop) for loop in loops if loop.kind == "vectorize"))


def _stages(model: nest.Statement, block: Block) -> Expr | None:
    """Copies of the written buffer: sampled ones, else those of a software pipeline (fixed)."""
    sampled: Expr | None = block.annotations.get(_BUFFERS)
    if sampled is None:
        return None if model.stages is None else const(int(model.stages[0]))
    if _pipeline_extent(block) is not None:
        raise Unsupported(f"block {block.name}: a buffer count inside a software pipeline")
    return sampled


def _pipeline_extent(block: Block) -> Expr | None:
    out: Expr | None = None
    for loop in block.ancestors():
        if _PIPELINE in loop.annotations:
            extent = extent_of(loop)
            out = extent if out is None else minimum(out, extent)
    return out


def _dealt_to(block: Block) -> Expr | None:
    found = (loop.annotations[_CORES] for loop in block.ancestors() if _CORES in loop.annotations)
    cores: Expr | None = next(found, None)
    return cores
