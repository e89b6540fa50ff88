"""Models of trees that are read in the same way."""

from sklearn.ensemble import (
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
HISTOGRAMS = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
BOOSTED = (GradientBoostingClassifier, GradientBoostingRegressor)
