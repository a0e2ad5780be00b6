"""Work that takes longer than an answer may."""
