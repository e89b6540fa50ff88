"""Measuring attacks without the victim's labels."""

from ._leave_one_out import leave_one_model_out, power_curve

__all__ = ["leave_one_model_out", "power_curve"]
