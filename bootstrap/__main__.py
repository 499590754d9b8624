"""Run the bootstrap from a plain interpreter: python -I -S bootstrap/__main__.py ARGS..."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bootstrap.entry import main

if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
