"""What a victim answers, asked through the door that users take."""

from skmia import Records


def answers_of(victim, X):
    """The answers of a victim for rows of X."""
    return Records(X).with_outputs(victim)["outputs"]
