"""How much memory there is, for refusing what cannot fit before it is begun."""

from __future__ import annotations

import os


def physical_memory() -> int:
    """Bytes of memory of this machine, or 64 GiB where the system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 2**36
