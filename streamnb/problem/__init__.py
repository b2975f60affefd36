"""Modelling choices: families, priors, penalties, schemes. No row is touched here."""
