"""How models are trained: one by one, or many of them in one program."""

from abc import ABC, abstractmethod


class Way(ABC):
    """A way to train the models of a job.

    Attributes
    ----------
    name : str
        As shown in ``ShadowPool.backend_``.
    together : bool
        Whether it trains many models in one program.
    exact : bool
        Whether its models equal models trained one by one.
    """

    name: str
    together = True
    exact = True

    @abstractmethod
    def why_not(self, job):
        """Reason why the way cannot do a job, in one sentence; None where it can."""

    def nearly(self, job):
        """What the user's code has that keeps the way from a job of a kind that it can do.

        One sentence; None where it can do the job, or the job is of another kind.
        """
        return None

    @abstractmethod
    def run(self, job, models, where):
        """Train some of the models of a job.

        Parameters
        ----------
        job : Job
            Job that the models belong to.
        models : iterable of int
            Numbers of the models to train.
        where : Workers
            Runs the tasks.

        Yields
        ------
        k, kept : int, Kept
            Each model once, in any order, as soon as it is there; and further ones, where they
            come out of the same computation.
        """
