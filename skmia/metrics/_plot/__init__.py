"""Displays of membership metrics."""
