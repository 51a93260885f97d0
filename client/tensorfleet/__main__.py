"""`python -m tensorfleet`: the command `tensorfleet`, where that is not on the path."""

from __future__ import annotations

import sys

from tensorfleet.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
