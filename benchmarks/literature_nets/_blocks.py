"""Parts of nets for images."""

import torch
import torch.nn.functional as F
from torch import nn


def conv(n_in, n_out, kernel, stride=1, groups=1):
    """A convolution that keeps the size of the image, but for the stride, without intercepts."""
    return nn.Conv2d(
        n_in, n_out, kernel, stride=stride, padding=kernel // 2, groups=groups, bias=False
    )


class PaddedShortcut(nn.Module):
    """Every other pixel, and channels of zeros: a way around a block without parameters.

    Parameters
    ----------
    n_in, n_out : int
        Number of channels.
    stride : int
        Step from pixel to pixel.
    """

    def __init__(self, n_in, n_out, stride):
        super().__init__()
        self.stride, self.n_more = stride, n_out - n_in

    def forward(self, x):
        x = x[:, :, :: self.stride, :: self.stride]
        return F.pad(x, (0, 0, 0, 0, self.n_more // 2, self.n_more - self.n_more // 2))


def projected_shortcut(n_in, n_out, stride):
    """A convolution of single pixels: a way around a block with parameters."""
    return nn.Sequential(conv(n_in, n_out, 1, stride), nn.BatchNorm2d(n_out))


class Residual(nn.Module):
    """The sum of a block and a way around it, then ReLU.

    Parameters
    ----------
    block : nn.Module
    shortcut : nn.Module
    """

    def __init__(self, block, shortcut):
        super().__init__()
        self.block, self.shortcut, self.activation = block, shortcut, nn.ReLU()

    def forward(self, x):
        return self.activation(self.block(x) + self.shortcut(x))


class Joined(nn.Module):
    """What a block receives and what it gives, one channel after the other.

    Parameters
    ----------
    block : nn.Module
    """

    def __init__(self, block):
        super().__init__()
        self.block = block

    def forward(self, x):
        return torch.cat([x, self.block(x)], 1)


def basic_block(n_in, n_out, stride, shortcut):
    """Two convolutions of 3 x 3 with a way around."""
    block = nn.Sequential(
        conv(n_in, n_out, 3, stride),
        nn.BatchNorm2d(n_out),
        nn.ReLU(),
        conv(n_out, n_out, 3),
        nn.BatchNorm2d(n_out),
    )
    changes = stride > 1 or n_in != n_out
    return Residual(block, shortcut(n_in, n_out, stride) if changes else nn.Identity())


def grouped_block(n_in, n_out, width, cardinality, stride):
    """Convolutions of 1 x 1, grouped 3 x 3 and 1 x 1 with a way around."""
    block = nn.Sequential(
        conv(n_in, width, 1),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        conv(width, width, 3, stride, cardinality),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        conv(width, n_out, 1),
        nn.BatchNorm2d(n_out),
    )
    changes = stride > 1 or n_in != n_out
    return Residual(block, projected_shortcut(n_in, n_out, stride) if changes else nn.Identity())


def dense_block(n_in, growth):
    """Convolutions of 1 x 1 and 3 x 3 before which everything is normalized."""
    return Joined(
        nn.Sequential(
            nn.BatchNorm2d(n_in),
            nn.ReLU(),
            conv(n_in, 4 * growth, 1),
            nn.BatchNorm2d(4 * growth),
            nn.ReLU(),
            conv(4 * growth, growth, 3),
        )
    )


def averaged(n_in, n_classes):
    """Logits from the mean of each channel."""
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(n_in, n_classes)]
