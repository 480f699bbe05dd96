"""Files that are read whole: hierarchies, matrices, policies, plans, certificates, keys.

Whoever wrote a policy or a certificate names files, so none of them may be without an end.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

MOST_BYTES = 64 << 20
"""The largest file that is read whole."""


def read_small_file(
    path: str | os.PathLike[str], most: int = MOST_BYTES, *, may_be_pipe: bool = False
) -> bytes:
    """The bytes of a file; raises OSError where it is a device, or larger than the limit.

    What the user names, not a policy or certificate, may be a pipe that a shell put in the place of
    a file (`/dev/fd/63`). What the system shows as files may never end, as `/proc/kmsg`.

    >>> read_small_file(os.devnull)
    Traceback (most recent call last):
    OSError: [Errno 22] a device or a pipe, not a file
    """
    place = Path(path)
    try:
        mode = place.stat().st_mode
    except ValueError:  # a character that no system takes
        raise OSError(errno.EINVAL, "not the name of a file") from None
    by_shell = stat.S_ISFIFO(mode) and str(place.absolute()).startswith(("/dev/", "/proc/"))
    is_file = stat.S_ISREG(mode) and not os.path.realpath(place).startswith(("/proc/", "/sys/"))
    if not (is_file or stat.S_ISDIR(mode) or (by_shell and may_be_pipe)):
        raise OSError(errno.EINVAL, "a device or a pipe, not a file")
    with place.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"larger than {most >> 20} MiB, the most for such a file")
    return content
