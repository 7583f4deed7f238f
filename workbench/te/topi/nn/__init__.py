"""Operators of neural networks, as in TVM's ``topi.nn``."""

from workbench.te.topi.nn.conv1d import conv1d, conv1d_ncw, conv1d_nwc
from workbench.te.topi.nn.conv2d import (
    conv2d,
    conv2d_hwcn,
    conv2d_nchw,
    conv2d_NCHWc,
    conv2d_nhwc,
    group_conv2d_nchw,
)
from workbench.te.topi.nn.dense import batch_matmul, dense, matmul
from workbench.te.topi.nn.depthwise_conv2d import depthwise_conv2d_nchw, depthwise_conv2d_nhwc
from workbench.te.topi.nn.elemwise import leaky_relu, relu
from workbench.te.topi.nn.layer_norm import layer_norm
from workbench.te.topi.nn.pad import pad
from workbench.te.topi.nn.pooling import global_pool, pool2d
from workbench.te.topi.nn.softmax import log_softmax, softmax

__all__ = [
    "batch_matmul",
    "conv1d",
    "conv1d_ncw",
    "conv1d_nwc",
    "conv2d",
    "conv2d_NCHWc",
    "conv2d_hwcn",
    "conv2d_nchw",
    "conv2d_nhwc",
    "dense",
    "depthwise_conv2d_nchw",
    "depthwise_conv2d_nhwc",
    "global_pool",
    "group_conv2d_nchw",
    "layer_norm",
    "leaky_relu",
    "log_softmax",
    "matmul",
    "pad",
    "pool2d",
    "relu",
    "softmax",
]
