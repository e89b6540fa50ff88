"""Nets that the literature attacks, as skorch classifiers that are not fitted.

They take float32 and labels 0, 1, 2, ... as int64. Further arguments are parameters of
:class:`skorch.NeuralNetClassifier`.
"""

from ._image_nets import make_alexnet, make_densenet, make_resnet, make_resnext
from ._nets import make_conv_net, make_pendigits_net, make_purchase_net, make_small_net

__all__ = [
    "make_alexnet",
    "make_conv_net",
    "make_densenet",
    "make_pendigits_net",
    "make_purchase_net",
    "make_resnet",
    "make_resnext",
    "make_small_net",
]
