"""What a scan leaves: sufficient statistics as frozen values that merge and subtract."""
