"""Reports: one page of HTML that shows a model."""
