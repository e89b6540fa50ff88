"""Models of trees that are read in the same way."""

from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

FORESTS = (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
BAGS = (BaggingClassifier, BaggingRegressor)
HISTOGRAMS = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
BOOSTED = (GradientBoostingClassifier, GradientBoostingRegressor)
