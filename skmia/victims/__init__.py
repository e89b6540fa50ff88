"""Models under attack: services, nets of the literature, and what is inside of a model."""

from ._callable import CallableVictim
from ._image_nets import make_alexnet, make_densenet, make_resnet, make_resnext
from ._nets import make_conv_net, make_pendigits_net, make_purchase_net, make_small_net
from ._white_box import WhiteBox, open_white_box

__all__ = [
    "CallableVictim",
    "WhiteBox",
    "make_alexnet",
    "make_conv_net",
    "make_densenet",
    "make_pendigits_net",
    "make_purchase_net",
    "make_resnet",
    "make_resnext",
    "make_small_net",
    "open_white_box",
]
