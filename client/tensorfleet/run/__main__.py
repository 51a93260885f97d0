"""`python -m tensorfleet.run SCRIPT ARGUMENT…`."""

import sys

from tensorfleet.run.program import main

if __name__ == "__main__":
    sys.exit(main())
