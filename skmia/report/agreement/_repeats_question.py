"""Whether the model gives equal answers to equal rows."""

from ._base import AgreementQuestion

_CURE = (
    "If this is not intended, put a net into evaluation mode (net.eval()), or fix the seed of what "
    "predict draws. If the model adds noise on purpose, an attacker averages repeated answers: "
    "audit the mean of about {n:,} answers, as skmia.victims.CallableVictim(..., n_repeats={n}) or "
    "as a file of answers, or audit the model without its noise."
)


class RepeatsQuestion(AgreementQuestion):
    """Whether answers are the same when the model is asked again."""

    name = "repeats"

    def ask(self, met, references):
        return self.warn_of_noise(met)

    def warn_of_noise(self, met):
        """Return the warning where answers differ, whoever is asked."""
        if met.repeats is not False:
            return None
        n = met.repetition.count_missing(met.n_repeats)
        text = "The model gives different answers when it is queried again."
        if met.n_repeats > 1:
            text = f"The means of {met.n_repeats:,} answers still differ when the model is queried "
            text += "again."
        return self.warn(text, _CURE.format(n=n))
