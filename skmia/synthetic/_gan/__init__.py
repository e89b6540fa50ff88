"""A generator that is trained with differential privacy."""

from ._collapse import RareClassRate, rare_class_rate
from ._critic_bounds import critic_gradient_bounds, gradient_penalty_bounds
from ._dp_wgan import DPWassersteinGAN

__all__ = [
    "DPWassersteinGAN",
    "RareClassRate",
    "critic_gradient_bounds",
    "gradient_penalty_bounds",
    "rare_class_rate",
]
