"""Workloads by name: the layers of ResNet-50 (He et al. 2016) and BERT-base (Devlin et al. 2019).

Batch 1.  ResNet-50: the first convolution, then of each stage the 1x1 that widens to four times the
channels and the 3x3 at stride 1; ``.bias-relu`` is the same layer with batch norm folded into a
bias and ReLU fused.  BERT-base: 12 heads of 64, hidden size 768, at sequence length 128 and 512;
``qkv`` is the fused projection.
"""

from __future__ import annotations

DEFAULT_DTYPE = "float16"


def _resnet50() -> dict[str, str]:
    layers = {"resnet50.conv1": "1x224x224x3x64x7x7x2x3"}
    for stage, (size, channels) in enumerate(((56, 64), (28, 128), (14, 256), (7, 512)), start=2):
        head = f"1x{size}x{size}x{channels}"
        layers[f"resnet50.c{stage}.1x1"] = f"{head}x{4 * channels}x1x1x1x0"
        layers[f"resnet50.c{stage}.3x3"] = f"{head}x{channels}x3x3x1x1"
    plain = {name: f"conv2d:{dims}" for name, dims in layers.items()}
    fused = {f"{name}.bias-relu": f"conv2d_bias_relu:{dims}" for name, dims in layers.items()}
    return plain | fused


def _bert_base(s: int) -> dict[str, str]:
    heads, width, hidden = 12, 64, 768
    layers = {
        "qkv": f"gemm:{s}x{3 * hidden}x{hidden}",
        "attn-out": f"gemm:{s}x{hidden}x{hidden}",
        "ffn1": f"gemm:{s}x{4 * hidden}x{hidden}",
        "ffn2": f"gemm:{s}x{hidden}x{4 * hidden}",
        "qk": f"batch_matmul:{heads}x{s}x{s}x{width}",
        "pv": f"batch_matmul:{heads}x{s}x{width}x{s}",
        "softmax": f"softmax:{heads * s}x{s}",
        "layer_norm": f"layer_norm:{s}x{hidden}",
    }
    return {f"bert-base.s{s}.{name}": spec for name, spec in layers.items()}


# Catalogue name -> spec without dtype; the dtype is float16 unless a suffix says otherwise.
SPECS: dict[str, str] = _resnet50() | _bert_base(128) | _bert_base(512)

# Entries that are listed with another dtype as well.
INT8 = ("resnet50.c3.1x1", "resnet50.c4.3x3", "bert-base.s128.qkv", "bert-base.s128.ffn1")
