"""Segmenters: which pixels show one thing."""
