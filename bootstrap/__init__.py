"""What `./rpent` does before any dependency exists: standard library only, Python 3.10+."""
