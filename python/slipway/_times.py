"""Times as the server writes them, and as people read them."""

from datetime import datetime, timezone
from typing import Optional


def parse_time(text: Optional[str]) -> Optional[datetime]:
    """
    >>> parse_time("2026-11-15T12:30:00.250000Z").isoformat()
    '2026-11-15T12:30:00.250000+00:00'
    >>> parse_time(None) is None
    True
    """
    if not text:
        return None
    plain = text.rstrip("Z")
    form = "%Y-%m-%dT%H:%M:%S.%f" if "." in plain else "%Y-%m-%dT%H:%M:%S"
    return datetime.strptime(plain[:26], form).replace(tzinfo=timezone.utc)


def duration_text(seconds: Optional[float]) -> str:
    """
    >>> duration_text(3.42), duration_text(75), duration_text(7260), duration_text(None)
    ('3.4 s', '1 m 15 s', '2 h 1 m', '')
    """
    if seconds is None:
        return ""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes} m {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} m"
