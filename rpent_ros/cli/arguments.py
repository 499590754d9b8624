"""Command-line options whose errors are one sentence."""

from __future__ import annotations

import argparse
import sys
from typing import NoReturn

from rpent_ros import exit_codes


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that answers wrong usage with one sentence and exit code 2."""

    def error(self, message: str) -> NoReturn:
        """Print the sentence, without the usage text, and end the process."""
        print(f'{self.prog}: {message}; see {self.prog} --help', file=sys.stderr)
        sys.exit(exit_codes.USAGE)


def integer(text: str) -> int:
    """A whole number."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f'expected an integer, got {text!r}') from None


def number(text: str) -> float:
    """A number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f'expected a number, got {text!r}') from None
