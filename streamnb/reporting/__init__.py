"""Displays in the convention of scikit-learn, and reports: one page of HTML that shows a model.

A `from_...` method makes a display and draws it, `plot` draws it again; keywords that `plot` does not name go to
matplotlib, which no other room needs.
"""
