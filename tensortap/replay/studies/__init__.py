"""What is found out by running a recording again in other ways."""
