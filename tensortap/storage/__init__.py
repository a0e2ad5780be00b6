"""Files and folders, here and at addresses, and in archives."""
