"""ResNet-50 (He et al. 2016) at 224 x 224, batch 1, in NHWC; 4.1 GMAC.

The common variant that has the stride in a block's 3x3 convolution ("v1.5", as in torchvision and
in MLPerf).  Batch norm is folded into the bias; ReLU, and in a block's last convolution the
residual, are fused into the convolution.
"""

from __future__ import annotations

from collections.abc import Iterator

from tuner.networks.network import Network

# Of each stage: input side, stride of its first block, width of its 3x3 convolutions, blocks.
_STAGES = ((56, 1, 64, 3), (56, 2, 128, 4), (28, 2, 256, 6), (14, 2, 512, 3))


def resnet50(dtype: str) -> Network:
    """The network with inputs and weights of ``dtype``: ``float16``, ``float32`` or ``int8``."""
    specs = (f"{layer}:{dtype}" for layer in _layers())
    return Network.of_specs(f"resnet50:{dtype}", specs)


def _layers() -> Iterator[str]:
    yield "conv2d_bias_relu:1x224x224x3x64x7x7x2x3"
    yield "max_pool2d:1x112x112x64x3x2x1"
    channels = 64
    for side, stride, width, blocks in _STAGES:
        for block in range(blocks):
            yield from _block(side, channels, width, stride if block == 0 else 1, block == 0)
            side = side // stride if block == 0 else side
            channels = 4 * width
    yield "global_avg_pool:1x7x7x2048"
    yield "dense_bias:1x1000x2048"


def _block(side: int, channels: int, width: int, stride: int, widens: bool) -> Iterator[str]:
    out = side // stride
    yield f"conv2d_bias_relu:1x{side}x{side}x{channels}x{width}x1x1x1x0"
    yield f"conv2d_bias_relu:1x{side}x{side}x{width}x{width}x3x3x{stride}x1"
    if widens:
        yield f"conv2d_bias:1x{side}x{side}x{channels}x{4 * width}x1x1x{stride}x0"
    yield f"conv2d_bias_add_relu:1x{out}x{out}x{width}x{4 * width}x1x1x1x0"
