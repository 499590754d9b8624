"""Planners: who decides which tool to call next."""
