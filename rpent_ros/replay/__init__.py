"""Playing a finished run again, and telling whether it came out the same."""
