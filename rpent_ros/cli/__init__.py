"""The rpent command."""
