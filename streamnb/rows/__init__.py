"""Reads X and y in any form as validated blocks of rows."""
