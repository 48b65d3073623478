"""What is supported, accepted without effect, or refused: said where the call is defined.

The marks do two things. At run time they warn once for each thing that has no effect here, or refuse with one sentence.
And scripts/azureml-table reads them to write the table of docs/azureml.md, so that the table stays true.
"""

import functools
import sys
import warnings

_said = set()


def warn_once(key, sentence, category=UserWarning):
    """Says a sentence once in the life of the process, and names the line of the user's own program."""
    if key in _said:
        return
    _said.add(key)
    depth, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("azureml."):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(sentence, category, stacklevel=depth)


def _defaults(function):
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    given = function.__defaults__ or ()
    found = dict(zip(names[len(names) - len(given) :], given))
    found.update(function.__kwdefaults__ or {})
    return names, found


def without_effect(**reasons):
    """Marks parameters that the SDK has and that change nothing here: {parameter: why}. Each warns once when
    used."""

    def decorate(function):
        names, defaults = _defaults(function)
        title = function.__qualname__.replace(".__init__", "")
        places = [(name, names.index(name) if name in names else None) for name in reasons]

        @functools.wraps(function)
        def call(*args, **kwargs):
            for name, place in places:
                default = defaults.get(name)
                value = kwargs.get(name, default)
                if place is not None and place < len(args):
                    value = args[place]
                if value is not default and value != default:
                    warn_once((title, name), f"{title}: '{name}' has no effect: {reasons[name]}")
            return function(*args, **kwargs)

        call.slipway_parameters = reasons
        return call

    return decorate


def no_effect(why):
    """Marks a call that the SDK has and that has nothing to do here: it warns once and gives what its body gives."""

    def decorate(function):
        title = function.__qualname__.replace(".__init__", "")

        @functools.wraps(function)
        def call(*args, **kwargs):
            warn_once(title, f"{title} has no effect: {why}")
            return function(*args, **kwargs)

        call.slipway_status = ("no effect", why)
        return call

    return decorate


def refused(why):
    """Marks a call that cannot be carried out: it raises UserErrorException with one sentence."""

    def decorate(function):
        title = function.__qualname__.replace(".__init__", "")

        @functools.wraps(function)
        def call(*args, **kwargs):
            from azureml.exceptions import UserErrorException

            raise UserErrorException(f"{title} is not available: {why}")

        call.slipway_status = ("refused", why)
        return call

    return decorate


def constructs_only(why):
    """Marks a class whose objects can be made and looked at, and whose submission is refused with this sentence."""

    def decorate(cls):
        cls.slipway_status = ("constructs only", why)
        return cls

    return decorate


def reject_unknown(title, kwargs, known):
    """For calls that take **kwargs in the SDK: names it has warn once, other names are a TypeError, as in Python."""
    for name in kwargs:
        if name not in known:
            raise TypeError(f"{title}() got an unexpected keyword argument '{name}'")
        warn_once((title, name), f"{title}: '{name}' has no effect: {known[name]}")
