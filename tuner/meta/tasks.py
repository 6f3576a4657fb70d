"""Which tasks a model is trained on, and which ones are held out to say how far it carries."""

from __future__ import annotations

from itertools import product

TRAIN_CHIPS = (
    "ascend-910b1", "ascend-910b3", "mlu370-x4", "mlu370-s4",
    "a100-sxm-40gb", "v100-sxm2", "rtx-3090", "t4",
)  # fmt: skip
HELD_OUT_CHIPS = ("ascend-910b4", "mlu370-x8", "h100-sxm", "rtx-2080-ti")

TRAIN_WORKLOADS = (
    "gemm:512x512x512",
    "bert-base.s128.ffn1",
    "bert-base.s128.qk",
    "resnet50.c2.3x3",
    "resnet50.c4.1x1.bias-relu",
    "bert-base.s128.softmax",
    "bert-base.s512.layer_norm",
)
HELD_OUT_WORKLOADS = (
    "bert-base.s512.qkv",
    "bert-base.s512.pv",
    "resnet50.c3.3x3.bias-relu",
    "resnet50.c5.1x1",
    "bert-base.s512.softmax",
)

Pair = tuple[str, str]  # workload, chip


def training() -> list[Pair]:
    """The 56 tasks that a model is trained on."""
    return list(product(TRAIN_WORKLOADS, TRAIN_CHIPS))


def held_out() -> list[Pair]:
    """The 20 tasks of which neither the workload nor the chip was trained on."""
    return list(product(HELD_OUT_WORKLOADS, HELD_OUT_CHIPS))
