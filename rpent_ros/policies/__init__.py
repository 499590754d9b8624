"""Policies that the vla node can serve; each is imported only when chosen."""
