"""When a run of a search is given up."""

from azureml.exceptions import UserErrorException


class EarlyTerminationPolicy:
    """The parent of the policies; an interval is one log of the primary metric."""

    def __init__(self, name, policy_config=None, evaluation_interval=1, delay_evaluation=0):
        if evaluation_interval < 1 or delay_evaluation < 0:
            raise UserErrorException("evaluation_interval is 1 or more and delay_evaluation 0 or more")
        self.name = name
        self._policy_config = policy_config or {}
        self.evaluation_interval = evaluation_interval
        self.delay_evaluation = delay_evaluation


class BanditPolicy(EarlyTerminationPolicy):
    def __init__(self, evaluation_interval=1, slack_factor=None, slack_amount=None, delay_evaluation=0):
        if (slack_factor is None) == (slack_amount is None):
            raise UserErrorException("A bandit policy takes slack_factor or slack_amount, one of the two")
        if (slack_factor if slack_factor is not None else slack_amount) < 0:
            raise UserErrorException("The slack is 0 or more")
        self.slack_factor = slack_factor
        self.slack_amount = slack_amount
        given = {"slack_factor": slack_factor, "slack_amount": slack_amount}
        super().__init__("Bandit", given, evaluation_interval, delay_evaluation)


class MedianStoppingPolicy(EarlyTerminationPolicy):
    def __init__(self, evaluation_interval=1, delay_evaluation=0):
        super().__init__("MedianStopping", None, evaluation_interval, delay_evaluation)


class TruncationSelectionPolicy(EarlyTerminationPolicy):
    def __init__(
        self, truncation_percentage, evaluation_interval=1, delay_evaluation=0, exclude_finished_jobs=False
    ):
        if not 1 <= truncation_percentage <= 99:
            raise UserErrorException("truncation_percentage is a whole number from 1 to 99")
        self.truncation_percentage = truncation_percentage
        given = {
            "truncation_percentage": truncation_percentage,
            "exclude_finished_jobs": exclude_finished_jobs,
        }
        super().__init__("TruncationSelection", given, evaluation_interval, delay_evaluation)


class NoTerminationPolicy(EarlyTerminationPolicy):
    def __init__(self):
        super().__init__("Default")
