"""Warnings and errors of skmia."""

__all__ = [
    "CheckpointError",
    "JointTrainingWarning",
    "PrivacyWarning",
    "ResolutionWarning",
    "TrainingError",
]


class CheckpointError(ValueError):
    """A checkpoint belongs to another task, or cannot be read or written."""


class JointTrainingWarning(RuntimeWarning):
    """Shadow models are trained one by one, although models of their kind can be trained together.

    The numbers are correct. Only the training takes longer.
    """


class PrivacyWarning(UserWarning):
    """A claim of differential privacy does not cover something that is released."""


class ResolutionWarning(UserWarning):
    """The evaluation set is too small to resolve the rate that was asked for."""


class TrainingError(RuntimeError):
    """A shadow model could not be trained on its part of the records."""


def __dir__():
    return list(__all__)
