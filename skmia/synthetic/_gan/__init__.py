"""A generator that is trained with differential privacy."""

from ._collapse import RareClassRate, rare_class_rate
from ._dp_wgan import DPWassersteinGAN

__all__ = ["DPWassersteinGAN", "RareClassRate", "rare_class_rate"]
