"""Which values are tried: expressions, and the ways to draw from them."""

from azureml.exceptions import UserErrorException


def choice(*options):
    if len(options) == 1 and isinstance(options[0], (list, tuple, range)):
        options = tuple(options[0])
    if not options:
        raise UserErrorException("choice needs at least one value")
    return ["choice", [list(options)]]


def randint(upper):
    return ["randint", [upper]]


def _ordered(name, low, high):
    if low >= high:
        raise UserErrorException(f"{name}: the least value {low} is not below the greatest {high}")


def uniform(min_value, max_value):
    _ordered("uniform", min_value, max_value)
    return ["uniform", [min_value, max_value]]


def quniform(min_value, max_value, q):
    _ordered("quniform", min_value, max_value)
    return ["quniform", [min_value, max_value, q]]


def loguniform(min_value, max_value):
    _ordered("loguniform", min_value, max_value)
    return ["loguniform", [min_value, max_value]]


def qloguniform(min_value, max_value, q):
    _ordered("qloguniform", min_value, max_value)
    return ["qloguniform", [min_value, max_value, q]]


def normal(mu, sigma):
    return ["normal", [mu, sigma]]


def qnormal(mu, sigma, q):
    return ["qnormal", [mu, sigma, q]]


def lognormal(mu, sigma):
    return ["lognormal", [mu, sigma]]


def qlognormal(mu, sigma, q):
    return ["qlognormal", [mu, sigma, q]]


class HyperParameterSampling:
    """The parent of the ways to draw values."""

    _expressions = None
    _properties = None

    def __init__(self, sampling_method_name, parameter_space, properties=None):
        self._name = sampling_method_name
        self._parameter_space = parameter_space
        self._properties = properties
        if not parameter_space:
            raise UserErrorException("The parameter space is empty")
        for name, expression in parameter_space.items():
            kind = expression[0] if isinstance(expression, list) and expression else None
            if self._expressions and kind not in self._expressions:
                raise UserErrorException(
                    f"The parameter '{name}' is a {kind}; {type(self).__name__} takes {', '.join(self._expressions)}"
                )


class RandomParameterSampling(HyperParameterSampling):
    def __init__(self, parameter_space, properties=None):
        super().__init__("RANDOM", parameter_space, properties)


class GridParameterSampling(HyperParameterSampling):
    _expressions = ("choice",)

    def __init__(self, parameter_space):
        super().__init__("GRID", parameter_space)


class BayesianParameterSampling(HyperParameterSampling):
    _expressions = ("choice", "uniform", "quniform")

    def __init__(self, parameter_space):
        super().__init__("BayesianOptimization", parameter_space)
