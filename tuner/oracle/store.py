"""Oracles as Parquet: one row a candidate, and in the file's metadata what was measured.

Columns: ``rank`` int64, ``latency_us`` float64 (``inf``: fails, or TVM's verifier rejects it),
``failure`` int8 (:class:`hwsim.result.Failure`), ``rejected`` bool.  A file appears under its name
when it is whole: it is written beside it and renamed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hwsim.chips import silicon_hash
from tuner.oracle.recipes import OracleError
from tuner.problem import Problem
from tuner.truth import Truth

SCHEMA = 1
_KEY = b"prunelab"
_ENCODING = {"rank": "DELTA_BINARY_PACKED", "latency_us": "BYTE_STREAM_SPLIT"}  # half the size
_FIELDS = [("rank", "int64"), ("latency_us", "float64"), ("failure", "int8"), ("rejected", "bool")]


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """What an oracle was measured for; any difference makes it another one.

    ``silicon_hash`` leaves out of the chip what no latency depends on, ``space_hash`` covers the
    sketches and every option of their decisions in order.
    """

    schema: int = SCHEMA
    version: str  # of prunelab
    space: str  # name of the recipe, or empty
    chip: str
    silicon_hash: str
    workload: str
    workload_hash: str
    space_hash: str
    candidates: int


def identity_of(problem: Problem) -> Identity:
    """What an oracle of ``problem`` has to say of itself."""
    return Identity(
        version=version("prunelab"),
        space=problem.space,
        chip=problem.chip.name,
        silicon_hash=silicon_hash(problem.chip),
        workload=problem.workload.spec,
        workload_hash=problem.program_hash,
        space_hash=_space_hash(problem),
        candidates=problem.size,
    )


def _space_hash(problem: Problem) -> str:
    digest = hashlib.sha256()
    for sketch in problem.sketches:
        digest.update(sketch.hash(np.empty(0, dtype=np.int64)).encode())
        for d in sketch.decisions:
            digest.update(f"{d.name}:".encode())
            digest.update(np.ascontiguousarray(d.options(), dtype="<i8").tobytes())
    return digest.hexdigest()[:16]


def table_of(first: int, truth: Truth) -> Any:
    """The ``pyarrow.Table`` of candidates ``first``, ``first + 1``, ..."""
    ranks = np.arange(first, first + len(truth.latency_us))
    columns = (ranks, truth.latency_us, truth.failure.astype(np.int8), truth.rejects)
    return pa.table(list(columns), names=[name for name, _ in _FIELDS])


@contextmanager
def writer(path: Path, identity: Identity) -> Iterator[Any]:
    """Write ``path`` table by table (``write_table``); it appears when the block ends well."""
    fresh = path.with_name(path.name + ".part")
    metadata = {_KEY: msgspec.json.encode(identity)}
    schema = pa.schema([(n, pa.type_for_alias(t)) for n, t in _FIELDS], metadata=metadata)
    with pq.ParquetWriter(
        fresh,
        schema,
        compression="zstd",
        compression_level=9,
        use_dictionary=["failure", "rejected"],
        column_encoding=_ENCODING,
    ) as out:
        yield out
    fresh.replace(path)


def is_whole(path: Path, identity: Identity, rows: int) -> bool:
    """Whether ``path`` is there with ``rows`` candidates; False where it is missing or torn.

    Raises
    ------
    OracleError
        It was measured for something else.
    """
    try:
        found = pq.ParquetFile(path)
    except (OSError, pa.ArrowInvalid):
        return False
    _check(path, found.schema_arrow.metadata, identity)
    return bool(found.metadata.num_rows == rows)


def read_truth(path: Path, identity: Identity) -> Truth:
    """The truth of every candidate in a file.

    Raises
    ------
    OracleError
        It is missing, damaged, incomplete, or was measured for something else.
    """
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowInvalid):
        raise OracleError(f"{path}: missing or damaged, expected an oracle") from None
    _check(path, table.schema.metadata, identity)
    if len(table) != identity.candidates:
        raise OracleError(f"{path}: has {len(table)} candidates of {identity.candidates}")
    columns = {name: table[name].to_numpy() for name, _ in _FIELDS}
    failure = columns["failure"].astype(np.int64)
    return Truth(columns["latency_us"], columns["rejected"], failure)


def _check(path: Path, metadata: dict[bytes, bytes] | None, wanted: Identity) -> None:
    try:
        found = msgspec.json.decode((metadata or {})[_KEY], type=Identity)
    except (KeyError, msgspec.MsgspecError):
        raise OracleError(f"{path}: not an oracle of prunelab") from None
    for name in Identity.__struct_fields__:
        there, here = getattr(found, name), getattr(wanted, name)
        if there != here:
            raise OracleError(
                f"{path}: measured for another {name}: {there!r}, this is {here!r};"
                " remove it or give another folder"
            )
