"""The scikit-learn contract on top of scan and solve: thin, no arithmetic."""
