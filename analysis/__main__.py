"""The analysing process that a server starts (`dump.own_module`); of no use by hand."""

from .apart.child import main

if __name__ == "__main__":
    main()
