"""Names of columns that methods of data sets are given."""

from partita import _core


def names_of(where, what, given):
    """The names of the parameter `what`: a text, or some in a list or tuple. Raises TypeError for others, ValueError
    for none, for an empty name and for a name that is there twice."""
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, (list, tuple)) or not all(isinstance(one, str) for one in names):
        raise TypeError(f"[{where}] {what} is not names of columns, got {given!r}, expected a str or a list of them")
    if not names or "" in names:
        raise ValueError(f"[{where}] {what} has no name, got {given!r}, expected one or more")
    require_distinct(where, names)
    return list(names)


def names_or_none(where, what, given):
    """The names of a parameter, as `names_of` gives them; None stays None."""
    return None if given is None else names_of(where, what, given)


def require_distinct(where, names):
    """Checks that each name is there once. Raises ValueError if not."""
    for i, name in enumerate(names):
        if name in names[:i]:
            raise ValueError(f"[{where}] repeated column, got {name!r} twice, expected it once")


def require_column(where, name, names):
    """Checks that a column is there. Raises ValueError if not."""
    if name in names:
        return
    near = _core.nearest(str(name), list(names))
    raise ValueError(
        f"[{where}] unknown column, got {name!r}, expected one of {', '.join(names)}"
        + (f", did you mean '{near}'?" if near else "")
    )


def require_columns(where, asked, names):
    """Checks that columns are there. Raises ValueError if one is not."""
    for name in asked:
        require_column(where, name, names)
