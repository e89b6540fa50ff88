"""Scores of records that compare synthetic rows with rows of the population."""

from ._classifier import ClassifierScore
from ._copula import CopulaScore
from ._distances import DistanceDifference, Neighborhood, RareCopies
from ._kernels import DensityRatio, LikelihoodRatio

# By the name of the statistic; an entry is a class whose instances are called with points.
SCORES = {
    "distance_difference": DistanceDifference,
    "neighborhood": Neighborhood,
    "rare_copies": RareCopies,
    "domias": DensityRatio,
    "gen_lra": LikelihoodRatio,
    "copula": CopulaScore,
    "classifier": ClassifierScore,
}

__all__ = ["SCORES"]
