"""BERT-base (Devlin et al. 2019) at sequence length 128, batch 1; 11.2 GMAC.

12 layers, 12 heads of 64, hidden size 768.  The projections of query, key and value are one
product; the scale of the attention is folded into the query's weights.  GELU is fused into the
product before it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tuner.networks.network import Network, Untuned

LAYERS, HEADS, WIDTH, HIDDEN, SEQUENCE = 12, 12, 64, 768, 128
_UNTUNED = (
    Untuned("embedding look-up", 3, "a gather of rows: nothing to tile"),
    Untuned("transpose of heads", 4 * LAYERS, "no kind of workload: only moves data"),
    Untuned("pooler's tanh", 1, "no kind of workload: 768 elements"),
)


def bert_base(dtype: str) -> Network:
    """The network with activations and weights of ``dtype``: ``float16`` or ``float32``."""
    specs = (f"{layer}:{dtype}" for layer in _layers())
    name = "bert-base" if dtype == "float16" else f"bert-base:{dtype}"
    return Network.of_specs(name, specs, _UNTUNED)


def _layers() -> Iterator[str]:
    s, h = SEQUENCE, HIDDEN
    yield from (f"add:{s}x{h}",) * 2  # embeddings of words, positions and segments
    yield f"layer_norm:{s}x{h}"
    for _ in range(LAYERS):
        yield from (
            f"dense_bias:{s}x{3 * h}x{h}",
            f"batch_matmul:{HEADS}x{s}x{s}x{WIDTH}",
            f"softmax:{HEADS * s}x{s}",
            f"batch_matmul:{HEADS}x{s}x{WIDTH}x{s}",
            f"dense_bias:{s}x{h}x{h}",
            f"add:{s}x{h}",
            f"layer_norm:{s}x{h}",
            f"dense_bias_gelu:{s}x{4 * h}x{h}",
            f"dense_bias:{s}x{h}x{4 * h}",
            f"add:{s}x{h}",
            f"layer_norm:{s}x{h}",
        )
    yield f"dense_bias:1x{h}x{h}"  # pooler
