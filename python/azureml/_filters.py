"""What lists are filtered by: a name, a list of names or of [name, value] pairs, or a dictionary."""


def pairs(wanted):
    """{name: value, or None for any}"""
    if not wanted:
        return {}
    if isinstance(wanted, dict):
        return {str(key): None if value is None else str(value) for key, value in wanted.items()}
    listed = [wanted] if isinstance(wanted, str) else wanted
    return {
        str(one if isinstance(one, str) else one[0]): None if isinstance(one, str) else str(one[1])
        for one in listed
    }


def has_all(there, wanted):
    return all(key in there and value in (None, there[key]) for key, value in pairs(wanted).items())
