"""Statistics, histograms and values over steps."""
