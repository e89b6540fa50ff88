"""Nets for images: a small convolutional net, and a residual net of 18 layers."""

from itertools import pairwise

from torch import nn


class SmallConvNet(nn.Sequential):
    """Two convolutions with pooling, and one Linear."""

    def __init__(self, width=16, n_channels=3, size=32, n_classes=10):
        super().__init__(
            nn.Conv2d(n_channels, width, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(2 * width * (size // 4) ** 2, n_classes),
        )


class Block(nn.Module):
    """Two convolutions with a way around."""

    def __init__(self, n_in, n_out, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(n_in, n_out, 3, stride, 1, bias=False),
            nn.BatchNorm2d(n_out),
            nn.ReLU(),
            nn.Conv2d(n_out, n_out, 3, 1, 1, bias=False),
            nn.BatchNorm2d(n_out),
        )
        self.around = nn.Identity()
        if stride > 1 or n_in != n_out:
            self.around = nn.Sequential(
                nn.Conv2d(n_in, n_out, 1, stride, bias=False), nn.BatchNorm2d(n_out)
            )

    def forward(self, X):
        return (self.body(X) + self.around(X)).relu()


class ResidualNet(nn.Sequential):
    """The net of 18 layers for images of 32 x 32 pixels; 64 is the usual width."""

    def __init__(self, width=64, n_channels=3, n_classes=10):
        widths = [width, width, 2 * width, 4 * width, 8 * width]
        blocks = []
        for i, (n_in, n_out) in enumerate(pairwise(widths)):
            blocks += [Block(n_in, n_out, 2 if i else 1), Block(n_out, n_out, 1)]
        super().__init__(
            nn.Conv2d(n_channels, width, 3, 1, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            *blocks,
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(widths[-1], n_classes),
        )
