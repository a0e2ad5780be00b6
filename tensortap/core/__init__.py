"""What every part shares and that depends on none of them: names, dtypes, errors, texts, records."""
