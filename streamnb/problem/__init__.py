"""What is assumed and what is asked: families, priors, penalties, schemes. No row is touched here."""
