"""Solves for weights from statistics and a problem, without rows."""
