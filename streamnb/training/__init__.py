"""Models that take several reads of the rows: losses, and descent from what one scan tells."""
